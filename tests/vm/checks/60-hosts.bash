# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Who may connect, and who is told to be whom.

guest_host=nqn.2014-08.org.nvmexpress:uuid:6f2a41a7-1d1c-4c5e-9f0e-6e766f662d31
guest_hostid=6f2a41a7-1d1c-4c5e-9f0e-6e766f662d31
a_host=nqn.2014-08.org.nvmexpress:uuid:0d5a2a7e-52ab-4a5f-9b7b-6c3b4d0e8f11

# What the guest's kernel says of a connect that must fail.
kernel_is_refused() { guest "mark=\$(dmesg | wc -l); ! nvme connect -t tcp -n $1 $our_at -s $our_port || { nvme disconnect -n $1; echo 'it was let in'; exit 1; }; dmesg | tail -n +\$((mark + 1))"; }

kernel_host_is_checked() {
	local text
	own_target --ns "file:$logs/own-namespace" --allow-host "$a_host"
	text=$(kernel_is_refused "$our_nqn")
	has "$text" "Connect for subsystem $our_nqn is not allowed, hostnqn: $guest_host"
	text=$(guest "nvme discover -t tcp -a 10.0.2.2 -s $our_port")
	[[ $text != *"$our_nqn"* ]] || fail "the subsystem is told to a host that may not use it"
	text=$(kernel_is_refused "$our_nqn.none")
	has "$text" "Connect Invalid Data Parameter, subsysnqn \"$our_nqn.none\""
	our_target_ctl allow-host "$guest_host"
	has "$(guest "nvme discover -t tcp -a 10.0.2.2 -s $our_port")" "$our_nqn"
	guest "nvme_connect tcp $our_nqn $our_at -s $our_port -i 2 --reconnect-delay=1"
	trap 'guest "nvme disconnect -n $our_nqn"; end_target TERM' EXIT
	text=$(our_target_ctl status -o json)
	text=${text//[[:space:]]/}
	has "$text" "\"hostnqn\":\"$guest_host\""
	has "$text" "\"hostid\":\"$guest_hostid\""
	our_target_ctl disallow-host "$guest_host"
	guest "wait_until 60 has_no_ctrl $our_nqn"
	[[ $(our_target_ctl status) != *"  ctrl "* ]] || fail "the host is still connected"
}

host_is_checked() {
	local text status=0 at=("${kernel_at[@]}" -n "$kernel_nqn" --hostnqn "$a_host")
	guest "echo 0 >\$nvmet/subsystems/$kernel_nqn/attr_allow_any_host"
	trap 'guest "rm -f \$nvmet/subsystems/$kernel_nqn/allowed_hosts/*; rmdir \$nvmet/hosts/*; echo 1 >\$nvmet/subsystems/$kernel_nqn/attr_allow_any_host"' EXIT
	text=$(run_nvof id-ctrl "${at[@]}" 2>&1) || status=$?
	same "exit status" 1 $status
	has "$text" "Connect Invalid Host (sct 1 sc 84h, DNR)"
	[[ $(run_nvof discover "${kernel_at[@]}" --hostnqn "$a_host") != *"$kernel_nqn"* ]] || fail "the subsystem is told to a host that may not use it"
	status=0
	text=$(run_nvof id-ctrl "${at[@]}" -n "$kernel_nqn.none" 2>&1) || status=$?
	same "exit status" 1 $status
	has "$text" "Connect Invalid Parameters (sct 1 sc 82h, DNR)"
	has "$text" "subsysnqn"
	guest "mkdir \$nvmet/hosts/$a_host && ln -s \$nvmet/hosts/$a_host \$nvmet/subsystems/$kernel_nqn/allowed_hosts/"
	mark_kernel_log
	has "$(run_nvof id-ctrl "${at[@]}")" KERNEL1
	has "$(guest "dmesg | tail -n +$((log_lines + 1))")" "for NQN $a_host"
}

check hosts/kernel-is-checked kernel_host_is_checked
check hosts/host-is-checked host_is_checked
