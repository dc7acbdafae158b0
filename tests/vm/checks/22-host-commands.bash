# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Our host's other commands against the kernel's target.

# host_clears NSID DEVICE COMMAND OPTION...: 4 MiB of which the command makes blocks 1M to 3M zeroes; the rest stays.
host_clears() {
	local nsid=$1 device=$2 command=$3 block=${kernel_blocks[$1]} at options=()
	at=("${kernel_at[@]}" -n "$kernel_nqn" --namespace-id "$nsid")
	case $command in
	dsm) options=(--ad --slbs "$((1048576 / block)),$((2097152 / block))" --blocks "$((1048576 / block)),$((1048576 / block))") ;;
	*) options=(--start-block $((1048576 / block)) --block-count $((2097152 / block - 1))) ;;
	esac
	head -c 4M /dev/urandom >"$logs/out"
	run_nvof write "${at[@]}" --data "$logs/out"
	same "bytes before" "$(md5sum <"$logs/out" | cut -d' ' -f1)" "$(guest "checksum $device 0 4")"
	mark_kernel_log
	run_nvof "$command" "${at[@]}" "${options[@]}"
	dd if=/dev/zero of="$logs/out" bs=1M seek=1 count=2 conv=notrunc status=none
	same "bytes after" "$(md5sum <"$logs/out" | cut -d' ' -f1)" "$(guest "checksum $device 0 4")"
	run_nvof read "${at[@]}" --data-size 4M --data "$logs/in"
	cmp "$logs/in" "$logs/out"
	kernel_is_content
}

# The kernel's own trace of what its target got.
host_flushes() {
	guest "echo >/sys/kernel/tracing/trace; echo 1 >/sys/kernel/tracing/events/nvmet/enable"
	run_nvof flush "${kernel_at[@]}" -n "$kernel_nqn" --namespace-id 1
	has "$(guest "echo 0 >/sys/kernel/tracing/events/nvmet/enable; cat /sys/kernel/tracing/trace")" nvme_cmd_flush
}

# host_is_told COMMAND OPTION...: the peer has no such command; that is said in words, and the association goes on living.
host_is_told() {
	local text status=0
	text=$(run_nvof "$1" "${kernel_at[@]}" -n "$kernel_nqn" --namespace-id 1 "${@:2}" 2>&1) || status=$?
	same "exit status" 1 $status
	[[ $text == *"does not support this command"* || $text == *"Invalid Command Opcode"* ]] || fail "$text"
}

check host/tcp/flush host_flushes
for nsid in 1 2; do check "host/tcp/write-zeroes-${kernel_blocks[$nsid]}" host_clears $nsid "$([ $nsid = 1 ] && echo /dev/ram0 || echo /dev/nullb0)" write-zeroes; done
check host/tcp/discard host_clears 2 /dev/nullb0 dsm
check host/tcp/compare-is-refused host_is_told compare --data-size 4096 --data /dev/zero
check host/tcp/verify-is-refused host_is_told verify --block-count 7
