# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The QEMU command line.

# vm_qemu STATE SECONDS HOSTPORT:GUESTPORT...: becomes QEMU. The guest's talk goes through the fifos in STATE, its console into a file there.
vm_qemu() {
	local state=$1 seconds=$2 net=user,id=net cpu=host pair
	shift 2
	for pair; do net+=,hostfwd=tcp:127.0.0.1:${pair%:*}-:${pair#*:}; done
	# Emulated, five-level page tables cost time for nothing, and "fast" string moves go byte by byte: twice the time for all that is copied.
	[[ $vm_accelerator == kvm* ]] || cpu=max,la57=off,erms=off,fsrm=off
	# Nobody looks at clocks or waits 30 s for a command in vain only because the machine is busy.
	local patience="tsc=reliable nowatchdog nvme_core.io_timeout=180 nvme_core.admin_timeout=180"
	exec timeout -k 5 "$seconds" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
		-machine pc,hpet=off -accel "$vm_accelerator" -cpu "$cpu" -smp "${VM_SMP:-4}" -m "${VM_MEM:-2048}" \
		-kernel "$vm_image/kernel" -initrd "$vm_image/initrd" \
		-append "console=ttyS0 panic=-1 oops=panic mitigations=off no_timer_check loglevel=4 $patience ${VM_APPEND:-}" ${VM_QEMU:-} \
		-drive "file=$vm_image/root,format=raw,if=virtio,snapshot=on" \
		-drive "file=$state/job.tar,format=raw,if=virtio,readonly=on" \
		-netdev "$net" -device virtio-net-pci,netdev=net,romfile= \
		-device virtio-rng-pci \
		-chardev "file,id=console,path=$state/console" -serial chardev:console \
		-device virtio-serial-pci \
		-chardev "file,id=out,path=$state/out.fifo" -device virtserialport,chardev=out,name=out \
		-chardev "file,id=err,path=$state/err.fifo" -device virtserialport,chardev=err,name=err \
		-chardev "pipe,id=ctl,path=$state/ctl" -device virtserialport,chardev=ctl,name=ctl \
		-chardev "pipe,id=monitor,path=$state/monitor" -mon chardev=monitor
}
