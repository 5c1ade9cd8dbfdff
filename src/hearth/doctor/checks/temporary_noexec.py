"""Libraries for compression (zstd, Snappy) and JNA unpack native code into Java's temporary
directory and run it there.
"""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.java import temporaries_of


def _look(machine: Machine) -> Outcome:
    mounts = {
        (folder, whose): machine.tree.mount_of(folder)
        for folder, whose in temporaries_of(machine).items()
    }
    bad = {place: mount.point for place, mount in mounts.items() if "noexec" in mount.options}
    if not bad:
        return Fine("; ".join(f"{folder}: programs may run there" for folder, _ in mounts))
    confs = [
        f"--conf spark.{who}.extraJavaOptions=-Djava.io.tmpdir=DIRECTORY"
        for who in ("driver", "executor")
        if any(who in whose for _, whose in bad)
    ]
    point = next(iter(bad.values()))
    return Problem(
        "; ".join(f"{folder} of {whose} is mounted noexec" for folder, whose in bad),
        "/proc/self/mountinfo",
        "harm",
        command=f"{' '.join(confs)}; "
        f"mount -o remount,exec {point}; docker run --tmpfs {point}:exec",
    )


CHECK = Check(
    _look,
    group="files",
    better="a temporary directory without noexec",
    source="JNA: jna.tmpdir; Elasticsearch: executable JNA temporary directory",
    touches="whoever writes there can run what they wrote",
)
