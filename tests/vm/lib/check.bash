# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# One line per check, and the count of them.

passed=0 failed=0 skipped=0

# check NAME FUNCTION [ARG]...: runs it in a shell of its own where the first failing command ends it; exit status 77 is a skip. The last line it
# printed of its own is the reason.
check() {
	! unwanted "$1" || return 0
	setup "$@"
}

# The same for what the later checks stand on: runs always.
setup() {
	local name=$1 log=$logs/log status reason
	shift
	( shopt -s inherit_errexit; set -eE; trap 'name_failed "$BASH_COMMAND"' ERR; "$@" ) >"$log" 2>&1
	status=$?
	reason=$(grep -vE '^(failed: .*|exit status [0-9]+ in the guest|NQN:.* disconnected [0-9]+ controller.*|)$' "$log" | tail -n 1 | cut -c 1-200)
	: "${reason:=$(head -n 1 "$log" | cut -c 1-200)}"
	case $status in
	0) passed=$((passed + 1)); echo "ok $name" ;;
	77) skipped=$((skipped + 1)); echo "skip $name - $reason" ;;
	*) failed=$((failed + 1)); echo "not ok $name - ${reason:-exit status $status}"; sed "s|^|$name: |" "$log" >&2 ;;
	esac
}

# The first line of it.
name_failed() { echo "failed: ${1%%$'\n'*}" >&2; }

unwanted() {
	local pattern
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053 # a pattern is meant
		[[ $1 != $pattern ]] || return 1
	done
}

# Their words go where $(...) does not catch them.
skip() { echo "$*" >&2; exit 77; }
fail() { echo "$*" >&2; exit 1; }

# same WHAT WANTED GOT
same() { [ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"; }

# has TEXT PIECE: the piece is in the text.
has() { [[ $1 == *"$2"* ]] || { printf '%s\n' "$1" >&2; fail "no '$2' in this output"; }; }

check_summary() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
}
