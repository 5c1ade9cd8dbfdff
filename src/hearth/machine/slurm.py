"""The SLURM job within which this process runs: sbatch(1), output environment variables."""

from collections.abc import Mapping

from hearth.base.ids import show_ids
from hearth.base.sizes import counted, show_mb


def slurm_job(environment: Mapping[str, str], allowed: set[int]) -> str | None:
    """Return a line about the job; allowed: the CPUs that this process may use.

    SLURM binds a job to its CPUs only where it is set up so (task/cgroup, task/affinity): otherwise
    the plan has more of them than the job was given.
    """
    number = environment.get("SLURM_JOB_ID")
    if not number:
        return None
    name = environment.get("SLURM_JOB_NAME")
    what = f"SLURM job {number}{f' ({name})' if name else ''}"
    # srun may have started several tasks, of which this is one; else the job is for this one.
    several = environment.get("SLURM_STEP_NUM_TASKS", "1") != "1"
    given = environment.get("SLURM_CPUS_PER_TASK" if several else "SLURM_CPUS_ON_NODE", "")
    if not given.isdigit() or int(given) >= len(allowed):
        return f"{what}: planned for its CPUs, {show_ids(allowed)}"
    return (
        f"{what} was given {counted(int(given), 'CPU')} but may use {len(allowed)} "
        f"({show_ids(allowed)}), because SLURM does not bind it: use taskset to keep to as many, "
        f"or --executors 1 --cores {given}"
    )


def slurm_memory(environment: Mapping[str, str], planned_mb: int) -> str | None:
    """Return a line where a plan takes more than the job's memory on this node.

    SLURM limits a job's memory only where it is set up so (task/cgroup): then the plan knows the
    limit. Sizes are in MB, and 0 is all of the node's.
    """
    number = environment.get("SLURM_JOB_ID")
    names = ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE")
    texts = [environment.get(name, "") for name in names]
    of_node_mb, of_cpu_mb, cpus = (int(text) if text.isdigit() else 0 for text in texts)
    given_mb = of_node_mb or of_cpu_mb * cpus
    if not number or not given_mb or planned_mb <= given_mb:
        return None
    return (
        f"SLURM job {number} was given {show_mb(given_mb)} of memory on this node, and the plan "
        f"takes {show_mb(planned_mb)}: SLURM may end it; give --memory with less, or sbatch --mem "
        "with more"
    )
