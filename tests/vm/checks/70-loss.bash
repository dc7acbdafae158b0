# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Peers that go, come back, or fall silent.

# What a kernel in the guest may not say even then.
guest_without_bugs() { same "bugs" "" "$(guest "dmesg | tail -n +$((log_lines + 1)) | grep -E 'BUG|WARNING|Oops|I/O error' || :")"; }

# start_kernel_io: the guest writes and verifies in the background.
start_kernel_io() {
	mark_kernel_log
	guest "
		set -e
		nvme_connect tcp $our_nqn -a 10.0.2.2 -s $our_port -i 2 --reconnect-delay=1 --ctrl-loss-tmo=300 $*
		start_verifying /dev/\$(nvme_namespace $our_nqn 1)"
	trap 'guest "drop_verifying; nvme disconnect -n $our_nqn"; end_target TERM' EXIT
}

kernel_io_goes_on() {
	guest end_verifying
	guest_without_bugs
	target_is_alive
}

# target_restarts SIGNAL
target_restarts() {
	own_target --ns "file:$logs/own-namespace"
	start_kernel_io --keep-alive-tmo=60
	at_port=$our_port
	end_target "$1"
	sleep 1
	start_target --subsys "$our_nqn" --control "$our_ctl" --ns "file:$logs/own-namespace"
	target_is_ready
	guest "wait_until 100 kernel_said 'Successfully reconnected' $log_lines"
	kernel_io_goes_on
}

# A stopped process: its connections stay, nothing comes.
target_falls_silent() {
	own_target --ns "file:$logs/own-namespace"
	start_kernel_io --keep-alive-tmo=4
	kill -STOP "$target_pid"
	trap 'kill -CONT "$target_pid"; guest "drop_verifying; nvme disconnect -n $our_nqn"; end_target TERM' EXIT
	guest "wait_until 60 kernel_said 'starting error recovery|failed nvme_keep_alive_end_io' $log_lines"
	kill -CONT "$target_pid"
	guest "wait_until 100 kernel_said 'Successfully reconnected' $log_lines"
	kernel_io_goes_on
}

# await_text FILE TEXT SECONDS
await_text() {
	local end=$((SECONDS + $3))
	until grep -qF "$2" "$1"; do
		[ $SECONDS -lt $end ] || { cat "$1" >&2; fail "no '$2' within $3 s"; }
		sleep 0.1
	done
}

# The guest stands still, and its clocks with it.
kernel_host_falls_silent() {
	own_target --ns "file:$logs/own-namespace"
	start_kernel_io --keep-alive-tmo=4
	has "$(our_target_ctl status)" "$guest_host"
	vm_monitor "$vm" stop
	trap 'vm_monitor "$vm" cont; guest "drop_verifying; nvme disconnect -n $our_nqn"; end_target TERM' EXIT
	await_text "$logs/target.err" "nothing heard from host $guest_host" 60
	[[ $(our_target_ctl status) != *"  ctrl "* ]] || fail "the silent host still has a ctrl"
	vm_monitor "$vm" cont
	guest "wait_until 100 kernel_said 'Successfully reconnected' $log_lines"
	kernel_io_goes_on
}

# start_host_io KATO-S: reads in the background, with $logs/io and io.err.
start_host_io() {
	local end=$((SECONDS + 60))
	mark_kernel_log
	"$nvof" bench io "${kernel_at[@]}" -n "$kernel_nqn" --namespace-id 1 --nr-io-queues 2 --keep-alive-tmo "$1" --rw randread --iodepth 4 --runtime 300 \
		>"$logs/io" 2>"$logs/io.err" </dev/null & io_pid=$!
	trap '{ kill -CONT $io_pid; kill -KILL $io_pid; } 2>/dev/null || :' EXIT
	until [ "$(guest "dmesg | tail -n +$((log_lines + 1)) | grep -c 'adding queue [12] '")" -ge 2 ]; do
		[ $SECONDS -lt $end ] || { cat "$logs/io.err" >&2; fail "our host does not connect"; }
	done
	sleep 1
}

# host_says TEXT: it ends by itself, with the text.
host_says() {
	local status=0 end=$((SECONDS + 60))
	while kill -0 "$io_pid" 2>/dev/null; do
		[ $SECONDS -lt $end ] || fail "our host did not notice"
		sleep 0.1
	done
	wait "$io_pid" || status=$?
	same "exit status" 1 $status
	has "$(<"$logs/io.err")" "$1"
}

kernel_target_goes() {
	start_host_io 60
	guest "rm \$nvmet/ports/1/subsystems/$kernel_nqn"
	trap 'guest "ln -s \$nvmet/subsystems/$kernel_nqn \$nvmet/ports/1/subsystems/"; kill -KILL $io_pid 2>/dev/null || :' EXIT
	host_says closed
}

kernel_target_falls_silent() {
	start_host_io 5
	vm_monitor "$vm" stop
	trap 'vm_monitor "$vm" cont; kill -KILL $io_pid 2>/dev/null || :' EXIT
	host_says "Keep Alive was not answered within"
}

# The kernel's target gives up a host that is stopped; that learns of it when it goes on.
host_falls_silent() {
	start_host_io 5
	kill -STOP $io_pid
	guest "wait_until 60 kernel_said 'keep-alive timer \([0-9]+ seconds\) expired' $log_lines"
	kill -CONT $io_pid
	host_says closed
}

for signal in TERM KILL; do check "loss/target-restarts-$signal" target_restarts $signal; done
check loss/target-falls-silent target_falls_silent
check loss/kernel-host-falls-silent kernel_host_falls_silent
check loss/kernel-target-goes kernel_target_goes
check loss/kernel-target-falls-silent kernel_target_falls_silent
check loss/host-falls-silent host_falls_silent
