"""The SLURM job within which this process runs: sbatch(1), output environment variables."""

from collections.abc import Mapping

from hearth.base.ids import show_ids
from hearth.base.sizes import counted


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
