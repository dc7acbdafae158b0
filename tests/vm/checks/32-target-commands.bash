# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernel's host and our target's other commands. A fault that only waits a microsecond counts the commands.

# commands_seen OPCODE
commands_seen() { our_target_ctl status | sed -n "s/^fault on=io,opcode=$1,.* acted \([0-9]*\) of .*/\1/p"; }

count_commands() {
	local opcode
	for opcode; do our_target_ctl add-fault "on=io,opcode=$opcode,delay=1us"; done
}

# came OPCODE: the kernel did send such commands.
came() { [ "$(commands_seen "$1")" -gt 0 ] || { our_target_ctl status; fail "no $1 came"; }; }

# kernel_clears OPCODE COMMAND: 4 MiB of which the guest's COMMAND makes blocks 1M to 3M zeroes.
kernel_clears() {
	own_target --ns "file:$logs/own-namespace"
	count_commands "$1"
	local text before
	head -c 4M /dev/urandom >"$logs/out"
	before=$(md5sum <"$logs/out" | cut -d' ' -f1)
	dd if="$logs/out" of="$our_file" conv=notrunc status=none
	dd if=/dev/zero of="$logs/out" bs=1M seek=1 count=2 conv=notrunc status=none
	text=$(guest_without_trouble "
		nvme_connect tcp $our_nqn $our_at -s $our_port -i 2
		dev=/dev/\$(nvme_namespace $our_nqn 1)
		test \$(checksum \$dev 0 4) = $before || { echo 'the guest sees other data'; exit 1; }
		$2
		echo md5 \$(checksum \$dev 0 4)")
	has "$text" "md5 $(md5sum <"$logs/out" | cut -d' ' -f1)"
	cmp -n 4194304 "$logs/out" "$our_file"
	came "$1"
}

# A file has a volatile cache, memory has none; that is what the guest's block layer is told.
kernel_flushes() {
	local text
	own_target --ns "file:$logs/own-namespace"
	count_commands flush
	text=$(guest_without_trouble "
		nvme_connect tcp $our_nqn $our_at -s $our_port -i 2
		dev=\$(nvme_namespace $our_nqn 1)
		echo cache \$(cat /sys/block/\$dev/queue/write_cache), fua \$(cat /sys/block/\$dev/queue/fua)
		dd if=/dev/urandom of=/dev/\$dev bs=1M count=2 conv=fsync status=none
		nvme flush /dev/\$dev -n 1")
	has "$text" "cache write back, fua 1"
	came flush
}

memory_needs_no_flush() {
	local text
	own_target --ns mem:16M
	text=$(guest_without_trouble "nvme_connect tcp $our_nqn $our_at -s $our_port -i 2; cat /sys/block/\$(nvme_namespace $our_nqn 1)/queue/write_cache")
	has "$text" "write through"
}

# Received in place: in capsules, and in what R2Ts ask for.
memory_keeps_what_is_written() {
	own_target --ns mem:16M
	guest_without_trouble "nvme_connect tcp $our_nqn $our_at -s $our_port -i 2
		dev=/dev/\$(nvme_namespace $our_nqn 1)
		fio --name=verify --filename=\$dev --rw=randwrite --bsrange=512-256k --size=8M --numjobs=2 --offset_increment=8M \
			--ioengine=libaio --iodepth=32 --direct=1 --verify=crc32c --verify_fatal=1 --output=/tmp/fio.log || { cat /tmp/fio.log; exit 1; }"
}

kernel_compares() {
	local text
	own_target --ns "file:$logs/own-namespace,block=4096"
	head -c 1M /dev/urandom >"$logs/out"
	dd if="$logs/out" of="$our_file" conv=notrunc status=none
	text=$(guest_without_trouble "
		nvme_connect tcp $our_nqn $our_at -s $our_port -i 2
		dev=/dev/\$(nvme_namespace $our_nqn 1)
		dd if=\$dev of=/tmp/same bs=16k count=1 iflag=direct status=none
		nvme compare \$dev -s 0 -c 3 -z 16384 -d /tmp/same
		printf x | dd of=/tmp/same bs=1 seek=12345 conv=notrunc status=none
		! nvme compare \$dev -s 0 -c 3 -z 16384 -d /tmp/same || { echo 'what differs is the same'; exit 1; }")
	has "${text,,}" "compare: success"
	has "${text,,}" "compare failure"
}

check target/tcp/flush kernel_flushes
check target/tcp/flush-memory memory_needs_no_flush
check target/tcp/memory memory_keeps_what_is_written
check target/tcp/write-zeroes kernel_clears write-zeroes "blkdiscard -z -o 1M -l 2M \$dev"
check target/tcp/discard kernel_clears dsm "blkdiscard -o 1M -l 2M \$dev"
check target/tcp/compare kernel_compares
