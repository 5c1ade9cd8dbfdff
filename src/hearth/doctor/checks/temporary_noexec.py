"""Libraries for compression (zstd, Snappy) and JNA unpack native code into Java's temporary
directory and run it there.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.java import temporary_of


def _look(machine: Machine) -> Outcome:
    folder = temporary_of(machine)
    mount = machine.tree.mount_of(folder)
    if "noexec" not in mount.options:
        return Fine(f"{folder}: programs may run there")
    return Problem(
        f"{folder} is mounted noexec",
        "/proc/self/mountinfo",
        "harm",
        command="--conf spark.driver.extraJavaOptions=-Djava.io.tmpdir=DIRECTORY, and of "
        "executors; "
        f"mount -o remount,exec {mount.point}; docker run --tmpfs {mount.point}:exec",
    )


CHECK = Check(
    _look,
    group="files",
    better="a temporary directory without noexec",
    source="JNA: jna.tmpdir; Elasticsearch: executable JNA temporary directory",
    touches="whoever writes there can run what they wrote",
)
