# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests use them
# SPDX-License-Identifier: BSD-3-Clause
# What functional tests share.  A test is a bash script named after the fact it checks:
#
#	. "$(dirname "$0")/lib.sh"
#	requires_transport tcp rdma loop
#	start_target --ns mem:64M
#	run nvof id-ns "${conn[@]}"
#	succeeds; has "$out" 'nsze'
#
# Environment, set by meson: NVOF the tool, TR the transport to test (tcp, rdma, loop).  Exit status 77 is a skip, the last line its reason.
# tests/vm runs those for rdma in a guest that has a device.
# The first command that fails ends the test.

set -uE
NVOF=${NVOF:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/nvof}
TR=${TR:-tcp}
work=$(mktemp -d "${TMPDIR:-/tmp}/nvof-test.XXXXXX")
nqn=nqn.2026-11.org.example:nvof
# Tests that shall not care about the machine's identity.
hostnqn=nqn.2014-08.org.nvmexpress:uuid:4a1c5f0e-0f5e-4b57-9d4b-6f1f5e0a7a11
addr=127.0.0.1
slow=${SLOW:-1} # how many times longer than usual things may take here
target_pids=()
at_end=() # commands for when all targets have ended
conn=()
out='' err='' status=0

skip() {
	echo "$*"
	exit 77
}

# fail WORDS: says where, shows what is known, ends the test.
fail() {
	echo "$(basename "$0"):${BASH_LINENO[${depth:-0}]}: $*"
	exit 1
}

_failed() {
	echo "$(basename "$0"):$1: failed: $2"
	exit 1
}
trap '_failed $LINENO "$BASH_COMMAND"' ERR
set -e

_clean_up() {
	local code=$? pid command
	trap - ERR
	set +e
	for pid in ${target_pids[@]+"${target_pids[@]}"}; do
		_end_target "$pid" || code=1
	done
	if [ $code -ne 0 ] && [ $code -ne 77 ]; then
		_show
	fi
	for command in ${at_end[@]+"${at_end[@]}"}; do
		eval "$command"
	done
	rm -rf "$work"
	exit $code
}
trap _clean_up EXIT
trap 'exit 143' TERM INT HUP

# The output of the last run and of the targets.
_show() {
	local file
	[ -z "$out" ] || printf '%s\n' "-- stdout of the last command" "$(tail -n 40 <<<"$out")"
	[ -z "$err" ] || printf '%s\n' "-- stderr of the last command" "$(tail -n 60 <<<"$err")"
	for file in "$work"/target.*.err; do
		[ ! -s "$file" ] || { echo "-- stderr of a target"; tail -n 60 "$file"; }
	done
}

