# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# RDMA where something is wrong: hosts that break rules, memory that may not be locked, targets and devices that go. On the device of 80-rdma.bash.

rdma_trouble=nqn.2026-11.org.example:rdma-trouble
rdma_trouble_at="-t rdma -a $rdma_address -s 4426 -n $rdma_trouble"

# rdma_trouble_target MAX-IO-QUEUES: (re)starts it; its words go to /tmp/trouble.err.
rdma_trouble_target() {
	guest "[ ! -e /tmp/trouble.pid ] || { kill -KILL \$(cat /tmp/trouble.pid) || :; wait_until 60 process_is_gone \$(cat /tmp/trouble.pid); }
		[ -e /tmp/trouble.img ] || truncate -s 64M /tmp/trouble.img
		rm -f /tmp/trouble.out
		setsid $guest_nvof target --no-control --max-io-queues $1 --handshake-tmo 5s --listen rdma:$rdma_address:4426 --subsys $rdma_trouble \
			--ns file:/tmp/trouble.img >/tmp/trouble.out 2>>/tmp/trouble.err </dev/null & echo \$! >/tmp/trouble.pid
		wait_until 20 grep -q ready /tmp/trouble.out"
}

# A host that breaks the rules in one way; how the target ends that, and that it still serves others.
rdma_host_breaks_rules() {
	same "what it got" "$2" "$(guest "timeout 60 $guest_rdma_peer $rdma_address 4426 $1")"
	same "what a good host gets then" "status 0000" "$(guest "timeout 60 $guest_rdma_peer $rdma_address 4426 good")"
}

# rdma_floods CASE: a host that sends without end and takes no answers ends; one beside it is served meanwhile, and goes on. C039
rdma_floods() {
	guest "setsid timeout 60 $guest_nvof watch $rdma_trouble_at --keep-alive-tmo 5 >/tmp/trouble.watch 2>&1 </dev/null & echo \$! >/tmp/trouble.watch.pid
		sleep 1; : >/tmp/trouble.err; timeout 90 $guest_rdma_peer $rdma_address 4426 $1 >/tmp/trouble.flood 2>&1 & sleep 1"
	same "what a good host gets meanwhile" "status 0000" "$(guest "timeout 10 $guest_rdma_peer $rdma_address 4426 good")"
	guest "wait_until 60 test -s /tmp/trouble.flood; sleep 6; kill -0 \$(cat /tmp/trouble.watch.pid)"
	same "what it got" disconnected "$(guest "cat /tmp/trouble.flood")"
	has "$(guest "cat /tmp/trouble.err")" "$2"
	guest "kill \$(cat /tmp/trouble.watch.pid)"
	[[ $(guest "cat /tmp/trouble.watch") != *lost* ]] || fail "the good host lost its ctrl: $(guest "cat /tmp/trouble.watch")"
}

# rdma_busy TARGET-OPTIONS HOST-OPTIONS: a host fills its queues to the last entry, and keeps its ctrl; so does one that is idle.
rdma_busy() {
	local at="-t rdma -a $rdma_address -s 4428 -n $rdma_trouble --keep-alive-tmo 8" text
	guest "setsid $guest_nvof target --no-control --listen rdma:$rdma_address:4428 --subsys $rdma_trouble --ns mem:64M $1 >/tmp/busy.out 2>&1 </dev/null & echo \$! >/tmp/busy.pid
		wait_until 20 grep -q ready /tmp/busy.out
		setsid timeout 90 $guest_nvof watch $at >/tmp/busy.watch 2>&1 </dev/null & echo \$! >/tmp/busy.watch.pid"
	text=$(guest "timeout 80 $guest_nvof bench io $at --hostnqn nqn.2026-11.org.example:busy --bs 16k --rw randwrite --runtime 11 $2 2>&1 ||:")
	guest "kill \$(cat /tmp/busy.watch.pid) ||:; wait_until 20 process_is_gone \$(cat /tmp/busy.watch.pid); kill \$(cat /tmp/busy.pid); wait_until 30 process_is_gone \$(cat /tmp/busy.pid)"
	has "$text" "errors     0"
	text+=$(guest "cat /tmp/busy.watch /tmp/busy.out")
	[[ $text != *lost* && $text != *expired* ]] || fail "a ctrl was lost: $text"
}

