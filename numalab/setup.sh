#!/bin/sh
# Fetches the guest's kernel and builds its disk; the packages of packages.txt must be there.
# Where that fails the lab's tests skip with the reason (or fail: HEARTH_REQUIRE=numa).
cd "$(dirname "$0")/.." || exit 1
.venv/bin/python -m numalab setup || echo "numalab: its tests will skip" >&2
