#!/bin/sh
# Prepares this checkout from a bare Debian machine. Quick when nothing changed.
#
# usage: tools/setup.sh [test]     `test` adds what only the tests need
#
# With root and apt, missing system packages are installed; otherwise this says exactly what
# to install and stops with exit code 1.
set -eu
cd "$(dirname "$0")/.."
wanted=${1:-run}
unset PYTHONDONTWRITEBYTECODE # what is imported is compiled once

say() { printf 'setup: %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# --- system packages ---------------------------------------------------------------------------

java_home_bin() { [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/$1" ] && echo "$JAVA_HOME/bin/$1"; }

has_jdk() {
    javac=$(java_home_bin javac || command -v javac) || return 1
    major=$("$javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
    [ "${major:-0}" -ge 17 ]
}

# The newest-enough Python that can also make a virtual environment; prints its name.
find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
            2>/dev/null && echo "$name" && return 0
    done
    return 1
}

missing_packages() {
    has_jdk || echo openjdk-17-jdk-headless
    command -v mvn >/dev/null || echo maven
    # bash and procps: what Spark's own start scripts call
    command -v bash >/dev/null || echo bash
    command -v ps >/dev/null || echo procps
    [ -x .venv/bin/python ] || find_python >/dev/null || echo python3-venv
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

apt_install() {
    say "installing with apt: $*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 && return 0
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

system_packages() {
    missing=$(missing_packages | tr '\n' ' ')
    [ -z "$missing" ] && return 0
    can_install || fail "missing: $missing- as root: apt-get install $missing- then run this again"
    # shellcheck disable=SC2086 # a list of package names
    apt_install $missing
    missing=$(missing_packages | tr '\n' ' ')
    [ -z "$missing" ] || fail "still missing after apt-get install: $missing
setup: hearth needs a JDK of 17 or later, Maven, and Python of 3.11 or later with venv"
}

# What only the tests need of the system, a line each where it is missing: "WHO NEEDS IT: PACKAGES".
missing_for_tests() {
    command -v lstopo-no-graphics >/dev/null || command -v lstopo >/dev/null ||
        echo "the comparison with hwloc: hwloc-nox"
    command -v chromium >/dev/null || echo "the tests of the HTML report: chromium fonts-dejavu-core"
    command -v docker >/dev/null && command -v dockerd >/dev/null ||
        echo "the tests of containers, where no engine answers: docker.io"
    ls /usr/lib/*/libucp.so.0 /usr/lib/libucp.so.0 /usr/lib64/libucp.so.0 2>/dev/null | grep -q . ||
        echo "the tests of UCX: libucx0"
    command -v ip >/dev/null || echo "the tests between hosts: iproute2"
}

# Without them the tests skip, visibly (or fail, where HEARTH_REQUIRE says so).
test_packages() {
    missing=$(missing_for_tests)
    [ -n "$missing" ] || return 0
    if can_install; then
        # shellcheck disable=SC2046 # a list of package names
        apt_install $(echo "$missing" | sed 's/.*: //')
    else
        echo "$missing" | while IFS= read -r line; do
            say "${line%: *} will skip; for them, as root: apt-get install ${line#*: }"
        done
    fi
}

# --- stamps: a step is skipped while its inputs have not changed ---------------------------------

fingerprint() { find "$@" -type f -not -path '*/target/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum; }

fresh() { [ -f ".cache/$1.stamp" ] && [ "$(cat ".cache/$1.stamp")" = "$2" ]; }

stamp() { printf '%s' "$2" >".cache/$1.stamp"; }

# --- the steps -----------------------------------------------------------------------------------

python_environment() {
    print=$(fingerprint pyproject.toml tools/constraints.txt)
    fresh python "$print" && [ -x .venv/bin/hearth ] && return 0
    if [ ! -x .venv/bin/python ]; then
        say "making the Python environment .venv"
        "$(find_python)" -m venv .venv
    fi
    say "installing pyspark and the tools into .venv (the first time: some 450 MB)"
    # What is imported is compiled then; compiling it all takes longer.
    DIST_EXTRA_CONFIG=$PWD/tools/wheels.cfg .venv/bin/python -m pip install --quiet \
        --disable-pip-version-check --no-compile --constraint tools/constraints.txt --editable '.[dev]'
    stamp python "$print"
}

# Python processes of the tests' applications need not compile Spark's modules again.
compiled_modules() {
    print=$(cat .cache/python.stamp)$(fingerprint tools/compiled_zip.py)
    fresh compiled_zip "$print" && return 0
    .venv/bin/python -W ignore tools/compiled_zip.py .cache/spark-jars/../python/lib/*.zip
    stamp compiled_zip "$print"
}

# The build compiles against the very jars that run: those of the pyspark package.
spark_jars() {
    jars=$(.venv/bin/python -c 'import importlib.util as u; print(u.find_spec("pyspark").submodule_search_locations[0])')/jars
    [ "$(readlink .cache/spark-jars || true)" = "$jars" ] || ln -sfn "$jars" .cache/spark-jars
}

hearth_jars() {
    print=$(fingerprint jvm)
    fresh jar "$print" && ls src/hearth/jars/hearth-spark_*.jar src/hearth/jars/hearth-workloads_*.jar \
        src/hearth/jars/hearth-wire_*.jar src/hearth/jars/hearth-affinity.jar >/dev/null 2>&1 && return 0
    say "building the jars (the first time Maven fetches its plug-ins)"
    # The first compiler alone: scalac does not run for long enough to earn what the second costs.
    if ! MAVEN_OPTS="-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m ${MAVEN_OPTS:-}" \
        mvn -B -q -T 2 -f jvm package -DskipTests -Dmaven.test.skip=true >.cache/jar.log 2>&1; then
        cat .cache/jar.log >&2
        fail "the jars could not be built"
    fi
    mkdir -p src/hearth/jars
    for jar in jvm/spark/target/hearth-spark_2.13-*.jar jvm/workloads/target/hearth-workloads_2.13-*.jar \
        jvm/wire/target/hearth-wire_2.13-*.jar jvm/affinity/target/hearth-affinity.jar; do
        cp "$jar" "src/hearth/jars/.$(basename "$jar").part"
        name=$(basename "$jar")
        rm -f "src/hearth/jars/${name%%_*}"_*.jar
        mv "src/hearth/jars/.$(basename "$jar").part" "src/hearth/jars/$(basename "$jar")"
    done
    stamp jar "$print"
}

# The charting library that a page of the report contains.
page_library() {
    print=$(fingerprint tools/page_library.py)
    fresh page_library "$print" && [ -s src/hearth/report/html/lib/echarts.min.js ] && return 0
    .venv/bin/python tools/page_library.py src/hearth/report/html/lib ||
        fail "the charting library could not be fetched"
    stamp page_library "$print"
}

# The tests' JVMs live for seconds: with the first compiler alone they take a third less CPU time. An
# option inside the JDK itself is seen by no test, and reaches the executors that hearth starts.
test_jdk() {
    javac=$(java_home_bin javac || command -v javac)
    users=$(dirname "$(dirname "$(readlink -f "$javac")")")
    print="$users $(cat "$users/release")"
    fresh test-jdk "$print" && [ -x .cache/test-jdk/bin/java ] && return 0
    say "making the tests' JDK .cache/test-jdk"
    rm -rf .cache/test-jdk
    if "$users/bin/jlink" --add-modules ALL-MODULE-PATH --add-options=-XX:TieredStopAtLevel=1 \
        --no-man-pages --no-header-files --output .cache/test-jdk >.cache/test-jdk.log 2>&1 &&
        .cache/test-jdk/bin/java -Xshare:dump >>.cache/test-jdk.log 2>&1; then
        # the certificates that the system has added to Java's own
        cp -L "$users/lib/security/cacerts" .cache/test-jdk/lib/security/cacerts
        printf '%s' "$users" >.cache/test-jdk/made-from
        stamp test-jdk "$print"
    else
        rm -rf .cache/test-jdk
        say "the tests take longer, on $users: no JDK could be made for them (.cache/test-jdk.log)"
    fi
}

# What a pom of tools/ lists, into .cache under its name, of the version of Hadoop's client that Spark
# ships. $2: what it is, $3: what skips without it
hadoop_jars() {
    version=$(basename .cache/spark-jars/hadoop-client-api-*.jar .jar)
    version=${version#hadoop-client-api-}
    print="$version $(fingerprint "tools/$1/pom.xml")"
    fresh "$1" "$print" && [ -d ".cache/$1" ] && return 0
    say "fetching $2"
    rm -rf ".cache/$1"
    if mvn -B -q -f "tools/$1" -Dhadoop.version="$version" dependency:copy-dependencies \
        -DoutputDirectory="$PWD/.cache/$1" >".cache/$1.log" 2>&1; then
        stamp "$1" "$print"
    else
        rm -rf ".cache/$1"
        say "$3 will skip: they could not be fetched (.cache/$1.log)"
    fi
}

test_machines() {
    [ ! -d numalab ] || .venv/bin/python -m numalab setup ||
        say "the tests inside an emulated NUMA machine will skip, for the reason above"
}

# Waits for what runs beside the rest: one thing at a time.
beside_ends() { wait $! || fail "stopped, for the reason above"; }

trap wait EXIT # whatever ends this, what runs beside it ends first
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p .cache
system_packages
if [ "$wanted" = test ]; then
    test_packages &
    python_environment
    beside_ends
    page_library
    spark_jars
    { test_jdk && compiled_modules && test_machines; } &
    hearth_jars
    hadoop_jars hadoop-servers "Hadoop's servers" "the tests of HDFS and YARN"
    hadoop_jars hadoop-tests "Hadoop's own tests (70 MB)" "Hadoop's own tests"
    beside_ends
else
    python_environment
    page_library
    spark_jars
    hearth_jars
fi
# The first call makes the class-data archive that later ones start from.
.venv/bin/hearth topology >/dev/null
say "ready: .venv/bin/hearth"
