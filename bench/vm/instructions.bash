# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest, on one CPU: instructions of a 4 KiB read. The host's in user space are counted by callgrind: two runs of bench io that differ in the
# number of reads, and the difference. What all of the machine does for a read (host, target, and the kernel for both) is the time it takes, for the
# clock of this machine is its count of instructions, and its one CPU always has something to do. Prints a table.
set -eu
shopt -s inherit_errexit
. /job/files/lib.bash
nqn=nqn.2026-11.org.example:instructions
few=500
many=4500

# The soft device on a dummy one: it hands packets to its own address back inside the driver, as lo does for TCP.
modprobe rdma_rxe && modprobe rdma_ucm && modprobe ib_uverbs && modprobe dummy
ip link add rdma0 type dummy && ip address add 10.88.0.1/24 dev rdma0 && ip link set rdma0 up && rdma link add rxe0 type rxe netdev rdma0
declare -A address=([tcp]=127.0.0.1 [rdma]=10.88.0.1)

# reads yes|no TRANSPORT DEPTH COUNT: so many reads, with the host under callgrind or as it is; what bench io says.
reads() {
	local at=(-t "$2" -a "${address[$2]}" -s 4420 -n "$nqn") how=() target
	[ "$1" = no ] || how=(valgrind --tool=callgrind --callgrind-out-file=/tmp/profile --log-file=/tmp/callgrind.log)
	"$nvof" target --no-control --handshake-tmo 100s --listen "$2:${address[$2]}:4420" --subsys "$nqn" --ns mem:16M >/tmp/target.out 2>&1 &
	target=$!
	wait_until 60 grep -q ready /tmp/target.out
	"${how[@]}" "$nvof" bench io "${at[@]}" --nr-io-queues 1 --keep-alive-tmo 0 --connect-tmo 60s --rw randread --bs 4k --iodepth "$3" --runtime 1000s \
		--io-size $(($4 * 4096)) -o json
	kill "$target"
	wait "$target"
}

# counted TRANSPORT DEPTH COUNT: instructions of a host that makes so many reads
counted() {
	reads yes "$@" >/dev/null
	awk '/Collected/ { print $NF }' /tmp/callgrind.log
}

# row DEPTH TRANSPORT
row() {
	local less more all
	less=$(counted "$2" "$1" "$few")
	more=$(counted "$2" "$1" "$many")
	# A second has a thousand million instructions.
	all=$(reads no "$2" "$1" "$many" | awk -F '[:,]' '/"iops"/ { printf "%.0f", 1e9 / $2 }')
	echo "| $1 | $2 | $(((more - less) / (many - few))) | $all |"
}

if [ "${1:-}" = profile ]; then
	reads yes "${@:2}" "$many" >/dev/null
	cat /tmp/profile
	exit
fi

[ $# -gt 0 ] || set -- 1 64
echo '| in flight | transport | the host in user space | all of the machine |'
echo '|---:|---|---:|---:|'
for depth; do
	for transport in tcp rdma; do row "$depth" "$transport"; done
done
