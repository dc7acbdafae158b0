# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernel's target, set up through configfs. Every script and command of the guest has these functions.

nvmet=/sys/kernel/config/nvmet

# nvmet_subsystem NQN SERIAL: one that any host may use.
nvmet_subsystem() {
	modprobe nvmet
	mkdir "$nvmet/subsystems/$1" && echo 1 >"$nvmet/subsystems/$1/attr_allow_any_host" && echo "$2" >"$nvmet/subsystems/$1/attr_serial"
}

# nvmet_namespace NQN NSID DEVICE [FILE=VALUE]...
nvmet_namespace() {
	local ns=$nvmet/subsystems/$1/namespaces/$2 setting
	mkdir "$ns" && echo -n "$3" >"$ns/device_path" || return
	for setting in "${@:4}"; do echo "${setting#*=}" >"$ns/${setting%%=*}" || return; done
	echo 1 >"$ns/enable"
}

# nvmet_remove_namespace NQN NSID
nvmet_remove_namespace() {
	local ns=$nvmet/subsystems/$1/namespaces/$2
	echo 0 >"$ns/enable" && rmdir "$ns"
}

# nvmet_port ID TRANSPORT ADDRESS SERVICE [FILE=VALUE]... NQN...: the files are those of configfs, such as param_inline_data_size.
nvmet_port() {
	local port=$nvmet/ports/$1 nqn family=ipv4
	modprobe "nvmet-$2" 2>/dev/null || modprobe "nvme-$2"
	[[ $3 != *:* ]] || family=ipv6
	mkdir "$port" && echo "$2" >"$port/addr_trtype" && echo "$family" >"$port/addr_adrfam" &&
		echo "$3" >"$port/addr_traddr" && echo "$4" >"$port/addr_trsvcid" || return
	shift 4
	while [[ ${1:-} == *=* ]]; do
		echo "${1#*=}" >"$port/${1%%=*}" || return
		shift
	done
	for nqn; do ln -s "$nvmet/subsystems/$nqn" "$port/subsystems/" || return; done
}

# nvmet_referral PORT-ID NAME TRANSPORT ADDRESS SERVICE: hosts that ask this port are told of another discovery service.
nvmet_referral() {
	local referral=$nvmet/ports/$1/referrals/$2
	mkdir "$referral" && echo "$3" >"$referral/addr_trtype" && echo ipv4 >"$referral/addr_adrfam" && echo "$4" >"$referral/addr_traddr" &&
		echo "$5" >"$referral/addr_trsvcid" && echo 1 >"$referral/enable"
}

# Removes every port and subsystem.
nvmet_clear() {
	rm -f "$nvmet"/ports/*/subsystems/*
	rmdir "$nvmet"/ports/*/referrals/* "$nvmet"/ports/* "$nvmet"/subsystems/*/namespaces/* "$nvmet"/subsystems/* 2>/dev/null
	return 0
}
