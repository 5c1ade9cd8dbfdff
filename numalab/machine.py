"""Boots a shape: packs the job, runs QEMU with a time limit, unpacks the evidence."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from numalab import archives, clock, image
from numalab.guest import cable
from numalab.idset import format_ids
from numalab.setup import (
    CACHE,
    KERNEL,
    PROJECT,
    RDMA_KERNEL,
    LabUnavailableError,
    find_tool,
    hearth_jar,
    kernel_image,
)
from numalab.shape import Shape

EVIDENCE_MB = 256
#: Compiled for the cases that run them.
PROGRAMS = {
    "communication": "Talkers.java",
    "wire_over_rdma": "Echo.java",
    "traffic": "Traffic.java",
}
#: Cases that start from archives of Spark's classes.
SPARK_CASES = {
    *("local_numa", "containers", "two_applications", "package_binding", "traffic"),
    "binding_plugin",
}
JVM_CRASH = "A fatal error has been detected by the Java Runtime Environment"
KERNEL_COMMAND_LINE = (
    "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr tsc=reliable "
    "clocksource=tsc no_timer_check nowatchdog random.trust_cpu=on numa_balancing=disable"
)
QEMU = (
    "qemu-system-x86_64",
    "-accel",
    "tcg,thread=multi,tb-size=512",
    "-cpu",
    "max,vendor=GenuineIntel,la57=off,smap=off,smep=off",
    "-machine",
    "pc",
    "-nodefaults",
    "-no-user-config",
    "-display",
    "none",
    "-no-reboot",
)


class GuestFailedError(Exception):
    """The guest did not come to its end; the message holds the end of its console."""


@dataclass(frozen=True)
class Boot:
    """One boot: where its evidence was unpacked, its console, its wall time in seconds."""

    evidence: Path
    console: str
    seconds: float

    def jvm_crashed(self) -> bool:
        """Whether a JVM died of a fault of its own; it then says so on its standard output.

        Seen once: SIGSEGV at the entry of a compiled method of the JDK. Software emulation is the
        suspect, not what ran; that is not proven.
        """
        said = [self.console]
        for output in self.evidence.glob("*/state/applications/*/executors/*/stdout"):
            said.append(output.read_text(errors="replace"))
        return any(JVM_CRASH in text for text in said)


def boot(
    shape: Shape,
    cases: Sequence[str],
    evidence: Path,
    limit_seconds: float,
    flags: Sequence[str] = (),
    further: Mapping[str, object] | None = None,
) -> Boot:
    """Runs the cases in the shape, and unpacks what they collected below `evidence`.

    flags: more of QEMU's. further: more of the job that the cases get.

    Raises LabUnavailableError where something to run it is missing, GuestFailedError where the
    guest is not done after `limit_seconds` (it is killed) or ends without evidence. The console's
    text is left in `evidence/console.log` in every case.
    """
    with tempfile.TemporaryDirectory(prefix="boot.", dir=_cache()) as scratch:
        disks = _Disks.prepare(Path(scratch), shape, cases, "cases", further=further)
        return _boot(disks, evidence, limit_seconds, flags)


def boot_two(
    shape: Shape, cases: Sequence[str], evidence: Path, limit_seconds: float
) -> list[Boot]:
    """Runs the cases in two guests of the shape that a cable joins, on the kernel with soft-RoCE.

    The evidence of each is below `evidence/0` and `evidence/1`; raises as `boot` does.
    """
    with tempfile.TemporaryDirectory(prefix="boot.", dir=_cache()) as scratch:
        guests = []
        for number in (0, 1):
            own = Path(scratch, str(number))
            own.mkdir()
            end = CableEnd(number, Path(scratch))
            guests.append(_Disks.prepare(own, shape, cases, "cases", end))
        with ThreadPoolExecutor(2) as both:
            booting = [
                both.submit(_boot, disks, evidence / str(number), limit_seconds)
                for number, disks in enumerate(guests)
            ]
            return [each.result() for each in booting]


def _boot(disks: _Disks, evidence: Path, limit_seconds: float, flags: Sequence[str] = ()) -> Boot:
    shutil.rmtree(evidence, ignore_errors=True)  # an earlier boot's
    evidence.mkdir(parents=True)
    began = time.monotonic()
    console = _run([*disks.command(), *flags], evidence / "console.log", limit_seconds)
    seconds = time.monotonic() - began
    _unpack(disks.output, evidence, console)
    return Boot(evidence, console, seconds)


def shell(shape: Shape) -> int:
    """An interactive shell in the shape on this terminal; leave it with `exit`."""
    with tempfile.TemporaryDirectory(prefix="boot.", dir=_cache()) as scratch:
        disks = _Disks.prepare(Path(scratch), shape, [], "shell")
        return subprocess.run(disks.command(), check=False).returncode


@dataclass(frozen=True)
class CableEnd:
    """One end, 0 or 1, of a cable between two guests: frames between two sockets in `folder`."""

    number: int
    folder: Path

    def qemu_flags(self) -> list[str]:
        """A network device at this end (QEMU, `-netdev dgram`)."""
        own, other = (self.folder / f"cable-{end}" for end in (self.number, 1 - self.number))
        ends = f"local.type=unix,local.path={own},remote.type=unix,remote.path={other}"
        device = f"virtio-net-pci,netdev=cable,bus=pci.0,mac={cable.mac(self.number)}"
        return ["-netdev", f"dgram,id=cable,{ends}", "-device", device]


@dataclass(frozen=True)
class _Disks:
    """What is attached to the guest: the boot archive, its root disk, the job, the evidence."""

    shape: Shape
    root: Path
    kernel: Path
    boot_archive: Path
    job: Path
    output: Path
    end: CableEnd | None

    @classmethod
    def prepare(
        cls,
        scratch: Path,
        shape: Shape,
        cases: Sequence[str],
        mode: str,
        end: CableEnd | None = None,
        further: Mapping[str, object] | None = None,
    ) -> _Disks:
        output = scratch / "output"
        with output.open("wb") as file:
            file.truncate(EVIDENCE_MB * 2**20)
        job = scratch / "job.tar"
        pack_job(job, shape, cases, mode, end, further)
        kernel = RDMA_KERNEL if end else KERNEL
        archive = image.boot_archive(scratch / "initrd", kernel)
        return cls(shape, image.root_image(), kernel_image(kernel), archive, job, output, end)

    def command(self) -> list[str]:
        qemu = find_tool(QEMU[0])
        if not qemu:
            raise LabUnavailableError(f"numa-lab needs {QEMU[0]}: run `python -m numalab setup`")
        drives = [
            f"file={self.root},format=raw,snapshot=on",
            f"file={self.job},format=raw,readonly=on",
            f"file={self.output},format=raw,cache=unsafe",
        ]
        attached: list[str] = []
        for number, drive in enumerate(drives):
            attached += ["-drive", f"{drive},if=none,id=disk{number}"]
            attached += ["-device", f"virtio-blk-pci,drive=disk{number},bus=pci.0"]
        return [
            qemu,
            *QEMU[1:],
            "-serial",
            "mon:stdio",
            *self.shape.qemu_flags(),
            *(self.end.qemu_flags() if self.end else []),
            "-kernel",
            str(self.kernel),
            "-initrd",
            str(self.boot_archive),
            "-append",
            f"{KERNEL_COMMAND_LINE} {clock.kernel_option()}",
            *attached,
        ]


def environment() -> dict[str, str]:
    """What Spark and its Python workers need to find their parts, here and in the guest alike."""
    venv = image.virtual_environment()
    return {
        "PYTHON": str(venv / "bin" / "python"),
        "PYSPARK_PYTHON": str(venv / "bin" / "python"),
        "PYSPARK_DRIVER_PYTHON": str(venv / "bin" / "python"),
        "JAVA_HOME": str(image.java_home()),
        "SPARK_HOME": str(image.site_packages(venv) / "pyspark"),
        "PYTHONPATH": f"{PROJECT}:{PROJECT / 'src'}",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def _cache() -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE


def pack_job(
    target: Path,
    shape: Shape,
    cases: Sequence[str],
    mode: str,
    end: CableEnd | None = None,
    further: Mapping[str, object] | None = None,
) -> None:
    """Writes what the guest unpacks at its start: the job, hearth, the archives of its classes."""
    jar = hearth_jar()
    venv = image.virtual_environment()
    job = {
        "shape": shape.name,
        "cases": list(cases),
        "cpuset": sorted(shape.cpuset),
        "whole_machine": shape.cpuset == shape.cpus,
        "master": shape.spark.master,
        "executors": shape.spark.executors,
        "control_cpus": format_ids(shape.usable(shape.nodes[1])),
        "jar": str(jar) if jar else "",
        "cable": end.number if end else None,
        **(further or {}),
    }
    variables = {"MODE": mode, "PROJECT": str(PROJECT), **environment()}
    exports = "".join(f"export {k}={shlex.quote(v)}\n" for k, v in variables.items())
    path = f"export PATH={shlex.quote(f'{venv}/bin:{image.java_home()}/bin')}:/usr/bin\n"
    with tarfile.open(target, "w") as archive:
        _add_text(archive, "numalab/environment", exports + path)
        _add_text(archive, "numalab/job.json", json.dumps(job))
        archive.add(PROJECT / "numalab" / "guest" / "start", "numalab/start")
        if jar and SPARK_CASES & set(cases):
            for classes_archive in archives.archives(jar, environment()):
                archive.add(classes_archive, f"numalab/archives/{classes_archive.name}")
        for part in ["numalab", "src", *([str(jar.relative_to(PROJECT))] if jar else [])]:
            if (PROJECT / part).exists():
                archive.add(PROJECT / part, str(PROJECT / part).lstrip("/"), filter=_as_here)
        with tempfile.TemporaryDirectory(prefix="classes.") as classes:
            for program in sorted({PROGRAMS[case] for case in cases if case in PROGRAMS}):
                _compile(PROJECT / "numalab" / "guest" / program, Path(classes))
            archive.add(classes, "numalab/classes")
        if end:
            archive.add(jucx(), "numalab/jucx.jar")
            archive.add(str(hearth_jar("wire")), "numalab/wire.jar")
        if (PROJECT / ".venv").is_symlink():  # a directory stands in the root disk already
            archive.add(PROJECT / ".venv", str(PROJECT / ".venv").lstrip("/"))


def jucx() -> Path:
    """UCX's library for the JVM, where the build has fetched it."""
    found = sorted((Path.home() / ".m2/repository/org/openucx/jucx").glob("*/jucx-*[0-9].jar"))
    if not found:
        raise LabUnavailableError("numa-lab needs jucx: run `mvn -f jvm -pl wire -am package`")
    return found[-1]


