# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernel's host.

# nvme_connect TRANSPORT NQN OPTION...: connects, prints the controller's name (nvme0) once its first namespace is there.
nvme_connect() {
	local ctrl dev tries
	modprobe "nvme-$1"
	nvme connect -t "$1" -n "$2" "${@:3}" >&2 || return
	ctrl=$(nvme_ctrl "$2")
	for ((tries = 0; tries < 100; tries++)); do
		dev=$(nvme_namespace "$2" 1)
		[ -z "$dev" ] || [ ! -b "/dev/$dev" ] || { echo "$ctrl"; return; }
		sleep 0.1
	done
	echo "no namespace of $2 appeared" >&2
	return 1
}

# nvme_ctrl NQN: the controller's name
nvme_ctrl() { basename "$(dirname "$(grep -lxF "$1" /sys/class/nvme/nvme*/subsysnqn | head -n 1)")"; }

# nvme_namespace NQN NSID: the block device's name
nvme_namespace() {
	local dev
	for dev in /sys/class/nvme/"$(nvme_ctrl "$1")"/nvme*n*; do
		[ "$(cat "$dev/nsid" 2>/dev/null)" = "$2" ] && basename "$dev" | sed 's/c[0-9]*n/n/' && return
	done
}

# wait_until SECONDS COMMAND...: tries it until it succeeds.
wait_until() {
	local end=$((SECONDS + $1))
	until "${@:2}"; do
		[ $SECONDS -lt $end ] || { echo "waited $1 s in vain for: ${*:2}" >&2; return 1; }
		sleep 0.1
	done
}

# For wait_until. PORT
listens() { grep -q ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp; }

# For wait_until. NQN NSID [MIB]
has_namespace() { [ -b "/dev/$(nvme_namespace "$1" "$2")" ]; }
has_no_namespace() { [ -z "$(nvme_namespace "$1" "$2")" ]; }
namespace_has_mib() { has_namespace "$1" "$2" && [ "$(blockdev --getsize64 "/dev/$(nvme_namespace "$1" "$2")")" = $(($3 << 20)) ]; }
has_no_ctrl() { ! grep -qxF "$1" /sys/class/nvme/nvme*/subsysnqn 2>/dev/null; }
no_rdma_device() { [ -z "$(rdma link)" ]; }
nobody_is_in() { ! cat /proc/*/task/*/wchan 2>/dev/null | tr '\0' '\n' | grep -q "$1"; }
process_is_gone() { ! kill -0 "$1" 2>/dev/null; }

# kernel_said PATTERN [LINE]: in its log, after that line.
kernel_said() { dmesg | tail -n "+$((${2:-0} + 1))" | grep -qE "$1"; }

# kernel_trouble LINE: what the kernel's log says after that line about trouble in NVMe or in the kernel itself; succeeds either way.
kernel_trouble() {
	dmesg | tail -n "+$(($1 + 1))" | grep -E 'BUG|WARNING|Oops|Call Trace|(nvmet?|nvme[0-9]+).*(error|fail|timeout|timer.*expired|digest|invalid|unsupported|reconnect)'
	return 0
}
