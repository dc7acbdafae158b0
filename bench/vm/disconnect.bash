# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: how long a disconnect from a subsystem with many namespaces takes, the kernel's host beside ours, one target for both. With
# nothing under way: the kernel's host is not told to begin a read in the same moment. Prints a table.
set -eu
. /job/files/lib.bash
nqn=nqn.2026-11.org.example:disconnect
queues=4

modprobe nvme-tcp

has_namespaces() { [ "$(find /sys/class/nvme/"$(nvme_ctrl "$nqn")"/ -maxdepth 1 -name 'nvme*n*' | wc -l)" -ge "$1" ]; }

# Milliseconds until nvme-cli has come back: all is gone then.
kernel_once() {
	local start end
	nvme connect "${at[@]}" -i "$queues" --keep-alive-tmo 60 >/dev/null
	wait_until 120 has_namespaces "$1"
	udevadm settle 2>/dev/null || sleep 1
	start=$(now_ms)
	nvme disconnect -n "$nqn" >/dev/null
	end=$(now_ms)
	echo $((end - start))
}

ours() {
	"$nvof" bench disconnect "${at[@]}" --keep-alive-tmo 60 --connect-tmo 60s --nr-io-queues "$queues" --runs 5 -o json "$@" |
		awk -F: '/"median"/ { m = 1 } m && /"total_ms"/ { printf "%.1f", $2; exit }'
}

echo "$(nproc) emulated CPUs, $queues I/O queues, ms of a disconnect, medians of 5; ours with a read under way on each namespace"
echo '| namespaces | kernel, `nvme disconnect` | nvof, one by one | nvof | kernel / nvof |'
echo '|---:|---:|---:|---:|---:|'
port=4420
for namespaces in 1 8 32 64; do
	port=$((port + 1))
	at=(-t tcp -a 127.0.0.1 -s "$port" -n "$nqn")
	"$nvof" target --no-control --listen "tcp:127.0.0.1:$port" --subsys "$nqn" --ns "mem:1M,count=$namespaces" >"/tmp/target.$namespaces" 2>&1 &
	target=$!
	wait_until 20 grep -q ready "/tmp/target.$namespaces"
	kernel=$(for run in 1 2 3 4 5; do kernel_once "$namespaces"; done | median)
	serial=$(ours --removal-concurrency 1)
	parallel=$(ours)
	echo "| $namespaces | $kernel | $serial | $parallel | $(awk "BEGIN { printf \"%.1f\", $kernel / $parallel }") |"
	kill $target
	wait $target || :
done
