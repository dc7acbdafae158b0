# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Discovery with referrals, in both directions.

# The kernel's host finds the subsystem of a second target by way of the first one's referral. The log names 127.0.0.1, where the targets listen; so the
# guest gets forwarders at the same place.
kernel_connects_all() {
	local first second
	own_target --ns "file:$logs/own-namespace"
	second=$our_port
	# shellcheck disable=SC2030 # a target besides the other
	first=$(at_port='' && start_target --subsys "$our_nqn.first" --ns mem:8M --referral "tcp:127.0.0.1:$second" --no-control && echo "$our_port $target_pid")
	# shellcheck disable=SC2064 # the target of now is meant
	trap "kill ${first#* }; end_target TERM" EXIT
	first=${first% *}
	mark_kernel_log
	guest "
		set -e
		for port in $first $second; do
			socat TCP-LISTEN:\$port,bind=127.0.0.1,fork,reuseaddr TCP:10.0.2.2:\$port & forwarders=\"\$forwarders \$!\"
		done
		trap 'nvme disconnect -n $our_nqn.first || :; nvme disconnect -n $our_nqn || :; kill \$forwarders' EXIT
		# An attempt before a forwarder is there would be trouble in the kernel's log.
		for port in $first $second; do wait_until 20 listens \$port; done
		wait_until 20 nvme discover -t tcp -a 127.0.0.1 -s $first >/tmp/discovery
		grep -q 'subtype: discovery subsystem referral' /tmp/discovery || { cat /tmp/discovery; exit 1; }
		nvme connect-all -t tcp -a 127.0.0.1 -s $first --keep-alive-tmo=60
		for nqn in $our_nqn.first $our_nqn; do
			wait_until 20 has_namespace \$nqn 1 || { nvme list-subsys; exit 1; }
			dd if=/dev/\$(nvme_namespace \$nqn 1) of=/dev/null bs=1M count=4 iflag=direct status=none
		done"
	same "trouble" "" "$(guest "kernel_trouble $log_lines")"
}

# Our host sees the kernel's referral, and what is behind it.
host_sees_referral() {
	local text
	guest "nvmet_referral 1 other tcp 127.0.0.1 4423"
	text=$(run_nvof discover "${kernel_at[@]}" -o json)
	guest "echo 0 >/sys/kernel/config/nvmet/ports/1/referrals/other/enable; rmdir /sys/kernel/config/nvmet/ports/1/referrals/other"
	text=${text//[[:space:]]/}
	has "$text" '"subtype":"discoverysubsystemreferral"'
	has "$text" '"trsvcid":"4423"'
	has "$text" "\"subnqn\":\"$kernel_nqn\""
	text=$(run_nvof discover "${kernel_at[@]}" -s "$(<"$vm/port.4423")")
	has "$text" "trsvcid: 4423"
	has "$text" "$kernel_nqn"
}

check discovery/kernel-connects-all kernel_connects_all
check discovery/host-sees-referral host_sees_referral