# rdma_stopped CASE MS END BLOCK: a host without a word more writes to a target that is stopped for so long, with a keep-alive time-out of 5 s; what it gets,
# and what its block holds then.
rdma_stopped() {
	guest "dd if=/dev/zero of=/tmp/trouble.img bs=4096 count=1 conv=notrunc 2>&1"
	same "what it got" "$3" "$(guest "timeout 60 $guest_rdma_peer $rdma_address 4426 $1 $rdma_trouble \$(cat /tmp/trouble.pid) $2")"
	same "its block" "$4" "$(guest "head -c 4096 /tmp/trouble.img | tr -d '\\0' | head -c 4")"
	same "what a good host gets then" "status 0000" "$(guest "timeout 60 $guest_rdma_peer $rdma_address 4426 good")"
}

# Hosts that send at once and end in the middle of something: others are served, and the kernel forgets their connections.
rdma_many_break_rules() {
	local text
	text=$(guest "for i in \$(seq 10); do for case in wrong-key short-capsule good; do timeout 10 $guest_rdma_peer $rdma_address 4426 \$case || exit 1; done; done")
	same "good hosts served" 10 "$(grep -c 'status 0000' <<<"$text")"
	guest "wait_until 15 nobody_is_in cm_destroy_id"
}

# C021
rdma_source_address() {
	local text
	text=$(rdma_nvof bench connect "$rdma_trouble_at" --host-traddr "$rdma_address" --nr-io-queues 4 --runs 3 -o json)
	has "${text//[[:space:]]/}" '"nr_io_queues":4'
	has "$(rdma_nvof id-ctrl "$rdma_trouble_at" --host-traddr 10.88.99.99 '2>&1 ||:')" "from 10.88.99.99: Cannot assign requested address"
}

# rdma_locked KIB OPTION...: bench io of a user who may lock so much.
rdma_locked() {
	guest "ulimit -l $1; timeout 60 setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock $guest_nvof bench io $rdma_trouble_at --keep-alive-tmo 60 --nr-io-queues 2 \
		--rw randrw --bs 16k --iodepth 16 --runtime 1 ${*:2} 2>&1 || :"
}

# rdma_memlock OPTION... C170: enough for queues but not for the buffers is slower, not wrong; less is told by name.
rdma_memlock() {
	local text
	text=$(rdma_locked 2000 "$@")
	has "$text" "the limit of locked memory is 2000 KiB (ulimit -l): they are copied"
	has "$text" "errors     0"
	has "$(rdma_locked 64 "$@")" "the limit of locked memory is 64 KiB (ulimit -l)"
}

# rdma_trouble_io SECONDS OPTION...: reads and writes begin, for so long unless something ends them; what they say goes to /tmp/trouble.io.
# --foreground: one signal, not a second one to the whole group, that may come when the first was heard and end it without its report.
rdma_trouble_io() {
	guest "timeout --foreground -s INT $1 $guest_nvof bench io $rdma_trouble_at -v --rw randrw --iodepth 16 --runtime ${1}s ${*:2} >/tmp/trouble.io 2>&1 </dev/null &
		echo \$! >/tmp/trouble.io.pid; wait_until 60 grep -q 'live: connected' /tmp/trouble.io; sleep 1"
}

# Ends them; there were no errors.
rdma_trouble_io_was_fine() {
	guest "sleep 1; kill -INT \$(cat /tmp/trouble.io.pid); wait_until 30 process_is_gone \$(cat /tmp/trouble.io.pid)"
	has "$(guest "cat /tmp/trouble.io")" "errors     0"
}

# rdma_other_queue_counts OPTION...: reads and writes go on while the target is killed and comes back with other numbers of queues.
rdma_other_queue_counts() {
	local count
	rdma_trouble_io 200 --nr-io-queues 8 --bs 16k --ctrl-loss-tmo 100 --reconnect-delay 200ms "$@"
	for count in 2 8 3; do
		rdma_trouble_target $count
		guest "wait_until 60 grep -q 'is back .* with $count I/O queues' /tmp/trouble.io"
	done
	rdma_trouble_io_was_fine
}

# The driver can't be taken away from those who use it: the kernel refuses, and I/O goes on as if nobody had asked.
rdma_driver_is_in_use() {
	rdma_trouble_io 60 --nr-io-queues 2 --bs 64k
	has "$(guest "rmmod rdma_rxe 2>&1 && echo it is gone ||:")" "rdma_rxe is in use"
	rdma_trouble_io_was_fine
}

