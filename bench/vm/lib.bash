# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: what the scripts beside this one share.
. /job/guest/lib/all.bash
chmod +x /job/files/nvof
nvof=/job/files/nvof

median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.6g", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
now_ms() { awk '{ printf "%.0f", $1 * 1000 }' /proc/uptime; }
