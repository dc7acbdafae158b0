# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Which accelerator QEMU uses. A /dev/kvm may be there and yet not run a stock kernel, so only a boot tells.

# vm_accel: sets vm_accelerator; VM_ACCEL overrides. The answer holds until the machine boots again.
vm_accel() {
	local memo
	memo=$vm_cache/accel-$(cat /proc/sys/kernel/random/boot_id)
	vm_accelerator=${VM_ACCEL:-}
	[ -z "$vm_accelerator" ] || return 0
	vm_accelerator=tcg,thread=multi
	[ -w /dev/kvm ] || return 0
	if [ ! -e "$memo" ]; then
		rm -f "$vm_cache"/accel-*
		if vm_kvm_boots; then echo kvm; else echo "$vm_accelerator"; fi >"$memo"
	fi
	vm_accelerator=$(<"$memo")
}

vm_kvm_boots() {
	VM_ACCEL=kvm VM_TRIES=1 VM_BOOT_TIMEOUT=20 timeout -k 5 40 "$vm_dir/run" /dev/null >/dev/null 2>&1
}
