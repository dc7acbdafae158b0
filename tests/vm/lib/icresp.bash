# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Is there an NVMe/TCP target behind a port? QEMU accepts connections before the guest listens, so only an ICResp tells.

# vm_icresp PORT: the type of the PDU that answers an ICReq ("01" from a target), nothing if none comes.
vm_icresp() {
	local tcp
	{ exec {tcp}<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return
	{ printf '\0\0\200\0\200\0\0\0'; head -c 120 /dev/zero; } >&"$tcp"
	timeout 2 head -c 128 <&"$tcp" 2>/dev/null | od -An -tx1 -N1 | tr -d ' '
	exec {tcp}>&-
}

# vm_await_icresp PORT SECONDS
vm_await_icresp() {
	local end=$((SECONDS + $2))
	until [ "$(vm_icresp "$1")" = 01 ]; do
		[ $SECONDS -lt $end ] || return "$vm_status_timeout"
		sleep 0.1
	done
}