def _compile(source: Path, target: Path) -> None:
    javac = image.java_home() / "bin" / "javac"
    if not javac.is_file():
        raise LabUnavailableError(f"numa-lab needs a JDK: {javac} is missing")
    spark = image.site_packages(image.virtual_environment()) / "pyspark" / "jars" / "*"
    class_path = f"{hearth_jar()}:{hearth_jar('wire')}:{spark}"
    command = [str(javac), "--release", "17", "-cp", class_path, "-d", str(target), str(source)]
    subprocess.run(command, check=True)


def _as_here(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """The file with the second of its time, or the JVM refuses an archive of its classes.

    tar holds whole seconds and `tarfile` rounds: half of all files would come out a second younger.
    """
    if Path(member.name).name == "__pycache__":
        return None
    member.mtime = int(member.mtime)
    return member


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(text.encode())
    archive.addfile(member, io.BytesIO(text.encode()))


def _run(command: list[str], log: Path, limit_seconds: float) -> str:
    with log.open("wb") as console:
        # A guest ends with who started it, also by SIGKILL.
        guest = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
        )
        try:
            status = guest.wait(timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            guest.kill()
            guest.wait()
    text = log.read_text(encoding="utf-8", errors="replace")
    if status is None:
        raise GuestFailedError(
            f"killed after {limit_seconds:.0f} s; its console ends:\n{_end(text)}"
        )
    if status != 0:
        raise GuestFailedError(f"QEMU ended with {status}; its console ends:\n{_end(text)}")
    return text


def _unpack(disk: Path, evidence: Path, console: str) -> None:
    try:
        with tarfile.open(disk, "r:") as archive:
            archive.extractall(evidence, filter="data")
            archive.getmember("./times.json")
    except (tarfile.TarError, KeyError) as problem:
        raise GuestFailedError(
            f"no evidence ({problem}); the console ends:\n{_end(console)}"
        ) from None


def _end(console: str) -> str:
    return "\n".join(console.splitlines()[-40:])
