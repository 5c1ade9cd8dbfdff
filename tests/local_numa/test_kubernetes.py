"""Spark on Kubernetes with hearth, in a real cluster of one node."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from application import Outcome, Site
from test_shuffle_wire import assert_right, counted, need_ucx

from hearth.machine.paths import hearth_jar, spark_home
from kubernetes_cluster import ADDRESS, IMAGE, SERVER, Cluster, kubernetes_in
from support import JUCX, ROOT, TWO_CPUS, validate

pytestmark = pytest.mark.spark

# What the entry point of Spark's own image does for an executor.
EXECUTOR = """
mapfile -t options < <(env | sed -n 's/^SPARK_JAVA_OPT_[0-9]*=//p')
exec "$JAVA_HOME/bin/java" "${options[@]}" \\
    "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \\
    -cp "$SPARK_CLASSPATH:$SPARK_HOME/jars/*" \\
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \\
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" \\
    --cores "$SPARK_EXECUTOR_CORES" --app-id "$SPARK_APPLICATION_ID" \\
    --hostname "$SPARK_EXECUTOR_POD_IP" --podName "$SPARK_EXECUTOR_POD_NAME" \\
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID"
"""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with kubernetes_in(tmp_path_factory.mktemp("kubernetes") / "cluster") as cluster:
        yield cluster


@pytest.fixture
def cluster(started: Cluster) -> Iterator[Cluster]:
    """Without pods of other tests."""
    yield started
    started.kubectl("delete", "pods", "--all", "--now")


def java_home() -> Path:
    java = shutil.which("java")
    assert java is not None
    return Path(os.environ.get("JAVA_HOME") or Path(java).resolve().parents[1])


def pod(site: Site, **spec: Any) -> Path:
    """The template of a pod that sees this machine's programs and the site, as an image would."""
    places = ["/usr", "/bin", "/lib", "/lib64", "/etc", sys.prefix, sys.base_prefix]
    places += [str(place) for place in (ROOT, spark_home(), java_home(), JUCX.parent, site.root)]
    mounted = sorted(place for place in set(places) if Path(place).exists())
    volumes = {f"place-{number}": place for number, place in enumerate(mounted)}
    mounts = [
        {"name": name, "mountPath": place, "readOnly": place != str(site.root)}
        for name, place in volumes.items()
    ]
    mapped = [{"name": name, "hostPath": {"path": place}} for name, place in volumes.items()]
    command = ["/bin/bash", "-c", EXECUTOR]
    container = {"name": "executor", "command": command, "volumeMounts": mounts}
    template = {"apiVersion": "v1", "kind": "Pod"}
    file = site.root / "pod.json"
    file.write_text(
        json.dumps({**template, "spec": {"containers": [container], "volumes": mapped, **spec}})
    )
    return file


def run(
    site: Site, cluster: Cluster, template: Path, *words: str, app: str = "wire.py", **settings: Any
) -> Outcome:
    """An application with two executors, its driver beside the cluster."""
    everywhere: dict[str, Any] = {
        **counted(site),
        "spark__kubernetes__container__image": IMAGE,
        "spark__kubernetes__container__image__pullPolicy": "Never",
        "spark__kubernetes__executor__podTemplateFile": str(template),
        "spark__kubernetes__executor__request__cores": "0.1",
        "spark__kubernetes__executor__deleteOnTermination": "false",  # for its log
        "spark__kubernetes__executor__apiPollingInterval": "1s",
        "spark__jars": f"{hearth_jar()},{JUCX}" if JUCX.is_file() else str(hearth_jar()),
        "spark__executorEnv__UCX_LOG_LEVEL": "error",
        "spark__executorEnv__JAVA_HOME": str(java_home()),
        "spark__executorEnv__SPARK_HOME": str(spark_home()),
        "spark__executor__instances": "2",
        "spark__executor__memory": "512m",
        "spark__scheduler__minRegisteredResourcesRatio": "1",
        "spark__scheduler__maxRegisteredResourcesWaitingTime": "120s",
    }
    within = (*cluster.client, f"SPARK_LOCAL_IP={ADDRESS}")
    options = {**everywhere, **settings}
    return site.run(app, *words, master=f"k8s://{SERVER}", within=within, timeout=400, **options)


