# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
for part in nvmet blocks nvme; do . "/job/guest/lib/$part.bash"; done
