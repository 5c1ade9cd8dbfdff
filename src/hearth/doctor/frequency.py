"""Read how CPUs are clocked (admin-guide/pm/cpufreq)."""

from hearth.doctor.tree import NotSeen, Tree

CPUS = "sys/devices/system/cpu"


def policies(tree: Tree, file: str) -> list[str]:
    """Return the folders of all policies that have a file, by number; raise NotSeen for none.

    Kernels before 3.17 have one below each CPU only.
    """
    shared = f"{CPUS}/cpufreq"
    names = tree.names(shared, r"policy\d{1,6}") if tree.has(shared) else []
    folders = [f"{shared}/{name}" for name in names]
    if not folders:
        folders = [f"{CPUS}/{name}/cpufreq" for name in tree.names(CPUS, r"cpu\d{1,6}")]
    found = [
        folder for folder in folders if tree.has(f"{folder}/{file}") and _is_used(tree, folder)
    ]
    if not found:
        raise NotSeen(f"there is no /{CPUS}/cpu*/cpufreq/{file}")
    return sorted(found, key=lambda folder: int("".join(filter(str.isdigit, folder))))


def _is_used(tree: Tree, folder: str) -> bool:
    """Return whether a CPU is clocked by it; the files of a policy of offline CPUs are not read."""
    told = f"{folder}/affected_cpus"
    try:
        return not tree.has(told) or bool(tree.text(told).strip())
    except NotSeen:
        return False


def share(some: list[str], of: list[str]) -> str:
    """Return how many of them it is; nothing for all."""
    return "" if len(some) == len(of) else f" (of {len(some)} of {len(of)} groups of CPUs)"