def test_pods_shuffle_over_the_wire_and_a_deleted_one_is_recovered(
    site: Site, cluster: Cluster
) -> None:
    report = assert_right(run(site, cluster, pod(site), "kill"))
    assert (report["tcp"], report["ucx"], report["handed_over"]) == (report["remote"], 0, 0)
    assert report["right_after_kill"] and report["lost"]
    assert cluster.said("come over hearth's wire, by tcp")
    assert site.leftovers() == []


def test_pods_that_share_memory_but_no_network_speak_tcp_and_bind_their_communication_threads(
    site: Site, cluster: Cluster
) -> None:
    """UCX's shared memory would reach, but wakes nobody in another network namespace."""
    need_ucx()
    outcome = run(
        site,
        cluster,
        pod(site, hostIPC=True),
        spark__authenticate="true",
        spark__plugins="io.hearth.plugin.AffinityPlugin",
        spark__hearth__affinity="policy=o2ntc:1",
    )
    report = assert_right(outcome)
    assert (report["tcp"], report["ucx"], report["handed_over"]) == (report["remote"], 0, 0)
    assert cluster.said("by tcp as UCX cannot reach the peer: it is in another network namespace")
    bound = cluster.said("hearth-affinity: o2ntc:1, eth0 (it carries the default route;")
    assert len(bound) == 2, "one line for each executor"
    assert site.leftovers() == []


def test_pods_in_the_nodes_namespaces_shuffle_over_shared_memory(
    site: Site, cluster: Cluster
) -> None:
    need_ucx()
    outcome = run(
        site,
        cluster,
        pod(site, hostIPC=True, hostPID=True, hostNetwork=True),
        spark__blockManager__port="0",  # else both want the same of the node
        spark__shuffle__readHostLocalDisk="false",  # one host, but not the same directories
    )
    report = assert_right(outcome)
    assert (report["ucx"], report["tcp"], report["handed_over"]) == (report["remote"], 0, 0)
    assert cluster.said("come over hearth's wire, by ucx")
    assert site.leftovers() == []


def of_the_plugin(
    site: Site, cluster: Cluster, **settings: Any
) -> tuple[dict[str, dict[str, Any]], set[tuple[str, str]], Path]:
    """What the plugin reports, by CPUs; the masks of JVMs and their workers; where leases lie."""
    leases = site.root / "leases"
    leases.mkdir()
    leases.chmod(0o1777)
    outcome = run(
        site,
        cluster,
        pod(site),
        json.dumps({}),
        app="inside.py",
        spark__plugins="io.hearth.plugin.BindingPlugin",
        spark__executorEnv__HEARTH_LEASES=str(leases),
        **settings,
    )
    assert outcome.code == 0, outcome.log[-4000:]
    (said,) = json.loads(outcome.output)
    (report,) = (site.root / "state" / "bindings").iterdir()
    document = json.loads(report.read_text())
    validate("binding", document)
    held = {each["cpus"]: each for each in document["executors"]}
    return held, {(threads, python) for _, threads, python, _ in said["seen"]}, leases


@pytest.mark.usefixtures("two_cpus")
def test_the_plugin_binds_pods_to_different_cpus_by_leases_in_a_directory_of_the_node(
    site: Site, cluster: Cluster
) -> None:
    held, masks, _ = of_the_plugin(site, cluster)
    assert held.keys() == {str(cpu) for cpu in TWO_CPUS}
    assert masks == {(cpus, cpus) for cpus in held}
    assert [each["state"] for each in held.values()] == ["bound", "bound"]


@pytest.mark.usefixtures("two_cpus")
def test_a_pod_that_the_kubelet_gave_a_cpu_of_its_own_is_left_on_it_and_takes_no_lease(
    site: Site, cluster: Cluster
) -> None:
    held, masks, leases = of_the_plugin(
        site,
        cluster,
        spark__executor__instances="1",
        spark__kubernetes__executor__request__cores="1",
        spark__kubernetes__executor__limit__cores="1",
    )
    own = str(max(TWO_CPUS))  # the kubelet keeps the other one
    assert {cpus: each["state"] for cpus, each in held.items()} == {own: "narrowed"}
    assert masks == {(own, own)}
    assert [*leases.iterdir()] == []
