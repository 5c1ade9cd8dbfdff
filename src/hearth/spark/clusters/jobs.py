"""An application as one job: Slurm's batch script, and a SparkApplication of Spark's own operator.

Fields of the latter: docs/spark_custom_resources.md of apache/spark-kubernetes-operator 1.0.
"""

import shlex
from collections.abc import Mapping, Sequence

from hearth.base.ids import parse_ids
from hearth.base.sizes import counted
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology
from hearth.spark.clusters.kubernetes import whole_cpus
from hearth.spark.clusters.shape import Layout, spark_defaults

#: Of a job's memory, what a plan takes (Pools.UsablePercent on the JVM side).
_USABLE_PERCENT = 90


def batch_script(plan: Plan, machine: Topology, options: Sequence[str]) -> str:
    """Return a script for sbatch(1); options: with which `hearth submit` plans the same there."""
    cpus = {cpu for one in plan.executors for cpu in parse_ids(one.cpus)}
    slots = sum(one.task_slots for one in plan.executors)
    what = "one JVM" if plan.is_native else counted(len(plan.executors), "executor")
    whole = cpus == set(parse_ids(machine.cpus))
    memory_mb = -(-plan.memory_mb * 100 // _USABLE_PERCENT)
    # A whole node is not asked for by its CPUs: Slurm may count its cores instead.
    part = [f"--cpus-per-task={len(cpus)}", f"--mem={memory_mb}M"]
    asked = ["--nodes=1", "--ntasks=1", *(["--exclusive", "--mem=0"] if whole else part)]
    return "\n".join(
        [
            "#!/bin/bash",
            f"# {what} with {counted(slots, 'task slot')}: "
            f"{'a whole node' if whole else counted(len(cpus), 'CPU')}.",
            "# sbatch THIS_FILE my_job.py ARGUMENTS",
            *(f"#SBATCH {option}" for option in asked),
            f'exec {shlex.join(["hearth", "submit", *options])} "$@"',
            "",
        ]
    )


def spark_application(layout: Layout, conf: Mapping[str, str], version: str) -> str:
    """Return the resource; version: of Spark, whose image it names."""
    shape = layout.shape
    settings = {
        "spark.kubernetes.container.image": f"apache/spark:{version}-python3",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
        **spark_defaults(shape, len(layout.nodes), layout.plan, conf),
        **whole_cpus(shape),
    }
    amount = f'{{cpu: "{shape.cpus}", memory: {shape.container_mb}Mi}}'
    lines = "\n".join(f"    {key}: {_quoted(value)}" for key, value in settings.items())
    return f"""\
# For one machine: multiply spark.executor.instances by the number of such machines. Their kubelets
# need what 'hearth plan --format kubernetes' prints as kubelet.yaml: without it nothing is bound.
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata:
  name: my-job
spec:
  # Of Scala or Java: jars: with the jar's URL, and mainClass:
  pyFiles: "local:///opt/spark/work-dir/my_job.py"
  runtimeVersions:
    sparkVersion: "{version}"
  sparkConf:
{lines}
  executorSpec:
    podTemplateSpec:
      spec:
        containers:
          - name: spark-kubernetes-executor
            resources:
              requests: {amount}
              limits: {amount}
"""


def _quoted(value: str) -> str:
    """Return a YAML scalar in single quotes, in which only these have a meaning."""
    return "'" + value.replace("'", "''") + "'"
