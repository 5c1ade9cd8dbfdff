#!/bin/sh
# All tests. Stops at the first part that fails; pytest comes last, so its summary closes the output.
set -eu
cd "$(dirname "$0")/.."

printf 'test: the JVM side (formatter, compiler warnings, import cycles, ScalaTest)\n'
mvn -B -ntp -Dstyle.color=never -f jvm verify
printf 'test: linters and types of the Python side\n'
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/lint-imports
.venv/bin/mypy
printf 'test: the Python side\n'
.venv/bin/python -m pytest
