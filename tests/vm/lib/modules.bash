# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Kernel modules: only those asked for and what they need, uncompressed, since a guest under emulation unpacks slowly.

# vm_module_files DEP NAME...: the files of these modules and of all they need, in an order that insmod can follow. DEP is a modules.dep.
vm_module_files() {
	local dep=$1
	shift
	printf '%s\n' "$@" | awk -v dep="$dep" '
		function name(path) { sub(/.*\//, "", path); sub(/\.ko.*/, "", path); gsub("-", "_", path); return path }
		function add(path,   i, n, need) {
			n = split(needs[path], need, " ")
			for (i = n; i > 0; i--) if (!(need[i] in done)) { done[need[i]]; print need[i] }
			if (!(path in done)) { done[path]; print path }
		}
		BEGIN {
			while ((getline line < dep) > 0) {
				path = line; sub(/:.*/, "", path); sub(/^[^:]*: ?/, "", line)
				needs[path] = line; file[name(path)] = path; all[++count] = path
			}
		}
		/\/$/ { for (i = 1; i <= count; i++) if (index(all[i], $1) == 1) add(all[i]); next }
		{ wanted = name($1); if (wanted in file) add(file[wanted]); else { print "no kernel module " $1 > "/dev/stderr"; bad = 1 } }
		END { exit bad }'
}

# vm_install_modules FROM TO RELEASE NAME...: the modules of RELEASE from one root to another.
vm_install_modules() {
	local from=$1/lib/modules/$3 to=$2/lib/modules/$3 release=$3 root=$2 file files
	shift 3
	depmod -b "${from%/lib/modules/*}" "$release" || return
	files=$(vm_module_files "$from/modules.dep" "$@") || return
	for file in $files; do
		mkdir -p "$to/${file%/*}"
		cp "$from/$file" "$to/$file" || return
	done
	find "$to" -name '*.ko.xz' -exec xz -d {} + || return
	cp "$from"/modules.{order,builtin,builtin.modinfo} "$to/"
	depmod -b "$root" "$release"
}
