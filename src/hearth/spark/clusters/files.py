"""Which files a cluster needs for a machine's plan, as one text."""

from dataclasses import replace

from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.machine import jvm, paths
from hearth.machine.plan import Plan, PlanRequest
from hearth.machine.topology import Topology
from hearth.record.machine_settings import spark_version
from hearth.spark.clusters.jobs import batch_script, spark_application
from hearth.spark.clusters.kubernetes import best_layout, kubernetes_files, system_cpus
from hearth.spark.clusters.shape import Layout
from hearth.spark.clusters.standalone import standalone_files
from hearth.spark.clusters.yarn import yarn_files


def cluster_text(request: PlanRequest, cluster: str, debug: bool = False) -> str:
    """Return the configuration of a cluster's kind for a machine; raise UserError where none fits.

    Each file begins with a line `### NAME`.
    """
    layout, reserved = _layout(request, cluster, debug)
    shown = Redaction.of(request.settings)
    conf = shown.settings(request.settings)
    if cluster == "kubernetes":
        files = kubernetes_files(layout, conf, reserved)
    else:
        files = (yarn_files if cluster == "yarn" else standalone_files)(layout, conf)
    return "\n".join(f"### {name}\n{shown.text(text)}" for name, text in files.items())


def job_text(request: PlanRequest, job: str, debug: bool = False) -> str:
    """Return the one file of a job's kind; raise UserError where nothing fits."""
    shown = Redaction.of(request.settings)
    if job == "sparkapp":
        # Its program is in Python: Spark then gives containers more beside the heap.
        layout, _ = _layout(replace(request, python=True), "kubernetes", debug)
        conf, version = shown.settings(request.settings), spark_version(paths.spark_home())
        return shown.text(spark_application(layout, conf, version))
    plan = jvm.plan({**request.document(), "with_topology": True}, debug)
    words = shown.words(_options(request))
    return batch_script(plan, typed(plan.topology, Topology), words)


def _options(request: PlanRequest) -> list[str]:
    """Return the options of `hearth submit` that a request stands for."""
    names = ("input", "workload", "executors", "cores", "memory", "bind", "engine")
    given = [(f"--{name}", getattr(request, name)) for name in names]
    given.append(("--reserve-cpus", request.occupied))
    given += [("--conf", f"{key}={value}") for key, value in request.conf.items()]
    return [str(word) for name, value in given if value is not None for word in (name, value)]


def _layout(request: PlanRequest, cluster: str, debug: bool) -> tuple[Layout, str]:
    """Return the executors of a machine, and the CPUs that a cluster keeps for everything else.

    Raises UserError where nothing fits.
    """
    if request.bind not in (None, "node"):
        raise UserError(
            f"--bind: {request.bind} cannot be expressed for {cluster}: leave it out, or use "
            "--format conf with the master local-numa"
        )
    plan = jvm.plan({**request.document(), "with_topology": True}, debug)
    machine = typed(plan.topology, Topology)
    if cluster == "kubernetes":
        return _kubernetes(request, plan, machine, debug)
    layout = Layout.of(plan, machine)
    assert layout is not None, "a plan has executors"
    return layout, ""


def _kubernetes(
    request: PlanRequest, plan: Plan, machine: Topology, debug: bool
) -> tuple[Layout, str]:
    reserved = request.occupied or system_cpus(machine)
    reduced: Plan | UserError | None = None
    if request.occupied is None:
        (reduced,) = jvm.plans([replace(request, occupied=reserved).document()], debug)
    layout = best_layout(plan, reduced if isinstance(reduced, Plan) else None, machine, reserved)
    if layout is None:
        why = f": {reduced}" if reduced else ""
        raise UserError(
            f"--format: kubernetes keeps CPUs {reserved} for the kubelet and other pods, and no "
            f"executor fits beside them{why}: give --occupied with other CPUs"
        )
    return layout, reserved
