# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Our host by two paths, both ends in the guest: one over TCP and one over RDMA, and two ports of the kernel's target whose ANA states change.  Comes
# last: the link goes down here, and nobody has to connect by that device again.

paths_kernel=nqn.2014-08.org.nvmexpress:two-ports
paths_ours=nqn.2026-11.org.example:two-transports

# paths_run SECONDS ARG... COMMANDS: verified I/O in the guest, and meanwhile what COMMANDS do; its document is the output
paths_run() {
	local commands=${*: -1}
	guest "timeout 100 $guest_nvof bench io ${*:2:$#-2} --nr-io-queues 2 --iodepth 8 -v --rw randrw --verify --size 24M --runtime ${1}s -o json >/tmp/paths.json 2>/tmp/paths.err & io=\$!
		are_live() { [ \$(grep -c 'live: connected' /tmp/paths.err) -ge 2 ]; }
		wait_until 60 are_live; sleep 1; $commands
		wait \$io || { cat /tmp/paths.err /tmp/paths.json; exit 1; }; cat /tmp/paths.json"
}

# Both were used, and nothing went wrong.
paths_fine() {
	local text=${1//[[:space:]]/}
	has "$text" '"errors":0'
	has "$text" '"mismatches":0'
	[[ $text != *'"ios":0'* ]] || fail "a path was not used: $text"
}

# 80-rdma.bash made it, 82-rdma-trouble.bash took it away.
paths_device() { guest "[ -n \"\$(rdma link)\" ] || rdma link add rxe0 type rxe netdev rdma0"; }

paths_of_two_transports() {
	guest "setsid $guest_nvof target --no-control --listen rdma:$rdma_address:4431 --listen tcp:$rdma_address:4432 --subsys $paths_ours --ns mem:64M >/tmp/paths.out 2>&1 </dev/null &
		wait_until 20 grep -q ready /tmp/paths.out"
	paths_fine "$(paths_run 4 -t rdma -a $rdma_address -s 4431 -n $paths_ours --path tcp:$rdma_address:4432 --iopolicy round-robin true)"
	# An RDMA connection that is cut leaves the rest to TCP, and comes back. The soft device may never answer again on a queue pair that sent meanwhile,
	# while the admin queue's lives: then it is the time-out of the I/O that ends the connection.
	paths_fine "$(paths_run 10 -t rdma -a $rdma_address -s 4431 -n $paths_ours --path tcp:$rdma_address:4432 --iopolicy queue-depth --io-tmo 3s --ctrl-loss-tmo 60 --reconnect-delay 200ms \
		"ip link set rdma0 down; sleep 1; ip link set rdma0 up; sleep 1")"
}

# The kernel's target tells of its states as ours does.
paths_to_the_kernel() {
	guest "modprobe brd rd_nr=1 rd_size=131072 2>/dev/null; [ -b /dev/ram0 ] &&
		nvmet_subsystem $paths_kernel PATHS1 && nvmet_namespace $paths_kernel 1 /dev/ram0 &&
		nvmet_port 91 tcp 127.0.0.1 4491 $paths_kernel && nvmet_port 92 tcp 127.0.0.1 4492 $paths_kernel"
	paths_fine "$(paths_run 8 -t tcp -a 127.0.0.1 -s 4491 -n $paths_kernel --path tcp:127.0.0.1:4492 --iopolicy round-robin "
		ana() { echo \$2 >/sys/kernel/config/nvmet/ports/\$1/ana_groups/1/ana_state; sleep 0.5; }
		ana 91 inaccessible; ana 91 optimized; ana 92 change; ana 92 non-optimized; ana 91 inaccessible; ana 92 inaccessible; ana 91 optimized; ana 92 optimized")"
}

check paths/kernel-two-ports paths_to_the_kernel
check paths/device paths_device
check paths/own-two-transports paths_of_two_transports
