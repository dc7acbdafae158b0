# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The guest's three files: kernel, initrd (finds the root) and root (a file system on a disk, so that its size costs no boot time).

# Everything the images are made from; they are made anew when it changes.
vm_recipe() {
	cat "$vm_dir"/guest-{packages,modules,init} "$vm_dir"/lib/{packages,kernel,modules,image}.bash | sha256sum | cut -c 1-12
}

vm_list() { sed 's/#.*//; /^[[:space:]]*$/d' "$1"; }

# vm_images: makes the images unless they are there; sets vm_image to their folder.
vm_images() {
	local current
	current=$vm_cache/current-$(vm_recipe)
	if [ ! -e "$current" ] || [ -n "${VM_REFRESH:-}" ]; then
		vm_need apt-get:apt dpkg-deb:dpkg xz:xz-utils zstd:zstd depmod:kmod mke2fs:e2fsprogs flock:util-linux
		mkdir -p "$vm_cache"
		( flock 9 && { [ -e "$current" ] && [ -z "${VM_REFRESH:-}" ] || vm_make_images "$current"; } ) 9>"$vm_cache/lock" || exit
	fi
	vm_image=$(readlink -f "$current")
}

vm_make_images() {
	local debs packages modules release work name
	vm_say "making the guest's images in $vm_cache (once)"
	vm_apt_setup
	vm_apt_update
	mapfile -t packages < <(vm_list "$vm_dir/guest-packages")
	mapfile -t modules < <(vm_list "$vm_dir/guest-modules")
	debs=$(vm_fetch "${packages[@]}") || exit

	work=$(mktemp -d "$vm_cache/work.XXXXXX")
	# shellcheck disable=SC2064 # the folder of now is meant
	trap "rm -rf '$work'" EXIT
	vm_unpack_debs "$work/all" "$debs" || vm_die "cannot unpack the guest's packages"
	release=$(basename "$work"/all/lib/modules/*)
	name=$release-${1##*-}
	mkdir -p "$work/image" "$work/modules/lib"
	mv "$work/all/lib/modules" "$work/modules/lib/"
	vm_install_modules "$work/modules" "$work/all" "$release" "${modules[@]}" || vm_die "cannot install the guest's modules"
	vm_unpack_kernel "$work/all/boot/vmlinuz-$release" "$work/image/kernel"
	rm -rf "$work"/all/boot
	vm_make_initrd "$work/all" "$release" "$work/image/initrd" || vm_die "cannot make the initrd"
	vm_make_root "$work/all" "$work/image/root" || vm_die "cannot make the root file system"

	mkdir -p "$vm_cache/images"
	rm -rf "$vm_cache/images/$name"
	mv "$work/image" "$vm_cache/images/$name"
	ln -sfn "images/$name" "$1"
	vm_forget_old
	vm_say "the guest runs $release"
}

vm_unpack_debs() {
	local deb dir
	mkdir -p "$1"/usr/{bin,sbin,lib,lib64}
	for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$1/$dir"; done
	for deb in $2; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$1" --no-same-owner --keep-directory-symlink \
			--exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --exclude='./boot/System.map*' || return
	done
	mkdir -p "$1"/{dev,proc,sys,run,tmp,job,root,mnt}
	ln -sf dash "$1/usr/bin/sh"
	ln -sf mawk "$1/usr/bin/awk"
}

vm_make_initrd() {
	local root=$1 release=$2 tree file files
	tree=${1%/*}/initrd
	mkdir -p "$tree"/{bin,dev,proc,modules,root}
	cp "$root/bin/busybox" "$tree/bin/" && cp "$vm_dir/guest-init" "$tree/init" && chmod 755 "$tree/init" || return
	files=$(vm_module_files "$root/lib/modules/$release/modules.dep" crc32c_generic virtio_blk ext4) || return
	for file in $files; do
		cp "$root/lib/modules/$release/$file" "$tree/modules/" || return
		echo "${file##*/}" >>"$tree/modules/order"
	done
	( cd "$tree" && find . | bin/busybox cpio -o -H newc 2>/dev/null ) >"$3"
}

vm_make_root() {
	local size
	size=$(du -sm "$1" | cut -f1)
	mke2fs -q -t ext4 -O '^has_journal' -E root_owner=0:0 -m 0 -d "$1" "$2" "$((size * 5 / 4 + 64))M"
}

# Two sets of images stay (a branch and its parent), and the packages that can still be downloaded.
vm_forget_old() {
	local link
	find "$vm_cache/images" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' | sort -rn | tail -n +3 | cut -d' ' -f2- | while read -r dir; do rm -rf "$dir"; done
	for link in "$vm_cache"/current-*; do [ -e "$link" ] || rm -f "$link"; done
	vm_apt autoclean >&2
}
