package io.hearth.core.topology

import org.scalatest.funsuite.AnyFunSuite

/** What a job's environment says that it was given, system by system. */
class BatchLimitsTest extends AnyFunSuite {
  private val slurm = Map("SLURM_JOB_ID" -> "4711")
  private val pbs = Map("PBS_JOBID" -> "7.head")
  private val lsf = Map("LSB_JOBID" -> "7")
  private val sge = Map("SGE_TASK_ID" -> "undefined")
  private val hub = Map("JUPYTERHUB_USER" -> "ada")

  private def read(environment: Map[String, String]) =
    new BatchLimits(environment.get, Some("node7.cluster.org")).all

  /** An environment, and its limits as `NAME=CPUs`, `NAME=bytes` or `NAME ignored`. */
  private val table: Vector[(Map[String, String], Vector[String])] = Vector(
    Map("SLURM_CPUS_ON_NODE" -> "4", "NSLOTS" -> "2", "MEM_LIMIT" -> "1") -> Vector.empty,
    slurm -> Vector.empty,
    (slurm ++ Map(
      "SLURM_CPUS_ON_NODE" -> "2",
      "SLURM_CPUS_PER_TASK" -> "1",
      "SLURM_NTASKS" -> "2"
    )) ->
      Vector("SLURM_CPUS_ON_NODE=2.0"),
    (slurm + ("SLURM_CPUS_PER_TASK" -> "8")) -> Vector("SLURM_CPUS_PER_TASK=8.0"),
    (slurm + ("SLURM_MEM_PER_NODE" -> "4096")) -> Vector(s"SLURM_MEM_PER_NODE=${4L << 30}"),
    (slurm + ("SLURM_MEM_PER_NODE" -> "0")) -> Vector.empty,
    (slurm ++ Map("SLURM_CPUS_ON_NODE" -> "4", "SLURM_MEM_PER_CPU" -> "1024")) ->
      Vector("SLURM_CPUS_ON_NODE=4.0", s"SLURM_MEM_PER_CPU x 4=${4L << 30}"),
    (slurm + ("SLURM_MEM_PER_CPU" -> "1024")) -> Vector("SLURM_MEM_PER_CPU ignored"),
    (slurm ++ Map("SLURM_CPUS_ON_NODE" -> "72(x2),36", "SLURM_MEM_PER_NODE" -> "4G")) ->
      Vector("SLURM_CPUS_ON_NODE ignored", "SLURM_MEM_PER_NODE ignored"),
    (slurm + ("SLURM_MEM_PER_NODE" -> s"${Long.MaxValue}")) -> Vector("SLURM_MEM_PER_NODE ignored"),
    (pbs + ("NCPUS" -> "16")) -> Vector("NCPUS=16.0"),
    (pbs ++ Map("NCPUS" -> "1", "PBS_NUM_PPN" -> "8")) -> Vector("PBS_NUM_PPN=8.0"),
    (pbs + ("NCPUS" -> "-3")) -> Vector("NCPUS ignored"),
    (lsf ++ Map("LSB_MCPU_HOSTS" -> "node7 12", "LSB_DJOB_NUMPROC" -> "12")) ->
      Vector("LSB_MCPU_HOSTS=12.0"),
    (lsf ++ Map("LSB_MCPU_HOSTS" -> "node6 12 node7 4", "LSB_DJOB_NUMPROC" -> "16")) ->
      Vector("LSB_MCPU_HOSTS=4.0"),
    (lsf + ("LSB_MCPU_HOSTS" -> "node5 12 node6 4")) -> Vector("LSB_MCPU_HOSTS ignored"),
    (lsf + ("LSB_MCPU_HOSTS" -> "node7")) -> Vector("LSB_MCPU_HOSTS ignored"),
    (lsf + ("LSB_DJOB_NUMPROC" -> "6")) -> Vector("LSB_DJOB_NUMPROC=6.0"),
    (sge ++ Map("NSLOTS" -> "6", "NHOSTS" -> "1")) -> Vector("NSLOTS=6.0"),
    (sge ++ Map("NSLOTS" -> "6", "NHOSTS" -> "2")) -> Vector("NHOSTS ignored"),
    (hub ++ Map("CPU_LIMIT" -> "0.5", "MEM_LIMIT" -> s"${2L << 30}")) ->
      Vector("CPU_LIMIT=0.5", s"MEM_LIMIT=${2L << 30}"),
    (hub ++ Map("CPU_LIMIT" -> "NaN", "MEM_LIMIT" -> "2G")) ->
      Vector("CPU_LIMIT ignored", "MEM_LIMIT ignored")
  )

  for ((environment, limits) <- table)
    test(s"${environment.toVector.sorted.map(p => s"${p._1}=${p._2}").mkString(" ")}: $limits") {
      val found = read(environment).map { limit =>
        val value = limit.cpus.map(n => s"=$n") ++ limit.memoryBytes.map(n => s"=$n")
        limit.ignored.foreach(why => assert(why.startsWith("'")))
        s"${limit.name}${value.headOption.getOrElse(" ignored")}"
      }
      assert(found == limits)
    }

  test("they are in the machine's document and come back from it") {
    val limits = read(slurm ++ hub ++ Map("SLURM_CPUS_ON_NODE" -> "x", "CPU_LIMIT" -> "1.5"))
    val machine = Machines.twoNodes.read()
    val limited = machine.copy(allowed = machine.allowed.copy(batch = limits))
    assert(limits.size == 2 && TopologyJson.read(TopologyJson.write(limited)) == limited)
  }
}
