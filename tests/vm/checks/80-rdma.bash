# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# RDMA on the kernel's soft device (rxe). All three parties are in the guest: the kernel's host and target, and the nvof that check put there.

rdma_address=10.88.0.1
rdma_kernel=nqn.2014-08.org.nvmexpress:rdma-kernel
rdma_ours=nqn.2026-11.org.example:rdma-ours
guest_nvof=/job/files/nvof
guest_rdma_peer=/job/files/rdma_peer

rdma_device() {
	guest "modprobe rdma_rxe && modprobe rdma_ucm && modprobe ib_uverbs && modprobe dummy"
	guest "ip link add rdma0 type dummy && ip addr add $rdma_address/24 dev rdma0 && ip link set rdma0 up && rdma link add rxe0 type rxe netdev rdma0"
	guest "modprobe brd rd_nr=1 rd_size=131072 2>/dev/null; [ -b /dev/ram0 ]"
	guest "nvmet_subsystem $rdma_kernel RDMA1 && nvmet_namespace $rdma_kernel 1 /dev/ram0 && nvmet_port 88 rdma $rdma_address 4420 $rdma_kernel"
}

# What the guest's nvof says.
rdma_nvof() { guest "timeout 100 $guest_nvof $*"; }

rdma_target_starts() {
	guest "setsid $guest_nvof target --no-control --listen rdma:$rdma_address:4421 --subsys $rdma_ours --ns mem:64M >/tmp/rdma.out 2>&1 </dev/null &
		wait_until 20 grep -q ready /tmp/rdma.out"
}

rdma_moves() {
	local at="-t rdma -a $rdma_address -s $1 -n $2 --nr-io-queues $3 --start-block 2048 --block-count 16383 --data-size 8388608"
	guest "head -c 8388608 /dev/urandom >/tmp/rdma.a"
	rdma_nvof write "$at" --data /tmp/rdma.a
	rdma_nvof read "$at" --data /tmp/rdma.b
	guest "cmp /tmp/rdma.a /tmp/rdma.b"
	[ "$1" = 4421 ] || same "bytes on the target" "$(guest "md5sum </tmp/rdma.a | cut -d' ' -f1")" "$(guest "checksum /dev/ram0 1 8")"
}

rdma_discovers() { has "$(rdma_nvof discover -t rdma -a "$rdma_address" -s "$1")" "$2"; }

rdma_bench() {
	local text
	text=$(rdma_nvof bench io -t rdma -a "$rdma_address" -s "$1" -n "$2" --nr-io-queues 4 --rw randwrite --verify --iodepth 16 --io-size 16M "${*:3}" -o json)
	has "${text//[[:space:]]/}" '"errors":0'
}

rdma_kernel_host() {
	guest "nvme_connect rdma $rdma_ours -a $rdma_address -s 4421 -i $1 >/dev/null"
	guest "dev=/dev/\$(nvme_namespace $rdma_ours 1); head -c 8388608 /dev/urandom >/tmp/rdma.c && dd if=/tmp/rdma.c of=\$dev bs=1M oflag=direct status=none &&
		dd if=\$dev bs=1M count=8 iflag=direct status=none | cmp - /tmp/rdma.c"
	guest "nvme disconnect -n $rdma_ours >/dev/null; wait_until 20 has_no_ctrl $rdma_ours"
}

rdma_nobody_listens() { has "$(rdma_nvof id-ctrl -t rdma -a "$rdma_address" -s 4499 -n "$rdma_ours" '2>&1 ||:')" "connect qid 0"; }

check rdma/device rdma_device
check rdma/target-starts rdma_target_starts
check rdma/host/discover rdma_discovers 4420 "$rdma_kernel"
check rdma/own/discover rdma_discovers 4421 "$rdma_ours"
for queues in 1 4; do
	check "rdma/host/moves-$queues" rdma_moves 4420 "$rdma_kernel" $queues
	check "rdma/own/moves-$queues" rdma_moves 4421 "$rdma_ours" $queues
	check "rdma/target/moves-$queues" rdma_kernel_host $queues
done
check rdma/host/verify rdma_bench 4420 "$rdma_kernel"
check rdma/own/verify rdma_bench 4421 "$rdma_ours"
check rdma/host/group rdma_bench 4420 "$rdma_kernel" --queues-per-hctx 4
check rdma/own/group rdma_bench 4421 "$rdma_ours" --queues-per-hctx 4
check rdma/own/large rdma_bench 4421 "$rdma_ours" --queues-per-hctx 4 --bs 1M
check rdma/host/io-threads rdma_bench 4420 "$rdma_kernel" --io-threads 3
check rdma/own/io-threads rdma_bench 4421 "$rdma_ours" --io-threads 3
check rdma/own/io-threads-large rdma_bench 4421 "$rdma_ours" --queues-per-hctx 4 --io-threads 2 --bs 1M
check rdma/host/nobody-listens rdma_nobody_listens

# Memory of a program without PIE lies below 4 GiB, where valgrind puts that of all programs.
rdma_target_with_low_addresses() {
	guest "setsid valgrind --tool=none $guest_nvof target --no-control --handshake-tmo 60s --listen rdma:$rdma_address:4427 --subsys $rdma_ours --ns mem:1M >/tmp/rdma-low.out 2>&1 </dev/null &
		echo \$! >/tmp/rdma-low.pid; wait_until 60 grep -q ready /tmp/rdma-low.out"
	has "$(rdma_nvof id-ctrl -t rdma -a "$rdma_address" -s 4427 -n "$rdma_ours" --connect-tmo 60s)" "$rdma_ours"
	guest "kill \$(cat /tmp/rdma-low.pid); wait_until 30 process_is_gone \$(cat /tmp/rdma-low.pid)"
}

# A file, because what is in memory is gone with its target.
start_file_target='setsid /job/files/nvof target --no-control --listen rdma:10.88.0.1:4425 --subsys nqn.2026-11.org.example:rdma-file --ns file:/tmp/rdma.img >/tmp/rdma-file.out 2>&1 </dev/null & echo $! >/tmp/rdma-file.pid'

# rdma_restarts OPTION...: reads and writes go on over a restart of the target, which is killed.
rdma_restarts() {
	local text
	guest "truncate -s 64M /tmp/rdma.img; rm -f /tmp/rdma-file.out; $start_file_target; wait_until 20 grep -q ready /tmp/rdma-file.out"
	text=$(guest "timeout 100 $guest_nvof bench io -t rdma -a $rdma_address -s 4425 -n nqn.2026-11.org.example:rdma-file --nr-io-queues 4 --rw randrw --iodepth 8 --runtime 8s \
			--ctrl-loss-tmo 60 --reconnect-delay 200ms $* -o json >/tmp/rdma.json 2>/tmp/rdma.err & io=\$!
		sleep 2; kill -KILL \$(cat /tmp/rdma-file.pid); sleep 1
		$start_file_target; wait \$io || { cat /tmp/rdma.err; exit 1; }; cat /tmp/rdma.json")
	has "${text//[[:space:]]/}" '"errors":0'
	has "$(guest "cat /tmp/rdma.err")" "is back after"
	guest "kill -TERM \$(cat /tmp/rdma-file.pid); wait_until 20 process_is_gone \$(cat /tmp/rdma-file.pid)"
}

check rdma/own/low-addresses rdma_target_with_low_addresses
check rdma/own/restarts rdma_restarts
check rdma/own/restarts-under-io-threads rdma_restarts --io-threads 2
