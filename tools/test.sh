#!/bin/sh
# The tests, or one tier of them. Stops at the first part that fails; pytest takes longest, so its
# summary closes the output.
#
# usage: tools/test.sh all|check|command|spark|lab|hadoop|versions|fuzz
set -eu
cd "$(dirname "$0")/.."

# Tests make tens of thousands of small files. Where it can be had, /tmp is memory for them, seen by
# nobody else, and gone with the last process: on a disk each file can cost a millisecond of CPU time.
# HEARTH_OWN_TMP=off: they stay in the machine's /tmp, to be looked at afterwards.
# A checkout below /tmp would be hidden by it.
case "$PWD/" in /tmp/*) HEARTH_OWN_TMP=${HEARTH_OWN_TMP:-off} ;; esac
if [ -z "${HEARTH_OWN_TMP:-}" ] && unshare --mount mount -t tmpfs none /tmp 2>/dev/null; then
    export HEARTH_OWN_TMP=1
    exec unshare --mount sh -c 'mount -t tmpfs -o mode=1777 none /tmp && exec "$0" "$@"' tools/test.sh "$@"
fi
# Without compiled modules each of a thousand Python processes would compile pandas and hearth again.
unset PYTHONDONTWRITEBYTECODE
tier=${1:-all}

# Maven by the first compiler alone: it does not run for long enough to earn what the second costs.
export MAVEN_OPTS="-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m ${MAVEN_OPTS:-}"
linters= jvm= python= # the processes that run

# Parts run beside each other, as each waits at times: pytest here, each other one in a process group
# of its own, so that it ends as a whole. Whatever ends this script ends them all first.
beside() {
    part=$1
    shift
    echo "test: beside what follows: $part, shown when it ends (.cache/$part.log)"
    setsid "$@" >".cache/$part.log" 2>&1 &
    trap end_all EXIT
    trap 'python=; exit 130' INT # Ctrl-C has reached pytest too, which a second one would cut short
    trap 'exit 143' TERM
}

begin_linters() {
    beside linters tools/lint.sh python
    linters=$!
}

begin_jvm() {
    beside jvm mvn -B -ntp -Dstyle.color=never -T 2 -f jvm verify
    jvm=$!
}

end_all() {
    for group in $linters $jvm; do kill -- "-$group" 2>/dev/null || true; done
    kill $python 2>/dev/null || true
    wait
    linters= jvm= python=
}

# A failure ends the other parts, and is shown last.
finish() {
    part=$1 code=0
    wait "$2" || code=$?
    [ $code = 0 ] || end_all
    printf '\ntest: %s\n' "$3"
    cat ".cache/$part.log"
    [ $code = 0 ] && return
    printf '\ntest: what failed there\n'
    grep -A 3 -E '\*\*\* (FAILED|ABORTED) \*\*\*|A fatal error has been detected|SIG[A-Z]+ \(|\[ERROR\] .*\.(java|scala):' \
        ".cache/$part.log" | tail -n 60
    exit $code
}

# What was begun, and pytest with the words given.
all_parts() {
    python_tests "$@" &
    python=$!
    finish linters "$linters" 'linters and types of the Python side'
    linters= # another process may have its number soon
    if [ -n "$jvm" ]; then
        finish jvm "$jvm" 'the JVM side (formatter, compiler warnings, import cycles, ScalaTest)'
        jvm=
        printf '%s' "$print" >.cache/jvm-passed.stamp
    fi
    code=0
    wait "$python" || code=$?
    trap - EXIT INT TERM
    return $code
}

# All that the JVM side reads, as one number; whether it has passed on that.
jvm_has_passed() {
    print=$(find jvm contract fixtures docs/configuration.md -type f -not -path '*/target/*' -print0 |
        sort -z | xargs -0 sha256sum | sha256sum)
    [ "$(cat .cache/jvm-passed.stamp 2>/dev/null)" = "$print" ]
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

# The suites that try generated values, by comma.
seeded_suites() {
    grep -rlE 'with Seeded|Seeded\.first' jvm/core/src/test/scala --include='*Test.scala' |
        sed 's|.*/scala/||; s|\.scala$||; s|/|.|g' | paste -sd,
}

case $tier in
all)
    tests_jdk
    begin_linters
    jvm_has_passed || true # here it runs whatever has changed
    begin_jvm
    archives
    all_parts
    ;;
check)
    tests_jdk
    begin_linters
    if jvm_has_passed; then
        printf 'test: the JVM side is as it was when it last passed\n'
    else
        begin_jvm
    fi
    all_parts -m unit
    ;;
versions)
    tests_jdk
    files=tests/local_numa
    scala=test_ways_in.py::test_a_spark_connect_prompt_in_scala_whose_classes_reach_the_executors
    HEARTH_VERSIONS=all python_tests $files/test_versions.py $files/test_two_machines.py $files/$scala
    ;;
fuzz)
    HEARTH_SEED=${HEARTH_SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')} # 24 bits
    export HEARTH_SEED HEARTH_FUZZ="${HEARTH_FUZZ:-500}" HEARTH_PROPERTIES="${HEARTH_PROPERTIES:-1000}"
    printf 'test: HEARTH_SEED=%s, %s damages of each file, %s machines of each kind\n' \
        "$HEARTH_SEED" "$HEARTH_FUZZ" "$HEARTH_PROPERTIES"
    tests_jdk
    mvn -B -q -ntp -Dstyle.color=never -f jvm -pl core -am test -DwildcardSuites="$(seeded_suites)"
    python_tests tests/damage/test_damaged_files.py
    ;;
hadoop | command | spark | lab)
    tests_jdk
    archives
    if [ "$tier" = hadoop ]; then python_tests tests/hdfs/test_hadoops_own.py; else python_tests -m "$tier"; fi
    ;;
*)
    printf "test: '%s' is no tier: use all, check, command, spark, lab, hadoop, versions or fuzz\n" "$tier" >&2
    exit 2
    ;;
esac
