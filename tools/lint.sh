#!/bin/sh
# Formatting, style, types and import directions of both languages.
#
# usage: tools/lint.sh [python]
set -eu
cd "$(dirname "$0")/.."

.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/lint-imports
.venv/bin/mypy
[ "${1:-}" = python ] || mvn -B -q -Dstyle.color=never -f jvm spotless:check
