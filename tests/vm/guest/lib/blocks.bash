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
