#!/bin/sh
# Builds a Kubernetes for the tests (tests/kubernetes_cluster.py) into .cache/kubernetes, from Go's
# module proxy: its servers, etcd, and the plug-ins for the network of pods. Quick when it is there.
#
# usage: tools/kubernetes.sh
#
# Needs Go of 1.24 or later, 10 minutes of CPU time and 5 GB of disk, 400 MB of which stay. GOMODCACHE and
# GOCACHE name the places of what Go keeps, which may be removed afterwards.
set -eu
cd "$(dirname "$0")/.."

kubernetes=1.34.4 # of those whose kubelet takes a machine with control groups of version 1 as it is
staging=v0.${kubernetes#*.}
plugins=v1.7.1
programs="kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl"
home=$PWD/.cache/kubernetes
made="$kubernetes $plugins 1"

say() { printf 'kubernetes: %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

find_go() { command -v go || { [ -x /usr/local/go/bin/go ] && echo /usr/local/go/bin/go; }; }

# The published module has no staging directory: what it replaces comes from modules of their own.
module() {
    original=$("$go" mod download -json "k8s.io/kubernetes@v$kubernetes" |
        sed -n 's/^[[:space:]]*"GoMod": "\(.*\)",\{0,1\}$/\1/p')
    cat <<END
module hearth.test/kubernetes

go 1.24.0

godebug default=go1.24

require k8s.io/kubernetes v$kubernetes

replace (
$(sed -n "s|^[[:space:]]*\(k8s.io/[a-z0-9-]*\) => \./staging/.*|\1 => \1 $staging|p" "$original")
)
END
}

build() { CGO_ENABLED=0 "$go" build -mod=mod -trimpath -ldflags "$flags" -o "$home/" "$@"; }

build_programs() {
    module >module # beside no go.mod, which `go mod download` would read
    mv module go.mod
    version=k8s.io/component-base/version
    minor=${kubernetes#*.}
    flags="-s -w -X $version.gitVersion=v$kubernetes -X $version.gitMajor=${kubernetes%%.*} -X $version.gitMinor=${minor%.*}"
    for program in $programs; do
        say "building $program"
        build "k8s.io/kubernetes/cmd/$program"
    done
    build go.etcd.io/etcd/server/v3 # of the version that Kubernetes names; Debian's lacks what watches need
    mv "$home/server" "$home/etcd"
}

build_plugins() {
    source=github.com/containernetworking/plugins
    printf 'module hearth.test/network\n\ngo 1.24.0\n\nrequire %s %s\n' $source $plugins >go.mod
    flags='-s -w'
    build $source/plugins/main/bridge $source/plugins/main/loopback $source/plugins/ipam/host-local
}

# One image for all: a program that waits, as each pod has one, and else what is mounted.
build_image() {
    mkdir -p pause layer/tmp
    cat >pause/main.go <<'END'
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
END
    (cd pause && CGO_ENABLED=0 GO111MODULE=off "$go" build -ldflags '-s -w' -o ../layer/pause main.go)
    chmod 1777 layer/tmp
    tar --owner=0 --group=0 --numeric-owner -cf layer.tar -C layer .
    sum=$(sha256sum layer.tar | cut -d' ' -f1)
    printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/pause"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
        "$("$go" env GOARCH)" "$sum" >config.json
    printf '[{"Config":"config.json","RepoTags":["hearth.test/empty:1"],"Layers":["layer.tar"]}]' >manifest.json
    tar -cf "$home/image.tar" manifest.json config.json layer.tar
}

[ "$(cat "$home/made" 2>/dev/null)" != "$made" ] || exit 0
go=$(find_go) || fail "Go is missing: go.dev/dl has it"
rm -rf "$home"
mkdir -p "$home/build/network"
cd "$home/build"
build_image
(cd network && build_plugins)
build_programs
cd "$home"
rm -rf build
echo "$made" >made
say "ready: $home"
