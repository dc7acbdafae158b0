# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian packages, fetched with an apt of our own: it reads and writes only the cache folder.

vm_suite=bookworm

# The mirror this machine already uses, unless VM_MIRROR names another.
vm_mirror() {
	[ -z "${VM_MIRROR:-}" ] || { echo "$VM_MIRROR"; return; }
	# shellcheck disable=SC2016 # apt expands these
	apt-get --no-release-info indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
		awk '$1 !~ /[-\/]/ && $2 == "main" { print $3; exit }'
}

vm_apt_setup() {
	local mirror key=/usr/share/keyrings/debian-archive-keyring.gpg signed=
	mirror=$(vm_mirror)
	[ -n "$mirror" ] || vm_die "no Debian mirror in apt's configuration; set VM_MIRROR to its URI"
	[ ! -r $key ] || signed="[signed-by=$key] "
	mkdir -p "$vm_cache/apt/lists/partial" "$vm_cache/apt/archives/partial"
	: >"$vm_cache/apt/status"
	printf "deb $signed%s %s main\n" "$mirror" "$vm_suite" "$mirror" "$vm_suite-backports" >"$vm_cache/apt/sources.list"
	cat >"$vm_cache/apt/apt.conf" <<-EOF
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Dir::Etc::SourceList "$vm_cache/apt/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::State::Lists "$vm_cache/apt/lists";
		Dir::State::status "$vm_cache/apt/status";
		Dir::State::extended_states "$vm_cache/apt/extended_states";
		Dir::Cache "$vm_cache/apt";
		Dir::Cache::archives "$vm_cache/apt/archives";
		Debug::NoLocking "true";
	EOF
}

vm_apt() { APT_CONFIG=$vm_cache/apt/apt.conf apt-get -qq "$@"; }

vm_apt_update() {
	vm_apt update >&2 || vm_say "could not refresh the package lists; going on with those at hand"
}

# vm_fetch PACKAGE...: prints the .deb files of the packages and of all they depend on, once they are in the cache.
vm_fetch() {
	local file files
	files=$(vm_apt --simulate install "$@" | awk '
		$1 == "Inst" {
			version = substr($3, 2); gsub(":", "%3a", version)
			match($0, /\[[a-z0-9]+\]/); arch = substr($0, RSTART + 1, RLENGTH - 2)
			print $2 "_" version "_" arch ".deb"
		}')
	[ -n "$files" ] || vm_die "apt cannot resolve the guest's packages"
	vm_apt --assume-yes --download-only install "$@" >&2 || vm_die "apt cannot download the guest's packages"
	for file in $files; do
		[ -s "$vm_cache/apt/archives/$file" ] || vm_die "apt did not download $file"
		echo "$vm_cache/apt/archives/$file"
	done
}
