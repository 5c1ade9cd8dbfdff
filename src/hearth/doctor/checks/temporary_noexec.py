"""Libraries for compression and JNA unpack native code into the temporary directory and run it
there.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    folder = machine.the_own().temporary
    mount = machine.tree.mount_of(folder)
    if "noexec" not in mount.options:
        return Fine(f"{folder}: programs may run there")
    return Problem(
        f"{folder} is mounted noexec",
        "/proc/self/mountinfo",
        "harm",
        command="--conf spark.driver.extraJavaOptions=-Djava.io.tmpdir=DIRECTORY, and of "
        "executors; "
        f"or mount -o remount,exec {mount.point}",
    )


CHECK = Check(
    _look,
    group="files",
    better="a temporary directory without noexec",
    source="JNA: jna.tmpdir; Elasticsearch: executable JNA temporary directory",
    touches="whoever writes there can run what they wrote",
)
