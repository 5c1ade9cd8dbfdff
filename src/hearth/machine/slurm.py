"""The SLURM job within which this process runs: sbatch(1), output environment variables."""

from collections.abc import Mapping

from hearth.base.ids import show_ids


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
    given = [environment.get(key, "") for key in ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE")]
    asked = next((int(text) for text in given if text.isdigit()), None)
    if asked is None or asked >= len(allowed):
        return f"{what}: planned for its CPUs, {show_ids(allowed)}"
    return (
        f"{what} was given {asked} CPUs but may use {len(allowed)} ({show_ids(allowed)}), because "
        f"SLURM does not bind it: keep to them with taskset, or ask for --cores {asked}"
    )