# rdma_device_is_removed COMMAND REASON OPTION...: the device goes while I/O runs. The target says so and goes on; the host's I/O ends for this reason. The device
# is gone when its last user is: the soft one can't be taken away from a user, and librdmacm keeps what it has opened. Then its driver can go, too.
rdma_device_is_removed() {
	local text
	rdma_trouble_io 60 --nr-io-queues 2 --bs 64k "${@:3}"
	guest "setsid $1 >/dev/null 2>&1 </dev/null & wait_until 30 process_is_gone \$(cat /tmp/trouble.io.pid)"
	[[ $(guest "cat /tmp/trouble.io") =~ is\ lost:\ .*:\ ($2) ]] || fail "not lost by: $2: $(guest "cat /tmp/trouble.io")"
	has "$(guest "tr -d '\\0' </tmp/trouble.err")" "listen on $rdma_address:4426: the RDMA device rxe0 is being removed"
	guest "kill -0 \$(cat /tmp/trouble.pid)
		for pid in \$(pgrep -x nvof); do kill -TERM \$pid; done
		wait_until 30 process_is_gone \$(cat /tmp/trouble.pid); wait_until 30 no_rdma_device; rmmod rdma_rxe"
	text=$(rdma_nvof discover -t rdma -a "$rdma_address" '2>&1 ||:')
	has "$text" "no RDMA device on this machine"
	text=$(guest "$guest_nvof target --no-control --listen rdma:$rdma_address:4426 --subsys $rdma_trouble --ns null:1G 2>&1 ||:")
	has "$text" "no RDMA device on this machine"
}

# As 80-rdma.bash made it, and a target on it.
rdma_device_is_back() {
	guest "modprobe rdma_rxe; [ -e /sys/class/net/rdma0 ] || { ip link add rdma0 type dummy && ip addr add $rdma_address/24 dev rdma0 && ip link set rdma0 up; }
		rdma link add rxe0 type rxe netdev rdma0; rm -f /tmp/trouble.err"
	rdma_trouble_target 4
}

check rdma/trouble/target-starts rdma_trouble_target 4
check rdma/trouble/source-address rdma_source_address
check rdma/trouble/memlock rdma_memlock
check rdma/trouble/memlock-of-io-threads rdma_memlock --io-threads 2
check rdma/trouble/other-queue-counts rdma_other_queue_counts
check rdma/trouble/other-queue-counts-on-io-threads rdma_other_queue_counts --io-threads 3
while read -r case end; do
	check "rdma/trouble/host/$case" rdma_host_breaks_rules "$case" "$end"
done <<'END'
short-data           refused 4
other-format         refused 2
huge-queue           refused 4
no-receives          refused 5
no-reads             refused 7
silent               disconnected
short-capsule        disconnected
wrong-key            disconnected
wrong-key-for-answer disconnected
long-data            status 400f
missing-data         status 400f
other-sgl            status 4011
nonsense             disconnected
END
check rdma/trouble/floods/flood rdma_floods flood "more commands outstanding than the submission queue holds"
check rdma/trouble/floods/bad-sgls rdma_floods bad-sgls "more commands outstanding than the submission queue holds"
check rdma/trouble/floods/deaf rdma_floods deaf "the host takes no answers"
check rdma/trouble/busy/queues rdma_busy "" "--nr-io-queues 32 --iodepth 127"
check rdma/trouble/busy/large-capsules rdma_busy "--inline-len 64K" "--nr-io-queues 4 --queue-size 1024 --iodepth 1023"
check rdma/trouble/stopped/long rdma_stopped late-write 7000 disconnected ""
check rdma/trouble/stopped/short rdma_stopped late-write 1000 "status 0000" ZZZZ
check rdma/trouble/stopped/left rdma_stopped late-write-and-leave 500 left ""
check rdma/trouble/many-hosts rdma_many_break_rules
check rdma/trouble/driver-is-in-use rdma_driver_is_in_use
removed="the RDMA device rxe0 is being removed"
check rdma/trouble/device-is-removed rdma_device_is_removed "rdma link delete rxe0" "$removed"
check rdma/trouble/device-is-back rdma_device_is_back
check rdma/trouble/device-is-removed-under-io-threads rdma_device_is_removed "rdma link delete rxe0" "$removed" --io-threads 2
check rdma/trouble/device-is-back-again rdma_device_is_back
# The target may be told first, and closes the connection.
check rdma/trouble/interface-is-removed rdma_device_is_removed "ip link delete rdma0" "$removed|the connection was closed"
check rdma/trouble/interface-is-back rdma_device_is_back
