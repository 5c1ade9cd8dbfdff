"""A real Kubernetes of one node, in namespaces of its own: its network, mounts and processes.

What it binds, mounts, starts and filters is seen nowhere else, and is gone with the last of its
processes; its control groups are removed here.
"""

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from support import ROOT, eventually, require

BUILT = ROOT / ".cache" / "kubernetes"
IMAGE = "hearth.test/empty:1"
#: The node's, on the network of its pods.
ADDRESS = "10.88.0.1"
SERVER = f"https://{ADDRESS}:6443"
_NODE = "node"
_CONTAINERD = "unix:///run/containerd/containerd.sock"
# Process 1 ends when its input does, whatever ends the tests; waiting for `cat`, it reaps orphans.
# The kubelet sets the kernel as it wants it, for all: here it finds that done.
_MACHINE = f"""
set -e
cd "$0"
mkdir lib log run kernel
for place in lib log; do mount --bind $place /var/$place; done
mount --bind run /run
while read -r name value; do
    echo $value >kernel/${{name##*/}}
    mount --bind kernel/${{name##*/}} /proc/sys/$name
done <<END
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END
ip link set lo up
ip link add pods type bridge
ip addr add {ADDRESS}/16 dev pods
ip link set pods up
echo ready
cat >/dev/null
exit
"""
_USERS = {
    "admin": "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
    f"system:node:{_NODE}": "system:nodes",
}


@dataclass(frozen=True)
class Cluster:
    """`client` is how a command runs in its network, as one who may do all there."""

    root: Path
    client: tuple[str, ...]

    def kubectl(self, *words: str) -> str:
        """What it says; nothing where it fails, and why is in its log."""
        command = [*self.client, str(BUILT / "kubectl"), *words]
        with (self.root / "kubectl.log").open("a") as log:
            return subprocess.run(
                command, stdout=subprocess.PIPE, stderr=log, text=True, check=False
            ).stdout

    def said(self, text: str) -> list[str]:
        """Lines with this text from containers whose pods have not been deleted."""
        logs = (self.root / "log" / "pods").glob("*/*/*.log")
        return [line for log in logs for line in log.read_text().splitlines() if text in line]


@contextmanager
def kubernetes_in(root: Path) -> Iterator[Cluster]:
    """Everything that it writes lies below `root`, which it makes."""
    check()
    root.mkdir()
    servers: list[subprocess.Popen[bytes]] = []
    with ExitStack() as running:
        group = running.enter_context(control_group())
        running.callback(lambda: [server.wait() for server in servers])
        machine = f"/proc/{running.enter_context(machine_in(root))}/ns"
        network = ["nsenter", f"--net={machine}/net"]
        inside = [*network, f"--mount={machine}/mnt", f"--pid={machine}/pid_for_children"]
        configuration = write_users(root)
        write_settings(root, group)
        cluster = Cluster(root, (*network, "env", f"KUBECONFIG={configuration}"))

        def start(commands: dict[str, list[str]]) -> None:
            for name, words in commands.items():
                log = running.enter_context((root / f"{name}.log").open("wb"))
                command = [*inside, *words]
                servers.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))

        start(first(root))
        eventually(f"the API answers; see {root}", lambda: answers(cluster))
        take_image(root, inside)
        start(others(root))
        await_node(cluster)
        yield cluster


def check() -> None:
    """Skips the test where there can be no cluster."""
    if not (BUILT / "made").is_file():
        require("kubernetes", f"{BUILT} is missing: run `tools/kubernetes.sh`")
    tools = ("containerd", "runc", "ip", "iptables", "nsenter", "unshare", "openssl")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        require("kubernetes", f"it needs root; not on the path: {missing}")


@contextmanager
def machine_in(root: Path) -> Iterator[int]:
    """The process whose namespaces they are. When it ends, all in them has ended."""
    words = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*words, "sh", "-c", _MACHINE, root], stdin=pipe, stdout=pipe) as machine:
        assert machine.stdin is not None and machine.stdout is not None
        assert machine.stdout.readline() == b"ready\n", "namespaces cannot be made here"
        yield machine.pid


@contextmanager
def control_group() -> Iterator[str]:
    """The name of a group in each hierarchy, below which the kubelet makes those of pods."""
    top = Path("/sys/fs/cgroup")
    unified = (top / "cgroup.controllers").exists()
    hierarchies = [top] if unified else [path.parent for path in top.glob("*/cgroup.procs")]
    name = f"hearth-{secrets.token_hex(3)}"
    groups = [hierarchy / name for hierarchy in hierarchies]
    try:
        for group in groups:
            group.mkdir()
            for file, share in (("cpu.shares", "4096"), ("cpu.weight", "400")):
                if (group / file).exists():  # of the CPUs, as some processes outside groups
                    (group / file).write_text(share)
        yield name
    finally:
        for group in groups:
            eventually(f"{group} is empty", partial(removed, group))


