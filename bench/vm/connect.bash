# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: how long a connect takes with each exchange delayed (netem, each way), the kernel's host beside ours, one target for both. Prints a table.
# Arguments: transport (tcp or rdma), numbers of I/O queues. The kernel has as many as its CPUs allow: one of each of its three kinds a CPU; without
# a number it is all of them.
set -eu
. /job/files/lib.bash
nqn=nqn.2026-11.org.example:connect
cpus=$(nproc)
transport=${1:-tcp}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- $((3 * cpus))

# The wire is lo.
wire_tcp() {
	devices=(lo)
	address=127.0.0.1
}

# The wire is a veth pair with a soft device at each end. Both ends are in this one network namespace (the soft device knows no other), so rules lead
# what goes to the other end's address over the wire, and "iif lo" is what was made here; "oif" is what the connection manager asks when it looks at who connects.
wire_rdma() {
	local near=10.89.0.1 far=10.89.0.2 dev
	modprobe rdma_rxe && modprobe rdma_ucm && modprobe ib_uverbs && modprobe veth
	ip link add wire0 type veth peer name wire1
	ip address add $near/32 dev wire0
	ip address add $far/32 dev wire1
	for dev in wire0 wire1; do
		echo 0 >/proc/sys/net/ipv4/conf/$dev/rp_filter
		echo 1 >/proc/sys/net/ipv4/conf/$dev/accept_local
		ip link set $dev up
	done
	echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
	ip route add $far dev wire0 src $near table 10
	ip route add $near dev wire1 src $far table 11
	ip neighbour add $far lladdr "$(cat /sys/class/net/wire1/address)" dev wire0
	ip neighbour add $near lladdr "$(cat /sys/class/net/wire0/address)" dev wire1
	ip rule add pref 10 iif lo to $far lookup 10
	ip rule add pref 11 iif lo to $near lookup 11
	ip rule add pref 12 oif wire0 to $far lookup 10
	ip rule add pref 13 oif wire1 to $near lookup 11
	ip rule add pref 100 lookup local
	ip rule del pref 0
	rdma link add rxe0 type rxe netdev wire0
	rdma link add rxe1 type rxe netdev wire1
	devices=(wire0 wire1)
	address=$far
}

"wire_$transport"
at=(-t "$transport" -a "$address" -s 4420 -n "$nqn")
modprobe "nvme-$transport"
modprobe sch_netem
"$nvof" target --no-control --listen "$transport:$address:4420" --subsys "$nqn" --ns mem:16M >/tmp/target.out 2>&1 &
wait_until 20 grep -q ready /tmp/target.out

least() { echo $(($1 < $2 ? $1 : $2)); }

# kernel_once QUEUES: milliseconds until nvme-cli has come back: the ctrl is live then.
kernel_once() {
	local start end kinds=(-i "$(least "$1" "$cpus")")
	[ "$1" -le "$cpus" ] || kinds+=(-W "$(least $(($1 - cpus)) "$cpus")")
	[ "$1" -le $((2 * cpus)) ] || kinds+=(-P $(($1 - 2 * cpus)))
	start=$(now_ms)
	nvme connect "${at[@]}" "${kinds[@]}" --keep-alive-tmo 60 >/dev/null
	end=$(now_ms)
	[ "$(cat /sys/class/nvme/"$(nvme_ctrl "$nqn")"/queue_count)" = $(($1 + 1)) ] || echo "the kernel has not $1 queues" >&2
	nvme disconnect -n "$nqn" >/dev/null
	echo $((end - start))
}

# ours QUEUES OPTION...
ours() {
	"$nvof" bench connect "${at[@]}" --keep-alive-tmo 60 --connect-tmo 60s --nr-io-queues "$1" --runs 3 -o json "${@:2}" |
		awk -F: '/"median"/ { m = 1 } m && /"total_ms"/ { printf "%.0f", $2; exit }'
}

echo "$transport, $cpus emulated CPUs, medians of 3, ms of a whole connect"
echo '| I/O queues | delay each way | kernel, `nvme connect` | nvof, one by one | nvof | one by one / nvof | kernel / nvof |'
echo '|---:|---:|---:|---:|---:|---:|---:|'
for queues; do
	for delay in 0 1 5 20; do
		for dev in "${devices[@]}"; do
			# lo is both ways.
			tc qdisc replace dev "$dev" root netem delay "${delay}ms" limit 100000
		done
		kernel=$(for run in 1 2 3; do kernel_once "$queues"; done | median)
		serial=$(ours "$queues" --setup-concurrency 1)
		parallel=$(ours "$queues")
		echo "| $queues | $delay ms | $kernel | $serial | $parallel | $(awk "BEGIN { printf \"%.1f | %.1f\", $serial / $parallel, $kernel / $parallel }") |"
	done
done
