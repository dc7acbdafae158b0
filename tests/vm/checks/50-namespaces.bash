# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Namespaces come, change their size and go while a host is connected, which learns of it by an event.

examples=${nvof%/*}/examples

# The same association all along: the guest's kernel neither reconnects nor looks by itself.
kernel_sees_changes() {
	local ctrl
	own_target --ns "file:$logs/own-namespace"
	mark_kernel_log
	guest "nvme_connect tcp $our_nqn $our_at -s $our_port -i 2"
	trap 'guest "nvme disconnect -n $our_nqn"; end_target TERM' EXIT
	ctrl=$(our_target_ctl status | grep '^  ctrl ')
	our_target_ctl add-ns mem:8M,nsid=2,block=4096
	guest "wait_until 30 namespace_has_mib $our_nqn 2 8 && test \$(blockdev --getss /dev/\$(nvme_namespace $our_nqn 2)) = 4096"
	our_target_ctl resize-ns 2 12M
	guest "wait_until 30 namespace_has_mib $our_nqn 2 12"
	our_target_ctl resize-ns 1 160M
	guest "wait_until 30 namespace_has_mib $our_nqn 1 160 && dd if=/dev/zero of=/dev/\$(nvme_namespace $our_nqn 1) bs=1M seek=159 count=1 oflag=direct status=none"
	our_target_ctl remove-ns 2
	guest "wait_until 30 has_no_namespace $our_nqn 2"
	our_target_ctl add-ns mem:4M,nsid=2
	guest "wait_until 30 namespace_has_mib $our_nqn 2 4"
	same "ctrl" "$ctrl" "$(our_target_ctl status | grep '^  ctrl ')"
	same "reconnects" "" "$(guest "dmesg | tail -n +$((log_lines + 1)) | grep -E 'reconnect|resetting' || :")"
}

# watch_says LINE: within 30 s.
watch_says() {
	local end=$((SECONDS + 30))
	until grep -qF "$1" "$logs/watch"; do
		[ $SECONDS -lt $end ] || { cat "$logs/watch"* >&2; fail "the example watch did not say '$1'"; }
		sleep 0.1
	done
}

# The other way round; ends with the loss of the target, which is said in words.
host_sees_changes() {
	[ -x "$examples/watch" ] || skip "there is no $examples/watch; ninja examples/watch makes it"
	local status=0 watch
	guest "truncate -s 8M /tmp/ns3"
	"$examples/watch" 127.0.0.1 "$kernel_port" "$kernel_nqn" 60000 >"$logs/watch" 2>"$logs/watch.err" </dev/null & watch=$!
	# shellcheck disable=SC2064 # the process of now is meant
	trap "kill $watch || :; guest '{ nvmet_remove_namespace $kernel_nqn 3; ln -s \$nvmet/subsystems/$kernel_nqn \$nvmet/ports/1/subsystems/; } 2>/dev/null || :'" EXIT
	watch_says "1: 262144 blocks of 512 bytes; 2: 32768 blocks of 4096 bytes;"
	guest "nvmet_namespace $kernel_nqn 3 /tmp/ns3 buffered_io=1"
	watch_says "3: 2048 blocks of 4096 bytes;"
	guest "truncate -s 12M /tmp/ns3 && echo 1 >\$nvmet/subsystems/$kernel_nqn/namespaces/3/revalidate_size"
	watch_says "3: 3072 blocks of 4096 bytes;"
	guest "nvmet_remove_namespace $kernel_nqn 3"
	watch_forgets "3:"
	guest "rm \$nvmet/ports/1/subsystems/$kernel_nqn"
	wait $watch || status=$?
	same "exit status of watch" 1 $status
	has "$(<"$logs/watch.err")" "closed"
}

watch_forgets() {
	local end=$((SECONDS + 30))
	while tail -n 1 "$logs/watch" | grep -qF "$1"; do
		[ $SECONDS -lt $end ] || { cat "$logs/watch" >&2; fail "the example watch still knows namespace $1"; }
		sleep 0.1
	done
}

check namespaces/kernel-sees-changes kernel_sees_changes
check namespaces/host-sees-changes host_sees_changes
