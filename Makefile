# SPDX-License-Identifier: BSD-3-Clause
# The few commands one types.  Meson does the work; what is missing on the machine is installed first (scripts/deps).
BUILD ?= build
PREFIX ?= /usr/local
SECONDS ?= 60
MESON_FLAGS ?=

.PHONY: all demo check check-vm install fuzz bench format clean

all: ; @scripts/build "$(BUILD)" -Dprefix="$(PREFIX)" $(MESON_FLAGS)

demo: all ; @"$(BUILD)/nvof" demo

check: ; @tests/run quick

check-vm: ; @tests/run vm

fuzz: ; @tests/run --seconds "$(SECONDS)" fuzz

bench: all ; @scripts/deps bench && bench/run

install: all ; @meson install -C "$(BUILD)" --no-rebuild

format: ; @scripts/deps format && git ls-files '*.c' '*.h' | xargs clang-format -i

clean: ; @rm -rf build build-asan build-tsan build-fuzz
