# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# A port of 127.0.0.1 that is likely free: who wants it finds out and picks another if not.

# Below the range the kernel takes ports from by itself.
vm_pick_port() { echo $((20000 + (RANDOM * 32768 + RANDOM) % 12000)); }
