# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The peer itself: the kernel's target is set up, reachable from both sides, and works with the kernel's own host.

kernel_nqn=nqn.2014-08.org.nvmexpress:kernel
kernel_blocks=([1]=512 [2]=4096)
# The guest's port by how many bytes it takes inside a command. 1024 are those of Connect: without them not even the kernel's own host is let in.
kernel_inline=([16384]=4420 [1024]=4421 [4096]=4422 [0]=4424)
kernel_small_queues=4423

# Namespace 1 has blocks of 512 bytes, namespace 2 of 4096. The kernel's log shows each queue that the target adds.
kernel_target() {
	local port
	guest "
		modprobe -a nvmet-tcp nvme-tcp &&
		echo 'module nvmet +p' >/sys/kernel/debug/dynamic_debug/control &&
		modprobe brd rd_nr=1 rd_size=131072 &&
		null_blk_with_memory nullb0 128 4096 &&
		nvmet_subsystem $kernel_nqn KERNEL1 &&
		nvmet_namespace $kernel_nqn 1 /dev/ram0 &&
		nvmet_namespace $kernel_nqn 2 /dev/nullb0 &&
		nvmet_port 1 tcp 0.0.0.0 4420 param_inline_data_size=16384 $kernel_nqn &&
		nvmet_port 2 tcp 0.0.0.0 4421 param_inline_data_size=1024 $kernel_nqn &&
		nvmet_port 3 tcp 0.0.0.0 4422 param_inline_data_size=4096 $kernel_nqn &&
		nvmet_port 4 tcp 0.0.0.0 4423 param_max_queue_size=16 $kernel_nqn &&
		nvmet_port 5 tcp 0.0.0.0 4424 param_inline_data_size=0 $kernel_nqn"
	for port in 4420 4421 4422 4423 4424; do
		vm_await_icresp "$(<"$vm/port.$port")" 30 || fail "no ICResp from the guest on port $port"
	done
}

kernel_to_kernel() {
	guest "
		set -e
		trap 'nvme disconnect -n $kernel_nqn || :' EXIT
		ctrl=\$(nvme_connect tcp $kernel_nqn -a 127.0.0.1 -s 4420 -i 2 --keep-alive-tmo=60)
		test \$(cat /sys/class/nvme/\$ctrl/queue_count) = 3
		head -c 4M /dev/urandom >/tmp/bytes
		dd if=/tmp/bytes of=/dev/\$(nvme_namespace $kernel_nqn 1) bs=1M oflag=direct status=none
		cmp -n 4194304 /tmp/bytes /dev/ram0"
}

# By the machine's loopback and back into the guest: both directions work.
there_and_back() {
	local log
	log=$(guest "nvme discover -t tcp -a 10.0.2.2 -s $kernel_port")
	has "$log" "$kernel_nqn"
}

kernel_port=$(<"$vm/port.4420")
setup vm/kernel-target kernel_target
check vm/kernel-to-kernel kernel_to_kernel
check vm/there-and-back there_and_back
