#!/bin/sh
# Formatting, style and import directions of both languages.
set -eu
cd "$(dirname "$0")/.."

.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/lint-imports
.venv/bin/mypy
mvn -B -q -Dstyle.color=never -f jvm spotless:check
