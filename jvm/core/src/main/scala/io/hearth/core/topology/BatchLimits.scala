package io.hearth.core.topology

import io.hearth.core.Brief

/**
 * What the batch system or notebook hub of this process has given it of this machine. The kernel need not hold
 * it to that, so a plan does.
 *
 * @param system such as `Slurm`
 * @param name the variable that says so, such as `SLURM_CPUS_ON_NODE`
 * @param cpus CPUs' worth of time
 * @param ignored why the variable is not believed; then it limits nothing
 */
final case class BatchLimit(
    system: String,
    name: String,
    cpus: Option[Double] = None,
    memoryBytes: Option[Long] = None,
    ignored: Option[String] = None
)

/**
 * Reads them from the environment of a job. What a batch system holds its jobs to by control groups or limits of
 * processes (OpenPBS's and LSF's memory, Grid Engine's `h_vmem`) is read from the kernel, and has no variable here.
 *
 *   - Slurm: sbatch(1), srun(1), OUTPUT ENVIRONMENT VARIABLES. Memory is in megabytes; 0 is all of the node's.
 *     `SLURM_CPUS_PER_TASK` is of one task of several, so it counts only where nothing else is told.
 *   - PBS: qsub(1B) of OpenPBS, `NCPUS`; Torque Administrator Guide, "Exported batch environment variables":
 *     `PBS_NUM_PPN`.
 *   - LSF: IBM Spectrum LSF, "Environment variables set for job execution": `LSB_MCPU_HOSTS` has a number of
 *     slots behind the name of each host, `LSB_DJOB_NUMPROC` those of all.
 *   - Grid Engine: qsub(1), `NSLOTS` on all of `NHOSTS` hosts.
 *   - JupyterHub: `jupyterhub.spawner.Spawner`, `cpu_limit` (a number such as 0.5) and `mem_limit` (bytes).
 *
 * @param host the name of this machine, which LSF tells from others
 */
final private[topology] class BatchLimits(
    environment: String => Option[String],
    host: => Option[String]
) {
  import BatchLimits._

  def all: Vector[BatchLimit] = Vector(
    "SLURM_JOB_ID" -> slurm _,
    "PBS_JOBID" -> pbs _,
    "LSB_JOBID" -> lsf _,
    "SGE_TASK_ID" -> gridEngine _,
    "JUPYTERHUB_USER" -> jupyterHub _
  ).flatMap { case (job, limits) => set(job).toVector.flatMap(_ => limits()) }

  private def set(name: String): Option[String] = environment(name).map(_.trim).filter(_.nonEmpty)

  private def slurm(): Vector[BatchLimit] = {
    implicit val system: System = System("Slurm")
    val onNode = count("SLURM_CPUS_ON_NODE")
    def ofEach = onNode.flatMap(_.cpus) match {
      case Some(cpus) => megabytes("SLURM_MEM_PER_CPU", cpus.toLong)
      case None =>
        set("SLURM_MEM_PER_CPU").map(bad("SLURM_MEM_PER_CPU", _, "SLURM_CPUS_ON_NODE is no number"))
    }
    (onNode orElse count("SLURM_CPUS_PER_TASK")).toVector ++
      (megabytes("SLURM_MEM_PER_NODE", 1) orElse ofEach)
  }

  private def pbs(): Vector[BatchLimit] = {
    implicit val system: System = System("PBS")
    (count("PBS_NUM_PPN") orElse count("NCPUS")).toVector
  }

  private def lsf(): Vector[BatchLimit] = {
    implicit val system: System = System("LSF")
    (slotsHere orElse count("LSB_DJOB_NUMPROC")).toVector
  }

  private def gridEngine(): Vector[BatchLimit] = {
    implicit val system: System = System("Grid Engine")
    val hosts = set("NHOSTS").filterNot(_ == "1")
    hosts.fold(count("NSLOTS"))(n => Some(bad("NHOSTS", n, "NSLOTS counts slots of several hosts")))
  }.toVector

  private def jupyterHub(): Vector[BatchLimit] = {
    implicit val system: System = System("JupyterHub")
    val cpus = read("CPU_LIMIT", "a number of CPUs")(
      _.toDoubleOption.filter(n => n > 0 && n <= MostCpus)
    )(n => _.copy(cpus = Some(n)))
    cpus.toVector ++
      read("MEM_LIMIT", "a number of bytes")(whole)(n => _.copy(memoryBytes = Some(n)))
  }

  private def count(name: String)(implicit system: System): Option[BatchLimit] =
    read(name, "a number of CPUs")(cpusIn)(n => _.copy(cpus = Some(n)))

  /** Nothing for 0, which is no limit. */
  private def megabytes(name: String, times: Long)(implicit system: System): Option[BatchLimit] =
    set(name).filterNot(_.matches("0+")).flatMap { _ =>
      val shown = if (times == 1) name else s"$name x $times"
      read(name, "a size in megabytes")(whole(_).filter(_ <= Long.MaxValue / MiB / times))(mb =>
        _.copy(name = shown, memoryBytes = Some(mb * times * MiB))
      )
    }

  private def slotsHere(implicit system: System): Option[BatchLimit] = {
    val name = "LSB_MCPU_HOSTS"
    def short(host: String) = host.takeWhile(_ != '.')
    def slots(text: String): Option[Double] = {
      val pairs = text
        .split("\\s+")
        .toVector
        .grouped(2)
        .collect { case Vector(on, n) => short(on) -> n }
        .toVector
      val here =
        if (pairs.size == 1) pairs else pairs.filter(pair => host.map(short).contains(pair._1))
      here.headOption.flatMap(pair => cpusIn(pair._2))
    }
    read(name, "hosts with a number of slots each, this one among them")(slots)(n =>
      _.copy(cpus = Some(n))
    )
  }

  private def read[A](name: String, what: String)(parse: String => Option[A])(
      limited: A => BatchLimit => BatchLimit
  )(implicit system: System): Option[BatchLimit] = set(name).map { text =>
    parse(text).fold(bad(name, text, s"it is not $what"))(limited(_)(BatchLimit(system.name, name)))
  }

  private def bad(name: String, text: String, why: String)(implicit system: System) =
    BatchLimit(system.name, name, ignored = Some(s"'${Brief(text)}': $why"))
}

private[topology] object BatchLimits {
  private val MiB = 1L << 20
  private val MostCpus = IdSet.MaxId + 1
  final private case class System(name: String)

  def here(tree: SysTree, environment: String => Option[String]): Vector[BatchLimit] =
    new BatchLimits(environment, tree.line("proc/sys/kernel/hostname")).all

  private def whole(text: String): Option[Long] = text.toLongOption.filter(_ > 0)
  private def cpusIn(text: String): Option[Double] =
    whole(text).filter(_ <= MostCpus).map(_.toDouble)
}
