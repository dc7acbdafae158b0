# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The host's side of the talk with a guest that runs in the background. STATE is the folder of its run.

# vm_start STATE [RUN-OPTION]... SCRIPT [ARG]...: its output goes to STATE/stdout and STATE/stderr.
vm_start() {
	local state=$1
	shift
	mkdir -p "$state"
	"$vm_dir/run" --state "$state" "$@" >"$state/stdout" 2>"$state/stderr" </dev/null &
	echo $! >"$state/pid"
}

# vm_await STATE WORD SECONDS: waits for the guest to say a word, prints its text; fails when time is up or the guest is gone.
vm_await() {
	local end=$((SECONDS + $3))
	until [ -e "$1/$2" ]; do
		[ $SECONDS -lt $end ] || return "$vm_status_timeout"
		kill -0 "$(<"$1/pid")" 2>/dev/null || [ -e "$1/$2" ] || return "$vm_status_no_vm"
		sleep 0.02
	done
	cat "$1/$2"
}

# vm_tell STATE WORD [TEXT]: opened for both ways, so that it cannot block when nobody reads any more.
vm_tell() {
	local state=$1
	shift
	echo "$*" 1<>"$state/ctl.in"
}

# vm_monitor STATE COMMAND: to QEMU's monitor; what it says is of no use here. "stop" halts the guest and its clocks, "cont" lets it go on.
vm_monitor() { echo "$2" 1<>"$1/monitor.in"; }

# vm_stop STATE: ends the guest; the exit status is that of its script, after it heard "stop".
vm_stop() {
	local end=$((SECONDS + 10)) pid
	pid=$(<"$1/pid")
	[ ! -p "$1/ctl.in" ] || vm_tell "$1" stop
	while kill -0 "$pid" 2>/dev/null && [ $SECONDS -lt $end ]; do sleep 0.1; done
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

# vm_guest STATE SECONDS COMMAND: for a guest that runs guest/serve; runs the command there and has its exit status. What it printed goes to standard
# output, or to standard error when it failed, so that it is seen even if the caller keeps the output.
vm_guest() {
	local id=$BASHPID.$RANDOM answer status output
	vm_tell "$1" "do.$id" "$2" "$(base64 -w 0 <<<"$3")"
	answer=$(vm_await "$1" "done.$id" $(($2 + 15))) || { status=$?; echo "the guest gave no answer" >&2; return $status; }
	rm -f "$1/done.$id"
	read -r status output <<<"$answer"
	if [ "$status" -eq 0 ]; then
		base64 -d <<<"$output"
	else
		base64 -d <<<"$output" >&2
		echo "exit status $status in the guest" >&2
	fi
	[ "$status" -ne "$vm_status_timeout" ] || echo "the guest's command took more than $2 s" >&2
	return "$status"
}
