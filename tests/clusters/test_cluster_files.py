"""`hearth plan --format kubernetes|yarn|standalone`, held against what those systems read."""

import functools
import hashlib
import os
import re
import shlex
import subprocess
import urllib.request
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from hearth.base.ids import parse_ids
from hearth.machine import jvm, paths
from hearth.machine.plan import PlanRequest
from hearth.spark.clusters.files import cluster_text, job_text
from support import ROOT, Command, command, require

BIG = "2 sockets, 4 nodes of 128 GB, 6 cores x 8 threads"
TWO = "2 packages, 2 nodes of 256 GB, 32 cores x 2 threads, l3 of 4 cores"
MANY = "2 packages, 16 nodes of 64 GB, 8 cores x 2 threads, x86"
SMALL = "1 node of 16 GB, 4 cores"
WHOLE = "spark.kubernetes.executor.limit.cores"
Files = Mapping[str, str]


@functools.cache
def files(machine: str, cluster: str, **more: Any) -> Files:
    """Return what is printed, by the name of the file."""
    text = cluster_text(PlanRequest(machine, **more), cluster)
    parts = re.split(r"^### (\S+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def defaults(files: Files) -> dict[str, str]:
    lines = files["spark-defaults.conf"].splitlines()
    return dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))


def site(files: Files, name: str = "yarn-site.xml") -> dict[str, str]:
    root = ET.fromstring(files[name])
    return {str(one.findtext("name")): str(one.findtext("value")) for one in root}


