#!/bin/sh
# Builds what a release publishes: the wheel with the jars inside, and a Maven repository with the
# jars for Spark and for the wire, their sources and their documentation.
# docs/development.md#making-a-release says what follows.
#
# usage: tools/dist.sh all|wheel|maven [FOLDER]     `maven` leaves the documentation out
set -eu
cd "$(dirname "$0")/.."
wanted=${1:-all}
out=${2:-dist}
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/hearth/__init__.py)

wheel() {
    mkdir -p build/man
    .venv/bin/python tools/manual.py man >build/man/hearth.1
    # What setuptools left of an earlier build would be packed again. build/ holds other things too.
    rm -rf build/lib build/bdist.* "$out"/hearth_spark-*.whl
    .venv/bin/python -m pip wheel --quiet --disable-pip-version-check \
        --no-deps --no-build-isolation --wheel-dir "$out" .
    rm -rf build/lib build/bdist.*
}

# The jars need nothing but Spark, so their POM names no dependency. Those that they are built with
# name Spark's jars by their paths, which nobody else could resolve.
maven() {
    rm -rf "$out/maven"
    artifact spark affinity core spark
    artifact wire wire
}

# Usage: artifact NAME MODULE...: its jar, its POM and the modules' sources
artifact() {
    name=hearth-$1_2.13
    file=$(folder "$1")/$name-$version
    mkdir -p "$(folder "$1")"
    cp "jvm/$1/target/$name-$version.jar" "$file.jar"
    sed "s/@NAME@/$name/; s/@VERSION@/$version/" jvm/release-pom.xml >"$file.pom"
    shift
    for module in "$@"; do
        for sources in "jvm/$module"/src/main/java "jvm/$module"/src/main/scala; do
            [ ! -d "$sources" ] || set -- "$@" -C "$sources" .
        done
        shift
    done
    jar --create --file "$file-sources.jar" "$@"
}

folder() {
    echo "$out/maven/io/hearth/hearth-$1_2.13/$version"
}

documentation() {
    mvn -B -q -Dstyle.color=never -f jvm -pl core,spark,wire -am compile scala:doc
    for module in core spark wire; do
        mkdir -p "$out/scaladocs/$module"
        cp -r "jvm/$module/target/site/scaladocs/." "$out/scaladocs/$module"
    done
    (cd "$out/scaladocs" && jar --create --file spark.jar core spark && jar --create --file wire.jar wire)
    for name in spark wire; do
        mv "$out/scaladocs/$name.jar" "$(folder $name)/hearth-${name}_2.13-$version-javadoc.jar"
    done
    rm -r "$out/scaladocs"
}

sums() {
    for file in "$out"/maven/io/hearth/*/*/*; do
        sha1sum "$file" | cut -d ' ' -f 1 >"$file.sha1"
    done
}

case $wanted in
all) wheel && maven && documentation && sums ;;
wheel) wheel && exec ls "$out"/hearth_spark-*.whl ;;
maven) maven && sums ;;
*)
    printf "dist: '%s' is nothing to build: use all, wheel or maven\n" "$wanted" >&2
    exit 2
    ;;
esac
find "$out" -type f ! -name '*.sha1' | sort
