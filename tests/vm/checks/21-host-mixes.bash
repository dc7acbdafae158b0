# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Our host against the kernel's target: digests, in-capsule data, blocks, queues and depths in combinations where each value meets the peer and
# each kind of digest meets each size of in-capsule data.

declare -A digest_options=([none]='' [header]=--hdr-digest [data]=--data-digest [both]='--hdr-digest --data-digest')

# kernel_takes BYTES: this is what the port for so much in-capsule data says.
kernel_takes() {
	local text
	text=$(run_nvof id-ctrl "${kernel_at[@]}" -n "$kernel_nqn" -s "$(<"$vm/port.${kernel_inline[$1]}")" -o json)
	has "${text//[[:space:]]/}" "\"ioccsz\":$((($1 + 64) / 16)),"
}

# wrote_and_read_back JSON QUEUES: what bench io says of a run that went well.
wrote_and_read_back() {
	local text=${1//[[:space:]]/}
	has "$text" '"errors":0,'
	has "$text" '"mismatches":0,'
	[[ $text != *'"checked":0,'* ]] || fail "nothing was read back"
	has "$text" "\"nr_io_queues\":$2,"
}

# host_mixes DIGESTS IN-CAPSULE NSID DEVICE QUEUES QUEUE-SIZE DEPTH: random writes, as large as fits into a command and larger, read back, and looked
# at on the peer. More than 128 queues are never granted.
host_mixes() {
	local inline=$2 device=$4 queues=$5 depth=$7 block=${kernel_blocks[$3]} fits granted at size text
	fits=$((inline / block * block))
	granted=$((queues < 128 ? queues : 128))
	at=("${kernel_at[@]}" -n "$kernel_nqn" -s "$(<"$vm/port.${kernel_inline[$inline]}")" --namespace-id "$3" --nr-io-queues "$queues" --queue-size "$6")
	# shellcheck disable=SC2206 # several words
	at+=(${digest_options[$1]})
	mark_kernel_log
	for size in $((fits ? fits : 2 * block)) $((fits + block)); do
		text=$(run_nvof bench io "${at[@]}" --rw randwrite --verify --bs $size --iodepth "$depth" --size 4M --io-size $((size * 1000)) --runtime 200 --seed $RANDOM -o json)
		wrote_and_read_back "$text" $granted
	done
	run_nvof read "${at[@]}" --data-size 4M --data "$logs/in"
	same "bytes on the target" "$(md5sum <"$logs/in" | cut -d' ' -f1)" "$(guest "checksum $device 0 4")"
	kernel_is_content
	same "queues added by the three commands" $((3 * granted)) "$(guest "dmesg | tail -n +$((log_lines + 1)) | grep -c 'nvmet: adding queue [1-9]'")"
}

# The peer's queues are smaller than what is asked for.
host_takes_small_queues() {
	local text
	text=$(run_nvof bench io "${kernel_at[@]}" -n "$kernel_nqn" -s "$(<"$vm/port.$kernel_small_queues")" --namespace-id 1 --nr-io-queues 2 \
		--queue-size 1024 --rw randwrite --verify --iodepth 64 --size 2M --io-size 4M --runtime 200 2>&1)
	has "$text" "queues of 16 entries take no more"
	has "$text" "errors     0"
}

# Commands of 8 MiB: more than the peer takes in one H2CData PDU, and many receives and sends for each.
host_moves_large() {
	local text
	text=$(run_nvof bench io "${kernel_at[@]}" -n "$kernel_nqn" --namespace-id 1 --nr-io-queues 2 --rw randwrite --verify --bs 8M --iodepth 2 --size 32M \
		--io-size 32M --runtime 200 --seed $RANDOM -o json "$@")
	wrote_and_read_back "$text" 2
	run_nvof read "${kernel_at[@]}" -n "$kernel_nqn" --namespace-id 1 --data-size 32M --data "$logs/in"
	same "bytes on the target" "$(md5sum <"$logs/in" | cut -d' ' -f1)" "$(guest "checksum /dev/ram0 0 32")"
}

# Connect's data travel inside the command on every transport but this port; the kernel's own host ends the same way.
no_in_capsule_data() {
	local text status=0
	text=$(run_nvof id-ctrl "${kernel_at[@]}" -n "$kernel_nqn" -s "$(<"$vm/port.${kernel_inline[0]}")" 2>&1) || status=$?
	same "exit status" 1 $status
	has "$text" "connect qid 0 (connect)"
	has "$text" "SGL Offset Invalid (sct 0 sc 16h, DNR)"
}

check host/tcp/in-capsule-0-is-refused no_in_capsule_data
for size in 1024 4096 16384; do check "host/tcp/in-capsule-$size" kernel_takes $size; done
#                        digests in-capsule nsid device queues queue-size depth
while read -r mix; do
	# shellcheck disable=SC2086 # several words
	set -- $mix
	check "host/tcp/mix/$1-$2-${kernel_blocks[$3]}-$5-$6-$7" host_mixes "$@"
done <<'END'
none   1024  1 /dev/ram0   1   16   15
header 1024  2 /dev/nullb0 4   128  32
data   1024  1 /dev/ram0   4   1024 256
both   1024  2 /dev/nullb0 1   32   31
none   4096  2 /dev/nullb0 4   1024 300
header 4096  1 /dev/ram0   1   64   1
data   4096  2 /dev/nullb0 1   16   15
both   4096  1 /dev/ram0   4   1024 255
none   16384 1 /dev/ram0   4   128  16
header 16384 2 /dev/nullb0 1   1024 1023
data   16384 1 /dev/ram0   4   16   15
both   16384 2 /dev/nullb0 200 32   8
END
check host/tcp/small-queues host_takes_small_queues
check host/tcp/large host_moves_large
check host/tcp/large-digests host_moves_large --hdr-digest --data-digest
