# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The functional tests that are for RDMA, the same files as outside. On the device of 80-rdma.bash.

rdma_functional() {
	guest "cd /tmp && NVOF=$guest_nvof TR=rdma SLOW=4 timeout -k 5 220 bash /job/files/functional/$1"
}

for file in $(grep -lE '^requires_transport .*\brdma\b' "$vm_dir"/../functional/* | sort); do
	check "rdma/functional/${file##*/}" rdma_functional "${file##*/}"
done
