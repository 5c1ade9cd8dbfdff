"""What a plan says of the SLURM job within which it is made."""

from hearth.machine.slurm import slurm_job


def test_outside_slurm_nothing_is_said() -> None:
    assert slurm_job({}, {0, 1}) is None


def test_a_job_is_named_with_the_cpus_that_it_may_use() -> None:
    job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "nightly", "SLURM_CPUS_ON_NODE": "4"}
    assert slurm_job(job, {0, 1, 2, 3}) == "SLURM job 4711 (nightly): planned for its CPUs, 0-3"
    assert slurm_job({"SLURM_JOB_ID": "4711"}, {2}) == "SLURM job 4711: planned for its CPUs, 2"


def test_a_job_that_slurm_does_not_bind_is_told_that_the_plan_has_more_than_it_was_given() -> None:
    job = {"SLURM_JOB_ID": "4711", "SLURM_CPUS_ON_NODE": "2"}
    said = slurm_job(job, set(range(8)))
    assert said is not None
    assert said.startswith("SLURM job 4711 was given 2 CPUs but may use 8 (0-7)")
    assert said.endswith("or --executors 1 --cores 2")


def test_all_tasks_of_a_job_on_this_node_count_where_srun_has_not_started_several() -> None:
    job = {"SLURM_JOB_ID": "4711", "SLURM_CPUS_PER_TASK": "1", "SLURM_CPUS_ON_NODE": "2"}
    assert slurm_job(job, {0, 1}) == "SLURM job 4711: planned for its CPUs, 0-1"
    said = slurm_job({**job, "SLURM_STEP_NUM_TASKS": "2"}, {0, 1})
    assert said is not None
    assert said.startswith("SLURM job 4711 was given 1 CPU but may use 2 (0-1)")
