# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Our host against the kernel's target.

# An emulated kernel on a busy machine may be seconds late with its answers. QEMU's forwarder listens with a backlog of one connection: of many
# at the same time some would be forgotten.
kernel_at=(-t tcp -a 127.0.0.1 -s "$kernel_port" --keep-alive-tmo 60 --connect-tmo 60s --setup-concurrency 4)

run_nvof() { timeout -k 5 240 "$nvof" "$@"; }

# The guest's log from here on is looked at by kernel_is_content.
mark_kernel_log() { log_lines=$(guest "dmesg | wc -l"); }

# No complaint in the guest's log, and no connection left.
kernel_is_content() {
	local trouble
	trouble=$(guest "kernel_trouble $log_lines")
	[ -z "$trouble" ] || fail "the kernel complains: $trouble"
	guest "nobody_is_left() { [ -z \"\$(ss -Htn state established '( sport = :4420 )')\" ]; }; wait_until 20 nobody_is_left" || fail "connections are left on the target"
}

host_discovers() {
	local text
	text=$(run_nvof discover "${kernel_at[@]}" "$@")
	has "$text" "$kernel_nqn"
	text=$(run_nvof discover "${kernel_at[@]}" "$@" -o json)
	has "$text" "\"$kernel_nqn\""
}

# host_identifies OPTION...
host_identifies() {
	local text at=("${kernel_at[@]}" -n "$kernel_nqn" "$@")
	text=$(run_nvof id-ctrl "${at[@]}")
	has "$text" KERNEL1
	text=$(run_nvof list-ns "${at[@]}")
	has "$text" 0x2
	text=$(run_nvof id-ns "${at[@]}" --namespace-id 1 -o json)
	has "${text//[[:space:]]/}" '"nsze":262144'
	text=$(run_nvof id-ns "${at[@]}" --namespace-id 2 -o json)
	has "${text//[[:space:]]/}" '"nsze":32768'
}

# host_moves MIB NSID DEVICE QUEUES OPTION...: so much from the second MiB on, compared on the peer and after reading it back.
host_moves() {
	local size=$(($1 << 20)) nsid=$2 device=$3 queues=$4 block=${kernel_blocks[$2]} at
	at=("${kernel_at[@]}" -n "$kernel_nqn" --nr-io-queues "$queues" --namespace-id "$nsid" "${@:5}"
		--start-block $((1048576 / block)) --block-count $((size / block - 1)) --data-size "$size")
	mark_kernel_log
	head -c "$size" /dev/urandom >"$logs/out"
	run_nvof write "${at[@]}" --data "$logs/out"
	same "bytes on the target" "$(md5sum <"$logs/out" | cut -d' ' -f1)" "$(guest "checksum $device 1 $1")"
	run_nvof read "${at[@]}" --data "$logs/in"
	cmp "$logs/in" "$logs/out"
	kernel_is_content
	same "queues added by both commands" $((2 * queues)) "$(guest "dmesg | tail -n +$((log_lines + 1)) | grep -c 'nvmet: adding queue'")"
}

check host/tcp/discover host_discovers
check host/tcp/discover-digests host_discovers --hdr-digest --data-digest
check host/tcp/identify host_identifies
check host/tcp/identify-digests host_identifies --hdr-digest --data-digest
for queues in 1 4; do
	check "host/tcp/queues-$queues" host_moves 16 1 /dev/ram0 $queues
	check "host/tcp/queues-$queues-digests" host_moves 16 1 /dev/ram0 $queues --hdr-digest --data-digest
done
check host/tcp/header-digest-only host_moves 16 2 /dev/nullb0 2 --hdr-digest
check host/tcp/data-digest-only host_moves 16 2 /dev/nullb0 2 --data-digest
