#!/bin/sh
# The tests, or one tier of them. Stops at the first part that fails; pytest comes last, so its
# summary closes the output.
#
# usage: tools/test.sh all|check|command|spark|lab|hadoop|versions
set -eu
cd "$(dirname "$0")/.."

# Tests make tens of thousands of small files. Where it can be had, /tmp is memory for them, seen by
# nobody else, and gone with the last process: on a disk each file can cost a millisecond of CPU time.
# HEARTH_OWN_TMP=off: they stay in the machine's /tmp, to be looked at afterwards.
if [ -z "${HEARTH_OWN_TMP:-}" ] && unshare --mount mount -t tmpfs none /tmp 2>/dev/null; then
    export HEARTH_OWN_TMP=1
    exec unshare --mount sh -c 'mount -t tmpfs -o mode=1777 none /tmp && exec "$0" "$@"' tools/test.sh "$@"
fi
# Without compiled modules each of a thousand Python processes would compile pandas and hearth again.
unset PYTHONDONTWRITEBYTECODE
tier=${1:-all}

jvm_says='test: the JVM side (formatter, compiler warnings, import cycles, ScalaTest)'
# Maven by the first compiler alone: it does not run for long enough to earn what the second costs.
export MAVEN_OPTS="-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m ${MAVEN_OPTS:-}"
jvm_verify='mvn -B -ntp -Dstyle.color=never -T 2 -f jvm verify'

jvm() {
    echo "$jvm_says"
    $jvm_verify
}

# Beside what comes next, as each waits at times. Whatever ends this script ends both first.
jvm_begins() {
    echo 'test: the JVM side runs beside what follows, and is shown when it ends (.cache/jvm-tests.log)'
    (exec $jvm_verify) >.cache/jvm-tests.log 2>&1 &
    jvm=$!
    python=
    trap end_both EXIT
    trap 'python=; exit 130' INT # Ctrl-C has reached pytest too, which a second one would cut short
    trap 'exit 143' TERM
}

end_both() {
    kill $python $jvm 2>/dev/null || true
    wait
}

# pytest is begun too, so that a failure of the JVM side ends it.
both_sides() {
    python_tests &
    python=$!
    code=0
    wait "$jvm" || code=$?
    jvm= # another process may have its number soon
    [ $code = 0 ] || end_both # before what is shown last
    printf '\n%s\n' "$jvm_says"
    cat .cache/jvm-tests.log
    [ $code = 0 ] || exit $code
    wait "$python" || code=$?
    trap - EXIT INT TERM
    return $code
}

# `check` leaves it out where nothing that it reads has changed since it last passed.
jvm_where_changed() {
    print=$(find jvm contract fixtures docs/configuration.md -type f -not -path '*/target/*' -print0 |
        sort -z | xargs -0 sha256sum | sha256sum)
    if [ "$(cat .cache/jvm-passed.stamp 2>/dev/null)" = "$print" ]; then
        printf 'test: the JVM side is as it was when it last passed\n'
        return 0
    fi
    jvm
    printf '%s' "$print" >.cache/jvm-passed.stamp
}

python_linters() {
    printf 'test: linters and types of the Python side\n'
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/lint-imports
    .venv/bin/mypy
}

# Where tools/setup.sh has made one; HEARTH_TEST_JDK=off: the users' own.
tests_jdk() {
    if [ "${HEARTH_TEST_JDK:-}" != off ] && [ -f .cache/test-jdk/made-from ]; then
        HEARTH_USERS_JDK=$(cat .cache/test-jdk/made-from)
        JAVA_HOME=$PWD/.cache/test-jdk
        export HEARTH_USERS_JDK JAVA_HOME
    fi
    printf 'test: on the JDK %s\n' "${JAVA_HOME:-of PATH}"
}

# Made once, before tests that would each make them meanwhile; both at a time.
archives() {
    printf 'test: class-data archives for Spark\n'
    archive 'paths.hearth_jar()' &
    other=$!
    archive None
    wait $other
}

archive() {
    .venv/bin/python - <<END
from hearth.spark.cds import driver_flags
from hearth.machine import paths

driver_flags(paths.spark_home(), $1, make=True, debug=True)
END
}

# One worker more than there are cores, as each waits at times; four at most. Nothing comes after it.
python_tests() {
    printf 'test: the Python side\n'
    workers=$(($(nproc) + 1))
    [ "$workers" -le 4 ] || workers=4
    # What a shell runs in the background ignores Ctrl-C.
    exec env --default-signal=INT .venv/bin/python -m pytest --numprocesses "$workers" \
        --dist loadgroup --no-loadscope-reorder "$@"
}

case $tier in
all)
    tests_jdk
    jvm_begins
    python_linters
    archives
    both_sides
    ;;
check)
    export HEARTH_FUZZ="${HEARTH_FUZZ:-8}" # `all` tries 25 damages of each file,
    export HEARTH_PROPERTIES="${HEARTH_PROPERTIES:-30}" # and 100 of each kind of machine
    python_linters
    jvm_where_changed
    tests_jdk
    python_tests -m unit
    ;;
versions)
    tests_jdk
    HEARTH_VERSIONS=all python_tests tests/local_numa/test_versions.py
    ;;
hadoop | command | spark | lab)
    tests_jdk
    archives
    if [ "$tier" = hadoop ]; then python_tests tests/hdfs/test_hadoops_own.py; else python_tests -m "$tier"; fi
    ;;
*)
    printf "test: '%s' is no tier: use all, check, command, spark, lab, hadoop or versions\n" "$tier" >&2
    exit 2
    ;;
esac