# A target that leaks, crashes or does not end within 30 s of SIGTERM fails the test.
_end_target() {
	local pid=$1 i
	kill -TERM "$pid" 2>/dev/null
	for ((i = 0; i < 600; i++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	if kill -0 "$pid" 2>/dev/null; then
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null
		echo "the target did not end within 30 s of SIGTERM"
		return 1
	fi
	wait "$pid" 2>/dev/null
	local ended=$?
	[ $ended -eq 0 ] || { echo "the target ended with status $ended"; return 1; }
}

# requires PROGRAM...
requires() {
	local program
	for program; do
		command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || skip "$program is not installed"
	done
}

# requires_transport NAME...: the test is for these.  Sets addr to where targets listen.
requires_transport() {
	[[ " $* " == *" $TR "* ]] || skip "not for transport $TR"
	[ "$TR" != rdma ] || addr=$(rdma_address) || skip "no RDMA device on this machine"
}

# An IPv4 address of this machine that an RDMA device has: the device lists it as a GID.
rdma_address() {
	local gid
	for gid in /sys/class/infiniband/*/ports/*/gids/*; do
		[[ $(cat "$gid" 2>/dev/null) =~ ^(0000:){5}ffff:(..)(..):(..)(..)$ ]] || continue
		printf '%d.%d.%d.%d' "0x${BASH_REMATCH[2]}" "0x${BASH_REMATCH[3]}" "0x${BASH_REMATCH[4]}" "0x${BASH_REMATCH[5]}"
		return
	done
	return 1
}

# start_target ARG...: a target on a free port (tcp, rdma) or inside each command (loop).  Sets conn to the options that lead to it, and port and
# target_pid if it has a port.  Without --subsys among ARGs its subsystem is $nqn.  LISTEN overrides the address.
start_target() {
	[[ " $* " == *" --subsys "* ]] || set -- --subsys "$nqn" "$@"
	if [ "$TR" = loop ]; then
		conn=(-t loop -n "$nqn" -q "$hostnqn" "$@")
		return
	fi
	start_net_target "$@"
	conn=(-t "$TR" -a "$addr" -s "$port" -n "$nqn" -q "$hostnqn")
}

start_net_target() {
	local n=${#target_pids[@]} i
	rm -f "$work/target.$n.out" # of one that was stopped: what it said is not what the next one says
	"$NVOF" target --listen "${LISTEN:-$TR:$addr:0}" "$@" >"$work/target.$n.out" 2>"$work/target.$n.err" </dev/null &
	target_pid=$!
	target_pids+=("$target_pid")
	for ((i = 0; i < 800; i++)); do
		ready=$(grep -sm 1 '^ready' "$work/target.$n.out" || true)
		[ -z "$ready" ] || break
		kill -0 "$target_pid" 2>/dev/null || break
		sleep 0.05
	done
	[ -n "$ready" ] || depth=1 fail "the target is not ready"
	port=$(grep -oE "$TR:[^ ]*:[0-9]+" <<<"$ready" | head -n 1 | grep -oE '[0-9]+$')
	[ -n "$port" ] || depth=1 fail "no address in the line '$ready'"
}

# stop_target: the last one started; it must end well.
stop_target() {
	local pid=${target_pids[-1]}
	unset 'target_pids[-1]'
	_end_target "$pid" || depth=1 fail "the target did not end well"
}

# run COMMAND ARG...: sets out, err and status.  "nvof" means the tool under test.
run() {
	[ "$1" != nvof ] || set -- "$NVOF" "${@:2}"
	status=0
	timeout "${RUN_TMO:-60}" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	out=$(tr -d '\0' <"$work/out") err=$(tr -d '\0' <"$work/err")
	[ $status -lt 124 ] || depth=1 fail "'$*' ended with status $status"
}

succeeds() { [ "$status" -eq 0 ] || depth=1 fail "exit status $status"; }

# fails [STATUS]
fails() {
	if [ $# -gt 0 ]; then
		[ "$status" -eq "$1" ] || depth=1 fail "exit status $status, wanted $1"
	else
		[ "$status" -ne 0 ] || depth=1 fail "it succeeded"
	fi
}

# same WHAT WANTED GOT
same() { [ "$2" = "$3" ] || depth=1 fail "$1: wanted '$2', got '$3'"; }

# has TEXT PIECE
has() { [[ $1 == *"$2"* ]] || depth=1 fail "no '$2' in '${1:0:400}'"; }
has_not() { [[ $1 != *"$2"* ]] || depth=1 fail "'$2' in '${1:0:400}'"; }

# json EXPRESSION: evaluates a Python expression over the document d in $out.
json() {
	python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1" <<<"$out" || depth=1 fail "cannot evaluate $1"
}

# true_json EXPRESSION
true_json() { [ "$(json "$1")" = True ] || depth=1 fail "not so: $1"; }

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	local end=$((SECONDS + slow * $1 + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || depth=1 fail "never came true: $*"
		sleep 0.05
	done
}

# catches PID SIGNAL: it has begun so far that it ends in its own way.
catches() { [ $((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") >> ($(kill -l "$2") - 1) & 1)) = 1 ]; }

# has_connections N: the target on $port has at least so many, established (01).
has_connections() {
	[ "$TR" = tcp ] || { [ "$(rdma resource show cm_id | grep -c "state CONNECT .*src-addr $addr:$port ")" -ge "$1" ]; return; }
	[ "$(grep -cis "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$port") [0-9A-F]*:[0-9A-F]* 01 " /proc/net/tcp)" -ge "$1" ]
}

# nr_ios: how many reads and writes the target with the control socket $ctl_socket has had.
ctl_socket=$work/ctl
nr_ios() { "$NVOF" target-ctl --control "$ctl_socket" status -o json | awk -F '[:,]' '/"nr_(reads|writes)"/ { n += $2 } END { print n + 0 }'; }

# io_comes: it gets some now.  A host may have its connections and be far from that.
io_comes() {
	local before
	before=$(nr_ios)
	[ "$(nr_ios)" -gt "$before" ]
}

# are_ready N: it has at least so many ctrls, each with all its I/O queues.
are_ready() {
	"$NVOF" target-ctl --control "$ctl_socket" status -o json |
		awk -F '[:,]' -v wanted="$1" '/"nr_io_queues"/ { queues = $2 } /"max_io_queues"/ { all = queues > 0 && queues == $2 } /"ready": true/ { n += all } END { exit n < wanted }'
}

# own_address: targets listen where no other test's do, so that a port which is given up can be had again, and nobody answers there meanwhile.
own_address() { [ "$TR" != tcp ] || addr=127.$((64 + ($$ >> 16 & 63))).$(($$ >> 8 & 255)).$(($$ & 255)); }

# random_file PATH BYTES: data that no other call makes.
random_file() { head -c "$2" /dev/urandom >"$1"; }
