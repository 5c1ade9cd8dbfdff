#!/bin/sh
# Builds what a release publishes: the wheel with the jars inside, and a Maven repository with the
# jar, its sources and its documentation. docs/development.md#making-a-release says what follows.
#
# usage: tools/dist.sh all|wheel|maven [FOLDER]     `maven` leaves the documentation out
set -eu
cd "$(dirname "$0")/.."
wanted=${1:-all}
out=${2:-dist}
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/hearth/__init__.py)
name=hearth-spark_2.13
folder=$out/maven/io/hearth/$name/$version

manual() {
    mkdir -p build/man
    .venv/bin/python tools/manual.py man >build/man/hearth.1
}

wheel() {
    manual
    # What setuptools left of an earlier build would be packed again. build/ holds other things too.
    rm -rf build/lib build/bdist.* "$out"/hearth_spark-*.whl
    .venv/bin/python -m pip wheel --quiet --disable-pip-version-check \
        --no-deps --no-build-isolation --wheel-dir "$out" .
    rm -rf build/lib build/bdist.*
}

# The jar needs nothing but Spark, so this POM names no dependency. The one that it is built with
# names Spark's jars by their paths, which nobody else could resolve.
maven() {
    rm -rf "$out/maven"
    mkdir -p "$folder"
    cp "jvm/bundle/target/$name-$version.jar" "$folder/"
    sed "s/@VERSION@/$version/" jvm/release-pom.xml >"$folder/$name-$version.pom"
    jar --create --file "$folder/$name-$version-sources.jar" \
        -C jvm/affinity/src/main/java . -C jvm/transport/src/main/java . \
        -C jvm/core/src/main/scala . -C jvm/spark/src/main/scala . \
        -C jvm/shuffle/src/main/scala .
}

documentation() {
    mvn -B -q -Dstyle.color=never -f jvm -pl affinity,transport,core,spark,shuffle compile scala:doc
    rm -rf "$out/scaladocs"
    mkdir "$out/scaladocs"
    for module in core spark shuffle; do
        cp -r "jvm/$module/target/site/scaladocs" "$out/scaladocs/$module"
    done
    jar --create --file "$folder/$name-$version-javadoc.jar" -C "$out/scaladocs" .
    rm -r "$out/scaladocs"
}

sums() {
    for file in "$folder"/*; do
        sha1sum "$file" | cut -d ' ' -f 1 >"$file.sha1"
    done
}

case $wanted in
all) wheel && maven && documentation && sums ;;
wheel) wheel ;;
maven) maven && sums ;;
*)
    printf "dist: '%s' is nothing to build: use all, wheel or maven\n" "$wanted" >&2
    exit 2
    ;;
esac
find "$out" -type f ! -name '*.sha1' | sort
