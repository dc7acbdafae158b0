# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernel's host against our target: as in 21-host-mixes.

declare -A kernel_digests=([none]='' [header]=--hdr-digest [data]=--data-digest [both]='--hdr-digest --data-digest')

# What all of the guest's verified writes have in common.
# shellcheck disable=SC2016 # the guest expands it
fio_verifies='fio --filename=$dev --rw=randwrite --ioengine=libaio --direct=1 --verify=crc32c --verify_fatal=1 --output=/tmp/fio.log'

# kernel_mixes DIGESTS IN-CAPSULE BLOCK QUEUES QUEUE-SIZE DEPTH: writes that fit into a command and larger ones, verified by the guest, and what it
# reads afterwards compared with the file. Twelve queues are as many as four processors can have: four for writes, reads and polling each.
kernel_mixes() {
	local digests=${kernel_digests[$1]} inline=$2 block=$3 queues=$4 size=$5 depth=$6 wanted=$4 text
	[ "$queues" != 12 ] || wanted='4 --nr-write-queues=4 --nr-poll-queues=4'
	own_target --ns "file:$logs/own-namespace,block=$block" --inline-len "$inline"
	text=$(guest_without_trouble "
		ctrl=\$(nvme_connect tcp $our_nqn $our_at -s $our_port --queue-size=$size -i $wanted $digests)
		dev=/dev/\$(nvme_namespace $our_nqn 1)
		echo queues \$((\$(cat /sys/class/nvme/\$ctrl/queue_count) - 1)) size \$((\$(cat /sys/class/nvme/\$ctrl/sqsize) + 1)) block \$(blockdev --getss \$dev)
		nvme id-ctrl /dev/\$ctrl | tr -d ' ' | grep ioccsz
		$fio_verifies --name=mix --bssplit=$block/45:4k/45:20k/10 --size=6M --iodepth=$depth || { cat /tmp/fio.log; exit 1; }
		echo md5 \$(checksum \$dev 0 6)")
	has "$text" "queues $queues size $size block $block"
	has "$text" "ioccsz:$(((inline + 64) / 16))"
	has "$text" "md5 $(head -c 6M "$our_file" | md5sum | cut -d' ' -f1)"
}

# Our target grants fewer and smaller queues than the kernel asks for.
kernel_takes_less() {
	local text
	own_target --ns "file:$logs/own-namespace" --max-io-queues 2 --max-queue-size 16
	text=$(guest_without_trouble "
		ctrl=\$(nvme_connect tcp $our_nqn $our_at -s $our_port --queue-size=128 -i 4)
		dev=/dev/\$(nvme_namespace $our_nqn 1)
		echo queues \$((\$(cat /sys/class/nvme/\$ctrl/queue_count) - 1)) size \$((\$(cat /sys/class/nvme/\$ctrl/sqsize) + 1))
		$fio_verifies --name=less --bs=4k --size=2M --iodepth=64 || { cat /tmp/fio.log; exit 1; }")
	has "$text" "queues 2 size 16"
}

# kernel_splits OPTION...: the smallest MDTS there is, and I/O of 1 MiB.
kernel_splits() {
	local text
	own_target --ns "file:$logs/own-namespace" --mdts 8K
	text=$(guest_without_trouble "
		ctrl=\$(nvme_connect tcp $our_nqn $our_at -s $our_port -i 2 $*)
		dev=\$(nvme_namespace $our_nqn 1)
		echo largest \$(cat /sys/block/\$dev/queue/max_hw_sectors_kb)
		head -c 16M /dev/urandom >/tmp/splits
		dd if=/tmp/splits of=/dev/\$dev bs=1M oflag=direct status=none
		dd if=/dev/\$dev bs=1M count=16 iflag=direct status=none | cmp - /tmp/splits
		echo md5 \$(md5sum </tmp/splits)")
	has "$text" "largest 8"
	has "$text" "md5 $(head -c 16M "$our_file" | md5sum | cut -d' ' -f1)"
}

# 256 MiB in all, by four writers.
kernel_verifies_much() {
	own_target --ns "file:$logs/own-namespace-large"
	guest_without_trouble "
		nvme_connect tcp $our_nqn $our_at -s $our_port -i 4 $*
		dev=/dev/\$(nvme_namespace $our_nqn 1)
		$fio_verifies --name=much --bsrange=4k-256k --size=64M --numjobs=4 --offset_increment=64M --iodepth=16 || { cat /tmp/fio.log; exit 1; }"
	same "MiB in the file" 256 "$(du --apparent-size -m "$logs/own-namespace-large" | cut -f1)"
	[ "$(du -m "$logs/own-namespace-large" | cut -f1)" -ge 255 ] || fail "only $(du -m "$logs/own-namespace-large") MiB were written"
}

#            digests in-capsule block queues queue-size depth
while read -r mix; do
	# shellcheck disable=SC2086 # several words
	set -- $mix
	check "target/tcp/mix/$1-$2-$3-$4-$5-$6" kernel_mixes "$@"
done <<'END'
none   0     512  1  16   32
header 0     4096 4  128  64
data   0     512  4  1024 256
both   0     4096 1  32   64
none   4096  4096 4  1024 512
header 4096  512  1  64   16
data   4096  4096 1  16   32
both   4096  512  4  1024 256
none   16384 512  4  128  16
header 16384 4096 1  1024 1000
data   16384 512  4  16   32
both   16384 4096 12 128  64
END
check target/tcp/fewer-queues kernel_takes_less
check target/tcp/mdts kernel_splits
check target/tcp/mdts-digests kernel_splits --hdr-digest --data-digest
truncate -s 256M "$logs/own-namespace-large"
check target/tcp/verify-256M kernel_verifies_much --hdr-digest --data-digest
rm -f "$logs/own-namespace-large"
