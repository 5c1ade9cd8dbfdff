#!/bin/sh
# The tests, or one tier of them. Stops at the first part that fails; pytest comes last, so its
# summary closes the output.
#
# usage: tools/test.sh all|check|spark|lab
set -eu
cd "$(dirname "$0")/.."
tier=${1:-all}

jvm() {
    printf 'test: the JVM side (formatter, compiler warnings, import cycles, ScalaTest)\n'
    mvn -B -ntp -Dstyle.color=never -f jvm verify
}

python_linters() {
    printf 'test: linters and types of the Python side\n'
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/lint-imports
    .venv/bin/mypy
}

python_tests() {
    printf 'test: the Python side\n'
    .venv/bin/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadgroup "$@"
}

case $tier in
all)
    export HEARTH_PROPERTIES="${HEARTH_PROPERTIES:-300}" # `check` takes a third of that
    jvm
    python_linters
    python_tests
    ;;
check)
    jvm
    python_linters
    python_tests -m unit
    ;;
spark | lab) python_tests -m "$tier" ;;
*)
    printf "test: '%s' is no tier: use all, check, spark or lab\n" "$tier" >&2
    exit 2
    ;;
esac
