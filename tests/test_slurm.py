"""What a plan says of the SLURM job within which it is made."""

from hearth.machine.slurm import slurm_job, slurm_memory


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


def test_a_plan_that_takes_more_memory_than_the_job_was_given_is_told_so() -> None:
    node = {"SLURM_JOB_ID": "4711", "SLURM_MEM_PER_NODE": "4096"}
    said = slurm_memory(node, 5120)
    assert said == (
        "SLURM job 4711 was given 4 GB of memory on this node, and the plan takes 5 GB: SLURM may "
        "end it; give --memory with less, or sbatch --mem with more"
    )
    assert slurm_memory(node, 4096) is None
    cpus = {"SLURM_JOB_ID": "4711", "SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_ON_NODE": "2"}
    assert "was given 2 GB" in (slurm_memory(cpus, 4096) or "")
    assert slurm_memory({**node, "SLURM_MEM_PER_NODE": "0"}, 5120) is None, "all of the node's"
    assert slurm_memory({"SLURM_MEM_PER_NODE": "1"}, 5120) is None, "no job"