def removed(group: Path) -> bool:
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            Path(folder).rmdir()
        except OSError:  # its last process is still ending
            return False
    return True


def write_users(root: Path) -> Path:
    """A token and a configuration for each; the key of service accounts. Yields the admin's."""
    tokens = []
    for name, group in _USERS.items():
        token = secrets.token_hex(16)
        tokens.append(f"{token},{name},{name},{group}\n")
        cluster = {"server": SERVER, "certificate-authority": str(root / "pki" / "apiserver.crt")}
        context = {"cluster": "tests", "user": name}
        configuration = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "tests", "context": context}],
            "current-context": "tests",
        }
        configuration_of(root, name).write_text(json.dumps(configuration))
    (root / "tokens.csv").write_text("".join(tokens))
    key = ["openssl", "genrsa", "-out", str(root / "accounts.key"), "2048"]
    subprocess.run(key, check=True, capture_output=True)
    return configuration_of(root, "admin")


def configuration_of(root: Path, user: str) -> Path:
    return root / f"{user.rsplit(':', 1)[-1]}.kubeconfig"


def write_settings(root: Path, group: str) -> None:
    """Those of the kubelet, containerd and the network of pods."""
    kubelet = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{group}",
        "containerRuntimeEndpoint": _CONTAINERD,
        # A pod that asks for whole CPUs, and for as much as it may have, gets them for itself.
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": str(min(os.sched_getaffinity(0))),
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%"},
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,
        "protectKernelDefaults": True,
    }
    (root / "kubelet.json").write_text(json.dumps(kubelet))
    (root / "containerd.toml").write_text(f"""
version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{IMAGE}"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{BUILT}"
conf_dir = "{root}/network"
""")
    bridge = {
        "type": "bridge",
        "bridge": "pods",
        "isDefaultGateway": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "subnet": "10.88.0.0/16", "gateway": ADDRESS},
    }
    (root / "network").mkdir()
    network = {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}
    (root / "network" / "pods.conflist").write_text(json.dumps(network))


def first(root: Path) -> dict[str, list[str]]:
    """The command lines of the servers that need no other to start."""
    return {
        "etcd": [str(BUILT / "etcd"), f"--data-dir={root}/etcd"],
        "containerd": ["containerd", f"--config={root}/containerd.toml"],
        "apiserver": [
            str(BUILT / "kube-apiserver"),
            "--etcd-servers=http://127.0.0.1:2379",
            f"--cert-dir={root}/pki",
            f"--advertise-address={ADDRESS}",
            "--service-cluster-ip-range=10.89.0.0/24",
            f"--token-auth-file={root}/tokens.csv",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={root}/accounts.key",
            f"--service-account-signing-key-file={root}/accounts.key",
        ],
    }


def others(root: Path) -> dict[str, list[str]]:
    """The command lines of those that ask the API."""

    def own(name: str, user: str, *words: str) -> list[str]:
        return [str(BUILT / name), f"--kubeconfig={configuration_of(root, user)}", *words]

    return {
        "controller-manager": own(
            "kube-controller-manager",
            "system:kube-controller-manager",
            "--leader-elect=false",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={root}/accounts.key",
            f"--root-ca-file={root}/pki/apiserver.crt",
        ),
        "scheduler": own("kube-scheduler", "system:kube-scheduler", "--leader-elect=false"),
        "kubelet": own(
            "kubelet",
            f"system:node:{_NODE}",
            f"--config={root}/kubelet.json",
            f"--hostname-override={_NODE}",
            f"--node-ip={ADDRESS}",
            f"--cert-dir={root}/kubelet-pki",
        ),
    }


def answers(cluster: Cluster) -> bool:
    made = (cluster.root / "pki" / "apiserver.crt").exists()
    return made and cluster.kubectl("get", "--raw", "/readyz") == "ok"


def take_image(root: Path, inside: list[str]) -> None:
    listens = root / "run" / "containerd" / "containerd.sock"
    eventually(f"containerd listens; see {root}", listens.exists)
    words = ["ctr", "--namespace", "k8s.io", "images", "import", str(BUILT / "image.tar")]
    subprocess.run([*inside, *words], check=True, capture_output=True, timeout=60)


def await_node(cluster: Cluster) -> None:
    def made() -> bool:
        names = cluster.kubectl("get", "--output=name", f"node/{_NODE}", "serviceaccount/default")
        return len(names.split()) == 2

    eventually(f"the node registers; see {cluster.root}", made)
    ready = ["wait", "--for=condition=Ready", f"node/{_NODE}", "--timeout=60s"]
    assert cluster.kubectl(*ready), f"the node is not ready: see {cluster.root}"
