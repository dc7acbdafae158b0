# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernel's target, set up through configfs. Every script and command of the guest has these functions.

nvmet=/sys/kernel/config/nvmet

# nvmet_subsystem NQN SERIAL: one that any host may use.
nvmet_subsystem() {
	modprobe nvmet
	mkdir "$nvmet/subsystems/$1" && echo 1 >"$nvmet/subsystems/$1/attr_allow_any_host" && echo "$2" >"$nvmet/subsystems/$1/attr_serial"
}

# nvmet_namespace NQN NSID DEVICE
nvmet_namespace() {
	local ns=$nvmet/subsystems/$1/namespaces/$2
	mkdir "$ns" && echo -n "$3" >"$ns/device_path" && echo 1 >"$ns/enable"
}

# nvmet_port ID TRANSPORT ADDRESS SERVICE NQN...
nvmet_port() {
	local port=$nvmet/ports/$1 nqn family=ipv4
	modprobe "nvmet-$2" 2>/dev/null || modprobe "nvme-$2"
	[[ $3 != *:* ]] || family=ipv6
	mkdir "$port" && echo "$2" >"$port/addr_trtype" && echo "$family" >"$port/addr_adrfam" &&
		echo "$3" >"$port/addr_traddr" && echo "$4" >"$port/addr_trsvcid" || return
	shift 4
	for nqn; do ln -s "$nvmet/subsystems/$nqn" "$port/subsystems/" || return; done
}

# Removes every port and subsystem.
nvmet_clear() {
	rm -f "$nvmet"/ports/*/subsystems/*
	rmdir "$nvmet"/ports/* "$nvmet"/subsystems/*/namespaces/* "$nvmet"/subsystems/* 2>/dev/null
	return 0
}
