# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernel's host with two paths to one namespace of our target, whose states change under it.

second_port() { our_target_ctl status | sed -nE 's/^port .* tcp:127\.0\.0\.1:([0-9]+) .*/\1/p' | sed -n 2p; }

# In the guest: the state of the path by PORT is STATE.
path_is() {
	guest "path_state() { local p; for p in /sys/class/nvme/nvme*/nvme*c*n1; do
			grep -q 'trsvcid=$1' \"\$p/../address\" && cat \"\$p/ana_state\"; done; }
		path_is() { [ \"\$(path_state)\" = $2 ]; }
		wait_until 30 path_is || { nvme list-subsys; exit 1; }"
}

# fio writes and verifies while each path in turn becomes inaccessible; the other one is there each time.
kernel_takes_the_other_path() {
	local other turn paths
	own_target --ns "file:$logs/own-namespace"
	our_target_ctl add-listener tcp:127.0.0.1:0 >/dev/null
	other=$(second_port)
	[ -n "$other" ] || fail "no second port"
	our_target_ctl set-ana "tcp:127.0.0.1:$other" 1=non-optimized
	mark_kernel_log
	guest "
		set -e
		nvme_connect tcp $our_nqn $our_at -s $our_port -i 2
		nvme connect -t tcp -n $our_nqn $our_at -s $other -i 2"
	trap 'guest "drop_verifying; nvme disconnect -n $our_nqn"; end_target TERM' EXIT
	path_is "$our_port" optimized
	path_is "$other" non-optimized
	paths=$(guest "nvme list-subsys /dev/\$(nvme_namespace $our_nqn 1)")
	has "$paths" "live optimized"
	has "$paths" "live non-optimized"
	guest "start_verifying /dev/\$(nvme_namespace $our_nqn 1)"
	for turn in "$our_port" "$other" "$our_port"; do
		our_target_ctl set-ana "tcp:127.0.0.1:$turn" 1=inaccessible
		path_is "$turn" inaccessible
		our_target_ctl set-ana "tcp:127.0.0.1:$turn" 1=optimized
		path_is "$turn" optimized
	done
	kernel_io_goes_on
}

check ana/kernel-takes-the-other-path kernel_takes_the_other_path
