# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# One boot of the guest, from power on to the script's exit status.

# Words between host and guest are lines "WORD [TEXT]". Each end keeps what it heard as a file named by the word.
vm_hear() { printf '%s\n' "$3" >"$1/.$2" && mv "$1/.$2" "$1/$2"; }

# vm_forwards STATE [HOSTPORT:]GUESTPORT...: sets vm_pairs, and leaves each host port in STATE/port.GUESTPORT.
vm_forwards() {
	local state=$1 spec host guest
	shift
	vm_pairs=()
	for spec; do
		guest=${spec##*:} host=${spec%"$guest"} host=${host%:}
		: "${host:=$(vm_pick_port)}"
		vm_pairs+=("$host:$guest")
		vm_hear "$state" "port.$guest" "$host"
	done
}

# vm_boot STATE TIMEOUT FORWARD...: sets vm_started and vm_exit (empty when the guest died without an exit status).
vm_boot() {
	local state=$1 timeout=$2 boot_timeout=${VM_BOOT_TIMEOUT:-180} deadline piece ended line='' word text ctl cats=()
	shift 2
	vm_started='' vm_exit=''
	rm -f "$state"/*.fifo "$state"/{ctl,monitor}.{in,out} "$state/console"
	mkfifo "$state"/{out,err}.fifo "$state"/{ctl,monitor}.{in,out}
	cat "$state/out.fifo" & cats+=($!)
	cat "$state/err.fifo" >&2 & cats+=($!)
	exec {ctl}<>"$state/ctl.out"
	vm_forwards "$state" "$@"
	vm_qemu "$state" $((boot_timeout + timeout + 30)) "${vm_pairs[@]}" 2>"$state/qemu.log" </dev/null & vm_qemu_pid=$!

	deadline=$((SECONDS + boot_timeout))
	while [ -z "$vm_exit" ]; do
		# A line may come in pieces: when the time is up, read has what came so far.
		IFS= read -r -t 1 -u "$ctl" piece && ended=1 || ended=
		line+=$piece
		if [ -n "$ended" ]; then
			read -r word text <<<"$line"
			line=
			case $word in
			started) vm_started=1 deadline=$((SECONDS + timeout)) ;;
			exit) vm_exit=$text ;;
			esac
			vm_hear "$state" "$word" "$text"
		elif ! kill -0 "$vm_qemu_pid" 2>/dev/null; then
			break
		elif [ $SECONDS -ge $deadline ]; then
			[ -z "$vm_started" ] || vm_exit=$vm_status_timeout
			break
		fi
	done
	exec {ctl}>&-
	vm_end_qemu
	# QEMU may have died before it opened the fifos; an open and close from here ends the cats then.
	: 1<>"$state/out.fifo" 1<>"$state/err.fifo"
	wait "${cats[@]}"
}

vm_end_qemu() {
	[ -n "${vm_qemu_pid:-}" ] || return 0
	kill "$vm_qemu_pid" 2>/dev/null
	wait "$vm_qemu_pid" 2>/dev/null
	vm_qemu_pid=
}

# The first line that tells why the guest's kernel stopped. Under emulation one boot in about fifty ends in an Oops when the kernel patches its own text.
vm_why() {
	local why
	why=$(cat "$1/qemu.log" "$1/console" 2>/dev/null | grep -m 1 -E 'Oops|BUG|panic|qemu' | tr -d '\r')
	echo "${why:-no word from the guest in time}"
}

vm_show_console() {
	sed 's/^/vm: qemu: /' "$1/qemu.log" >&2
	tail -n 60 "$1/console" 2>/dev/null | tr -d '\r' | sed 's/^/vm: console: /' >&2
}
