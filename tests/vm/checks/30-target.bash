# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernel's host against our target. The namespace is a file, so that what arrived can be looked at from outside.

our_nqn=nqn.2014-08.org.nvmexpress:ours
our_file=$logs/namespace
our_port=
at_port=
target_pid=
our_at='-a 10.0.2.2 --keep-alive-tmo=60'

our_ctl=$logs/ctl

# start_target OPTION...: on at_port, or a free one when that is empty; sets our_port and target_pid.
start_target() {
	local try end
	: >"$logs/target"
	for try in 1 2 3; do
		our_port=${at_port:-$(vm_pick_port)}
		"$nvof" target --listen "tcp:127.0.0.1:$our_port" "$@" >"$logs/target" 2>"$logs/target.err" </dev/null &
		target_pid=$!
		echo $target_pid >>"$targets"
		end=$((SECONDS + 30))
		while kill -0 "$target_pid" 2>/dev/null && [ $SECONDS -lt $end ]; do
			! grep -q '^ready' "$logs/target" || return 0
			sleep 0.05
		done
		end_target TERM
	done
}

# end_target SIGNAL: and waits for its end.
end_target() {
	[ -n "$target_pid" ] || return 0
	kill "-$1" "$target_pid" 2>/dev/null
	wait "$target_pid" 2>/dev/null || :
	sed -i "/^$target_pid\$/d" "$targets"
	target_pid=
}

# own_target OPTION...: one for this check alone, with an empty file of 128 MiB for a namespace.
own_target() {
	our_file=$logs/own-namespace
	truncate -s 0 "$our_file"
	truncate -s 128M "$our_file"
	trap 'end_target TERM' EXIT
	start_target --subsys "$our_nqn" --control "$our_ctl" "$@"
	target_is_ready
}

our_target_ctl() { timeout 60 "$nvof" target-ctl --control "$our_ctl" "$@"; }

target_is_ready() {
	[ -n "$target_pid" ] || { cat "$logs/target.err"; fail "no 'ready': $(tail -n 1 "$logs/target.err")"; }
	vm_await_icresp "$our_port" 20 || fail "no ICResp"
}

target_is_alive() { kill -0 "$target_pid" || { cat "$logs/target.err"; fail "the target died"; }; }

# Runs a command in the guest; trouble that its kernel reports meanwhile is a failure.
guest_without_trouble() {
	local trouble
	mark_kernel_log
	guest "set -e; trap 'umount -q /mnt || :; nvme disconnect -n $our_nqn || :' EXIT; $1"
	trouble=$(guest "kernel_trouble $log_lines")
	[ -z "$trouble" ] || fail "the kernel complains: $trouble"
	target_is_alive
}

kernel_discovers() {
	local log
	log=$(guest "nvme discover -t tcp -a 10.0.2.2 -s $our_port $*")
	has "$log" "$our_nqn"
	has "$log" "trtype:  tcp"
	target_is_alive
}

# kernel_moves QUEUES OPTION...: 16 MiB, compared in the file and after reading them back.
kernel_moves() {
	local queues=$1
	shift
	truncate -s 0 "$our_file"
	truncate -s 128M "$our_file"
	guest "test -e /tmp/bytes16.md5 || { head -c 16M /dev/urandom >/tmp/bytes16 && md5sum </tmp/bytes16 | cut -d' ' -f1 >/tmp/bytes16.md5; }"
	guest_without_trouble "
		ctrl=\$(nvme_connect tcp $our_nqn $our_at -s $our_port -i $queues $*)
		test \$(cat /sys/class/nvme/\$ctrl/queue_count) = $((queues + 1))
		dev=/dev/\$(nvme_namespace $our_nqn 1)
		dd if=/tmp/bytes16 of=\$dev bs=1M oflag=direct status=none
		dd if=\$dev bs=1M count=16 iflag=direct status=none | cmp - /tmp/bytes16"
	same "bytes in the file" "$(guest "cat /tmp/bytes16.md5")" "$(head -c 16M "$our_file" | md5sum | cut -d' ' -f1)"
}

# Many small commands in flight, each block verified.
kernel_verifies() {
	guest_without_trouble "
		nvme_connect tcp $our_nqn $our_at -s $our_port -i 4 $*
		dev=/dev/\$(nvme_namespace $our_nqn 1)
		fio --name=verify --filename=\$dev --rw=randwrite --bsrange=512-128k --size=8M --numjobs=2 --offset_increment=8M \
			--ioengine=libaio --iodepth=32 --direct=1 --verify=crc32c --verify_fatal=1 --output=/tmp/fio.log || { cat /tmp/fio.log; exit 1; }"
}

kernel_resets() {
	guest_without_trouble "
		ctrl=\$(nvme_connect tcp $our_nqn $our_at -s $our_port -i 4)
		nvme reset /dev/\$ctrl
		timeout 20 sh -c \"until grep -qx live /sys/class/nvme/\$ctrl/state; do sleep 0.1; done\"
		test \$(cat /sys/class/nvme/\$ctrl/queue_count) = 5
		dd if=/dev/\$(nvme_namespace $our_nqn 1) of=/dev/null bs=1M count=4 iflag=direct status=none"
}

kernel_keeps_files() {
	guest_without_trouble "
		nvme_connect tcp $our_nqn $our_at -s $our_port -i 2
		dev=/dev/\$(nvme_namespace $our_nqn 1)
		mkfs.ext4 -q \$dev
		mount \$dev /mnt
		cp -r /lib/modules /mnt/
		umount /mnt
		mount -o ro \$dev /mnt
		diff -r /lib/modules /mnt/modules
		umount /mnt
		fsck.ext4 -fn \$dev >/dev/null"
}

truncate -s 128M "$our_file"
start_target --subsys "$our_nqn" --ns "file:$our_file"
setup target/tcp/ready target_is_ready
if [ -n "$target_pid" ]; then
	check target/tcp/discover kernel_discovers
	check target/tcp/discover-digests kernel_discovers --hdr-digest --data-digest
	for queues in 1 4; do
		check "target/tcp/queues-$queues" kernel_moves $queues
		check "target/tcp/queues-$queues-digests" kernel_moves $queues --hdr-digest --data-digest
	done
	check target/tcp/verify kernel_verifies
	check target/tcp/verify-digests kernel_verifies --hdr-digest --data-digest
	check target/tcp/reset kernel_resets
	check target/tcp/file-system kernel_keeps_files
fi
end_target TERM
