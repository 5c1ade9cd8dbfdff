"""Prepares what the lab needs: the emulator (apt, as root) and a kernel of Debian's (no root).

Everything fetched or built stands in `.cache/numalab` of the project and is made once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
CACHE = PROJECT / ".cache" / "numalab"

KERNEL = "linux-image-cloud-amd64"  # the small flavour: 27 MB, NUMA, cpusets, virtio, ext4
RDMA_KERNEL = "linux-image-amd64"  # the full one: 70 MB, soft-RoCE besides


class LabUnavailableError(Exception):
    """The lab cannot run on this machine; the message says what is missing and what to do."""


def hearth_jar(name: str = "spark") -> Path | None:
    """The one jar that a user needs, or that of the wire, where it has been built."""
    built = [PROJECT / "src" / "hearth" / "jars", PROJECT / "jvm" / name / "target"]
    return next((jar for path in built for jar in sorted(path.glob(f"hearth-{name}_*.jar"))), None)


def find_tool(name: str) -> str | None:
    """The path of a program, also where /usr/sbin is not on PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def missing_packages() -> list[str]:
    """The Debian packages that the lab needs and this machine lacks (see `packages.txt`)."""
    lines = (PROJECT / "numalab" / "packages.txt").read_text(encoding="utf-8").splitlines()
    needed = [line.split() for line in lines if line and not line.startswith("#")]
    return sorted({package for program, package in needed if not find_tool(program)})


def install_tools() -> None:
    """Installs the missing Debian packages.

    Raises LabUnavailableError where that takes root or apt and there is none, naming the packages.
    """
    missing = missing_packages()
    if not missing:
        return
    wish = f"apt-get install --no-install-recommends {' '.join(missing)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise LabUnavailableError(f"numa-lab needs {', '.join(missing)}; as root: {wish}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-qq"], [*wish.split(), "-y", "-qq"]):
        _run(command, environment=environment)


def kernel_directory(package: str = KERNEL) -> Path:
    """The unpacked kernel package; fetched on first use.

    Raises LabUnavailableError where Debian's archive cannot be had through apt.
    """
    if not list((CACHE / package).glob("boot/vmlinuz-*")):
        _fetch_kernel(package)
    return CACHE / package


def kernel_image(package: str = KERNEL) -> Path:
    """The kernel's boot image."""
    return sorted(kernel_directory(package).glob("boot/vmlinuz-*"))[-1]


def _fetch_kernel(package: str) -> None:
    if not shutil.which("apt-get"):
        raise LabUnavailableError(
            f"numa-lab boots Debian's {package} and there is no apt-get to fetch it: unpack "
            f"that package (boot/ and lib/modules/) into {CACHE / package}"
        )
    candidate = _kernel_candidate(package)
    if not candidate and os.geteuid() == 0:
        _run(["apt-get", "update", "-qq"])
        candidate = _kernel_candidate(package)
    if not candidate:
        raise LabUnavailableError(f"apt knows no {package}; is this Debian 12 or later on amd64?")
    staging = CACHE / f"{package}.new"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    _run(["apt-get", "download", "-qq", candidate], directory=staging)
    archive = next(staging.glob("*.deb"))
    _run(["dpkg-deb", "-x", str(archive), str(staging)])
    archive.unlink()
    staging.rename(CACHE / package)


def _kernel_candidate(package: str) -> str | None:
    if not shutil.which("apt-cache"):
        return None
    answer = subprocess.run(
        ["apt-cache", "depends", package], capture_output=True, text=True, check=False
    )
    depends = [line.split(":", 1)[1].strip() for line in answer.stdout.splitlines() if ":" in line]
    return next((name for name in depends if name.startswith("linux-image-")), None)


def _run(
    command: list[str],
    directory: Path | None = None,
    environment: dict[str, str] | None = None,
) -> None:
    """Runs a command. Raises LabUnavailableError with its last words when it fails."""
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise LabUnavailableError(
            f"{' '.join(command)}: exit {done.returncode}: {' | '.join(words)}"
        )