def kubelet(machine: str, **more: Any) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(files(machine, "kubernetes", **more)["kubelet.yaml"])
    return read


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What Spark, its Kubernetes client and YARN's NUMA allocator say of two machines' files."""
    servers = ROOT / ".cache" / "hadoop-servers"
    if not any(servers.glob("hadoop-client-minicluster-*.jar")):
        require("hadoop", f"{servers} has no jar: run make setup")
    folders = []
    for number, machine in enumerate((BIG, TWO)):
        for cluster in ("kubernetes", "yarn"):
            folder = tmp_path_factory.mktemp(f"{cluster}{number}")
            for name, text in files(machine, cluster, workload="sql").items():
                (folder / name).write_text(text)
            folders.append(str(folder))
    path = f"{paths.spark_home()}/jars/*:{servers}/*"
    words = [str(paths.java()), "-XX:TieredStopAtLevel=1", "-cp", path]
    program = Path(__file__).with_name("Accepted.java")
    ran = subprocess.run(
        [*words, program, *folders], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [
        line for line in ran.stdout.splitlines() if re.match(r"(pod|template|numa|refused): ", line)
    ]


def test_spark_and_the_kubernetes_api_have_each_name_that_is_printed(accepted: list[str]) -> None:
    assert [line for line in accepted if line.startswith("refused")] == []


def test_spark_makes_pods_whose_requests_equal_their_limits_as_the_template_says(
    accepted: list[str],
) -> None:
    pods = [line.partition(": ")[2] for line in accepted if line.startswith("pod")]
    assert pods == [line.partition(": ")[2] for line in accepted if line.startswith("template")]
    assert len(pods) == 2
    for pod in pods:
        requests, limits = pod.split(" = ")
        assert requests == limits
        assert re.fullmatch(r"\{cpu=\d+, memory=\d+Mi\}", requests)


def test_yarns_allocator_gives_each_executor_and_the_driver_one_numa_node(
    accepted: list[str],
) -> None:
    given = [line for line in accepted if line.startswith("numa")]
    executors = sum(int(defaults(files(each, "yarn", workload="sql"))["spark.executor.instances"])
                    for each in (BIG, TWO))  # fmt: skip
    assert len(given) == executors + 2
    for line in given:
        assert re.fullmatch(r"numa: \[(\d+)\] \[\1\]", line)


@pytest.mark.parametrize("machine", [BIG, TWO, SMALL])
def test_yarn_publishes_each_property_that_is_printed(machine: str) -> None:
    (jar,) = paths.spark_home().glob("jars/hadoop-client-api-*.jar")
    with zipfile.ZipFile(jar) as archive:
        text = archive.read("yarn-default.xml").decode()
        found = files(machine, "yarn")
        (calculator,) = site(found, "capacity-scheduler.xml").values()
        archive.getinfo(f"{calculator.replace('.', '/')}.class")
    published = {str(one.findtext("name")) for one in ET.fromstring(text)}
    for name in site(found):
        described = re.sub(r"numa-awareness\.\d+\.", "numa-awareness.&lt;NODE_ID&gt;.", name)
        assert name in published or f"'{described}'" in text


def test_yarn_nodes_have_room_for_their_executors_and_one_driver() -> None:
    found = site(files(BIG, "yarn"))
    assert "yarn.nodemanager.container-executor.class" not in found  # as of Hadoop 3.4, any does
    prefix = "yarn.nodemanager.numa-awareness"
    nodes = found[f"{prefix}.node-ids"].split(",")
    for what, total in (("memory", "memory-mb"), ("cpus", "cpu-vcores")):
        parts = [int(found[f"{prefix}.{node}.{what}"]) for node in nodes]
        assert sum(parts) == int(found[f"yarn.nodemanager.resource.{total}"])
        assert parts[0] > parts[1] == parts[2] == parts[3]


def test_an_executor_of_several_nodes_turns_yarns_numa_awareness_off() -> None:
    found = files(TWO, "yarn", executors=1)
    assert not any("numa" in name for name in site(found))
    assert "NUMA awareness is left off: executors take several" in found["yarn-site.xml"]


@pytest.mark.parametrize(
    ("machine", "policy"),
    [(BIG, "single-numa-node"), (TWO, "single-numa-node"), (MANY, "best-effort")],
)
def test_the_kubelet_reserves_what_its_memory_manager_counts(machine: str, policy: str) -> None:
    read = kubelet(machine)
    reserved = [int(node["limits"]["memory"][:-2]) for node in read["reservedMemory"]]
    assert sum(reserved) == int(read["kubeReserved"]["memory"][:-2]) + 100  # evictionHard's
    assert read["cpuManagerPolicy"] == "static"
    assert read["memoryManagerPolicy"] == "Static"
    assert read["topologyManagerPolicy"] == policy, "pods of MANY have two nodes"


@pytest.mark.parametrize("machine", [BIG, TWO, MANY, SMALL])
def test_pods_fit_beside_the_reserved_core_and_memory(machine: str) -> None:
    topology = jvm.topology(machine)
    found = files(machine, "kubernetes")
    read, asked = yaml.safe_load(found["kubelet.yaml"]), defaults(found)
    many, cpus = int(asked["spark.executor.instances"]), int(asked[WHOLE])
    reserved = parse_ids(read["reservedSystemCPUs"])
    assert reserved in [parse_ids(core.cpus) for core in topology.cores]
    assert many * cpus <= len(topology.usable_cpus) - len(reserved)
    pod = yaml.safe_load(found["executor.yaml"])["spec"]["containers"][0]["resources"]
    free = sum(node.memory_bytes for node in topology.nodes) * 0.9 / (1 << 20)
    assert many * int(pod["limits"]["memory"][:-2]) <= free


def test_no_place_is_lost_where_a_smaller_executor_uses_more_of_the_machine() -> None:
    one_each = defaults(files(TWO, "kubernetes", executors=2))
    assert (one_each["spark.executor.instances"], one_each[WHOLE]) == ("2", "62")


@pytest.mark.parametrize(
    ("machine", "more", "options"),
    [
        (BIG, {}, {"full-pcpus-only"}),
        (TWO, {}, {"full-pcpus-only", "prefer-align-cpus-by-uncorecache"}),
        (TWO, {"executors": 1}, {"full-pcpus-only", "distribute-cpus-across-numa"}),
        (SMALL, {}, set()),
    ],
)
def test_the_cpu_manager_gets_the_options_that_fit(
    machine: str, more: dict[str, Any], options: set[str]
) -> None:
    assert set(kubelet(machine, **more).get("cpuManagerPolicyOptions", {})) == options


def test_the_topology_manager_is_told_of_more_than_eight_nodes() -> None:
    many = {"max-allowable-numa-nodes": "16", "prefer-closest-numa-nodes": "true"}
    assert kubelet(MANY)["topologyManagerPolicyOptions"] == many
    wide = kubelet(TWO, executors=1)
    assert wide["topologyManagerPolicy"] == "best-effort"
    assert wide["topologyManagerPolicyOptions"] == {"prefer-closest-numa-nodes": "true"}
    assert "topologyManagerPolicy" not in kubelet(SMALL)


def test_occupied_cpus_are_those_that_the_kubelet_reserves() -> None:
    assert kubelet(TWO, occupied="0-1,64-65")["reservedSystemCPUs"] == "0-1,64-65"


@pytest.mark.parametrize("machine", [BIG, MANY, SMALL])
def test_each_executor_has_a_balloon_of_its_cpus_beside_the_reserved_ones(machine: str) -> None:
    found = files(machine, "kubernetes")
    policy = yaml.safe_load(found["balloons.yaml"])
    assert (policy["apiVersion"], policy["kind"]) == ("config.nri/v1alpha1", "BalloonsPolicy")
    reserved = kubelet(machine)["reservedSystemCPUs"]
    assert policy["spec"]["reservedResources"] == {"cpu": f"cpuset:{reserved}"}
    (kind,) = policy["spec"]["balloonTypes"]
    own = defaults(found)
    assert {kind["minCPUs"], kind["maxCPUs"]} == {int(own[WHOLE])}
    assert kind["maxBalloons"] == int(own["spark.executor.instances"])


@functools.cache
def balloons_schema() -> dict[str, Any]:
    """Return the schema that nri-plugins publishes for its policy; no object has further fields."""
    module, version = "github.com/containers/nri-plugins", "v0.10.1"
    digest = "c8dd67391319ba23c7e5a60088c69894f79657e484130a31e3d5d505edba71c9"
    try:
        address = f"https://proxy.golang.org/{module}/@v/{version}.zip"
        with urllib.request.urlopen(address, timeout=60) as answer:
            content = answer.read()
    except OSError as error:
        require("go-proxy", f"{address} does not answer: {error}")
    assert hashlib.sha256(content).hexdigest() == digest
    with zipfile.ZipFile(BytesIO(content)) as archive:
        folder = f"{module}@{version}/config/crd/bases"
        crd = yaml.safe_load(archive.read(f"{folder}/config.nri_balloonspolicies.yaml"))
    (release,) = crd["spec"]["versions"]
    assert release["name"] == "v1alpha1"
    return dict(closed(release["schema"]["openAPIV3Schema"]))


def closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    object_schema = {key: closed(value) for key, value in schema.items()}
    if isinstance(object_schema.get("properties"), dict) and object_schema.get("type") == "object":
        object_schema["additionalProperties"] = False
    if object_schema.get("x-kubernetes-int-or-string"):
        object_schema["type"] = ["integer", "string"]
    if object_schema == {"type": "object"}:  # metadata
        object_schema["additionalProperties"] = True
    return object_schema


@pytest.mark.parametrize("machine", [BIG, SMALL])
def test_the_policy_of_balloons_is_one_by_the_schema_of_its_plugin(machine: str) -> None:
    policy = yaml.safe_load(files(machine, "kubernetes")["balloons.yaml"])
    jsonschema.validate(policy, balloons_schema())
    policy["spec"]["balloonTypes"][0]["minCPU"] = 1
    with pytest.raises(jsonschema.ValidationError, match="'minCPU' was unexpected"):
        jsonschema.validate(policy, balloons_schema())


@pytest.mark.parametrize("machine", [BIG, TWO, MANY, SMALL])
def test_the_kubelet_itself_takes_its_file(machine: str, tmp_path: Path) -> None:
    program = ROOT / ".cache" / "kubernetes" / "kubelet"
    if not program.is_file():
        require("kubernetes", f"{program} is missing: run `tools/kubernetes.sh`")
    said = of_kubelet(program, files(machine, "kubernetes")["kubelet.yaml"], tmp_path)
    assert "strict decoding" not in said
    assert "invalid kubeconfig" in said  # what it reads after its own file
    wrong = "cpuManagerPolicy: static\ncpuManagerPolice: static"
    file = files(machine, "kubernetes")["kubelet.yaml"].replace("cpuManagerPolicy: static", wrong)
    assert 'unknown field \\"cpuManagerPolice' in of_kubelet(program, file, tmp_path)


def of_kubelet(program: Path, text: str, folder: Path) -> str:
    """Return what the kubelet says: it tells where its file is wrong, and ends without a server."""
    file = folder / "kubelet.yaml"
    file.write_text(text)
    words = [program, f"--config={file}", f"--kubeconfig={folder}/none", f"--root-dir={folder}"]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False).stderr


def test_a_standalone_worker_offers_what_its_executors_take() -> None:
    found = files(BIG, "standalone")
    (jar,) = paths.spark_home().glob("jars/spark-core_*.jar")
    with zipfile.ZipFile(jar) as archive:
        known = archive.read("org/apache/spark/deploy/worker/WorkerArguments.class")
    offered = dict(re.findall(r"^(\w+)=(\d+)m?$", found["spark-env.sh"], flags=re.MULTILINE))
    assert all(name.encode() in known for name in offered)
    subprocess.run(["sh", "-n"], input=found["spark-env.sh"], text=True, check=True)
    asked = defaults(found)
    many = len(jvm.plan(PlanRequest(BIG).document()).executors)
    assert int(offered["SPARK_WORKER_CORES"]) == many * int(asked["spark.executor.cores"])
    assert int(offered["SPARK_WORKER_MEMORY"]) == many * int(asked["spark.executor.memory"][:-1])


def test_a_users_java_options_stand_behind_the_plans_own() -> None:
    key = "spark.executor.extraJavaOptions"
    request = PlanRequest(BIG, conf={key: "-Dmy.password=hush -Dmine=1"})
    (line,) = re.findall(f"^{key} (.*)$", cluster_text(request, "yarn"), flags=re.MULTILINE)
    assert line.startswith("-XX:+UseParallelGC ")
    assert line.endswith(" -Dmine=1")
    assert "hush" not in line


@pytest.mark.parametrize("cluster", ["kubernetes", "yarn", "standalone"])
def test_all_memory_that_an_executor_asks_for_is_printed_and_counted(cluster: str) -> None:
    conf = {
        "spark.executor.pyspark.memory": "3000m",
        "spark.driver.memoryOverhead": "6g",
        "spark.yarn.am.memory": "8192",
    }
    request = PlanRequest(BIG, engine="comet", workload="sql", conf=conf)
    text = cluster_text(request, cluster)
    printed = dict(re.findall(r"^(spark\.\S+) (.+)$", text, flags=re.MULTILINE))
    assert conf.items() <= printed.items()
    assert printed["spark.plugins"] == "org.apache.spark.CometPlugin"
    assert printed["spark.shuffle.manager"].endswith("CometShuffleManager")
    keys = ("memory", "memoryOverhead", "pyspark.memory")
    sizes = [printed.get(f"spark.executor.{key}", "0m") for key in keys]
    asked = sum(int(size[:-1]) for size in [*sizes, printed["spark.memory.offHeap.size"]])
    if cluster == "kubernetes":
        assert f"memory: {asked}Mi" in text
    if cluster == "yarn":
        limits = dict(re.findall(r"<name>(.*)</name><value>(.*)</value>", text))
        assert int(limits["yarn.scheduler.maximum-allocation-mb"]) >= asked
        all_mb = int(limits["yarn.nodemanager.resource.memory-mb"])
        assert all_mb - int(printed["spark.executor.instances"]) * asked >= (4 + 6) << 10


def test_a_part_of_a_machine_is_a_job_of_its_cpus_and_of_memory_that_the_plan_takes_a_part_of(
    hearth: Command, tmp_path: Path
) -> None:
    options = ("--executors", "1", "--cores", "1", "--memory", "600m", "--conf", "spark.x=a b")
    alone = ("--conf", "spark.hearth.neighbours=ignore")
    printed = hearth("plan", "--format", "sbatch", "--machine", SMALL, *options, *alone).stdout
    first, *_, last = printed.splitlines()
    assert first == "#!/bin/bash"
    asked = re.findall(r"^#SBATCH (\S+)$", printed, re.MULTILINE)
    assert asked[:3] == ["--nodes=1", "--ntasks=1", "--cpus-per-task=1"]
    assert last.startswith("exec hearth submit --executors 1 ") and last.endswith(' "$@"')
    memory_mb = re.fullmatch(r"--mem=(\d+)M", asked[3])
    assert memory_mb is not None

    # What Slurm then sets makes the same plan there, whatever the machine is like.
    job = tmp_path / "job.sh"
    job.write_text(printed.replace("exec hearth", f"exec {shlex.join(command())}"))
    given = {
        "SLURM_JOB_ID": "7",
        "SLURM_CPUS_ON_NODE": "1",
        "SLURM_MEM_PER_NODE": memory_mb[1],
        "HEARTH_STATE": str(tmp_path / "state"),
    }
    words = ["bash", str(job), "--dry-run", "x.py"]
    environment = {**os.environ, **given}
    ran = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True,
                         timeout=400, check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "--conf 'spark.x=a b'" in ran.stdout
    assert "batch limit SLURM_MEM_PER_NODE = 2.4 GB: " in ran.stderr


def test_a_whole_machine_is_a_job_that_is_alone_on_its_node() -> None:
    asked = re.findall(r"^#SBATCH (\S+)$", job_text(PlanRequest(BIG), "sbatch"), re.MULTILINE)
    assert asked == ["--nodes=1", "--ntasks=1", "--exclusive", "--mem=0"]


@pytest.mark.parametrize("machine", [BIG, SMALL])
def test_sparks_operator_gets_the_executors_that_kubernetes_gets(machine: str) -> None:
    conf = {"spark.x": "it's: #1"}
    found = yaml.safe_load(job_text(PlanRequest(machine, conf=conf), "sparkapp"))
    assert (found["apiVersion"], found["kind"]) == ("spark.apache.org/v1", "SparkApplication")
    settings = found["spec"]["sparkConf"]
    kubernetes = files(machine, "kubernetes", python=True)
    beside = {"spark.kubernetes.container.image", "spark.x",
              "spark.kubernetes.authenticate.driver.serviceAccountName"}  # fmt: skip
    others = {key: value for key, value in settings.items() if key not in beside}
    template = "spark.kubernetes.executor.podTemplateFile"
    assert {**others, template: "executor.yaml"} == defaults(kubernetes)
    assert settings["spark.x"] == "it's: #1"
    version = found["spec"]["runtimeVersions"]["sparkVersion"]
    assert settings["spark.kubernetes.container.image"] == f"apache/spark:{version}-python3"
    (container,) = found["spec"]["executorSpec"]["podTemplateSpec"]["spec"]["containers"]
    assert container == yaml.safe_load(kubernetes["executor.yaml"])["spec"]["containers"][0]
