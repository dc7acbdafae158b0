# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Block devices of the guest that keep what is written to them.

# null_blk_with_memory NAME MIB BLOCKSIZE: /dev/NAME; discarded blocks read as zeroes
null_blk_with_memory() {
	modprobe null_blk nr_devices=0
	local dev=/sys/kernel/config/nullb/$1
	mkdir "$dev" && echo 1 >"$dev/memory_backed" && echo "$2" >"$dev/size" && echo "$3" >"$dev/blocksize" && echo 1 >"$dev/discard" && echo 1 >"$dev/power"
}

# checksum DEVICE START LENGTH: of a part of it, in MiB, past the page cache. MD5 is the quickest one for an emulated processor.
checksum() { dd if="$1" bs=1M skip="$2" count="$3" iflag=direct status=none | md5sum | cut -d' ' -f1; }

# start_verifying DEVICE: writes and verifies in the background, slowly enough to be met in the middle of it, again and again until end_verifying.
start_verifying() {
	rm -f /tmp/fio.log /tmp/fio.end
	setsid bash -c "until [ -e /tmp/fio.end ]; do
			fio --name=on --filename=$1 --rw=randwrite --bs=16k --size=6M --rate=3M --iodepth=8 --ioengine=libaio --direct=1 --verify=crc32c \\
				--verify_fatal=1 || exit
		done" >/tmp/fio.log 2>&1 &
	echo $! >/tmp/fio.pid
	sleep 2
	is_verifying
}
is_verifying() { kill -0 "$(cat /tmp/fio.pid)" || { echo "fio has ended too early"; cat /tmp/fio.log; return 1; }; }

# It was still at work, and all of it was fine.
end_verifying() {
	is_verifying || return
	touch /tmp/fio.end
	wait_until 200 process_is_gone "$(cat /tmp/fio.pid)" && grep -q 'err= 0' /tmp/fio.log && ! grep -E 'err=|verify:' /tmp/fio.log | grep -v 'err= 0' ||
		{ cat /tmp/fio.log; return 1; }
}
drop_verifying() { kill -- "-$(cat /tmp/fio.pid)" 2>/dev/null || :; }
