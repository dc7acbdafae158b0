# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Where things are, and how the harness talks.

vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
vm_cache=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nvof-vm}

# Exit statuses of the harness itself; every other one is the guest script's.
vm_status_timeout=124
vm_status_no_vm=125

vm_say() { printf 'vm: %s\n' "$*" >&2; }

vm_die() {
	vm_say "$*"
	exit "$vm_status_no_vm"
}

# vm_need PROGRAM:PACKAGE...: all must be there; says how to get what is not.
vm_need() {
	local pair missing=()
	PATH=$PATH:/usr/sbin:/sbin
	for pair; do
		command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
	done
	[ ${#missing[@]} -eq 0 ] || vm_die "missing programs; install them with: apt-get install -y ${missing[*]}"
}
