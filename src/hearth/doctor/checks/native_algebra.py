"""Spark ML multiplies matrices in Java unless it finds a native BLAS."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_FOLDERS = (
    "usr/lib",
    "usr/lib64",
    "usr/local/lib",
    "lib",
    "lib64",
    *(f"usr/lib/{a}-linux-gnu" for a in ("x86_64", "aarch64", "powerpc64le")),
)
_NAME = "libblas.so.3"


def _look(machine: Machine) -> Outcome:
    machine.the_own()  # a capture has no libraries
    if machine.workload != "ml":
        return Fine("of interest with --workload ml only")
    if any(machine.tree.has(f"{folder}/{_NAME}") for folder in _FOLDERS):
        return Fine(f"{_NAME} is there")
    return Problem(f"no {_NAME}", "/usr/lib", command="apt-get install libopenblas0")


CHECK = Check(
    _look,
    group="spark",
    better="OpenBLAS or MKL as libblas.so.3, with one thread (OPENBLAS_NUM_THREADS=1)",
    source="Spark: MLlib linear algebra acceleration guide",
    touches="other programs find the library too",
)
