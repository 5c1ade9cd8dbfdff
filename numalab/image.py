"""Builds the guest's disk: the few programs the cases use, the JDK, Python and pyspark.

One ext4 image at the same absolute paths as on this machine, made without root by `mke2fs -d` and
attached copy-on-write, so that the guest writes to it and the image stays as built. Measured
against 9p, a guest's cold `java -version` fell from 30 s to the figure in `README.md`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

from numalab.setup import (
    CACHE,
    KERNEL,
    PROJECT,
    RDMA_KERNEL,
    LabUnavailableError,
    find_tool,
    kernel_directory,
)

PROGRAMS = ("bash", "busybox", "numactl", "lstopo-no-graphics")
#: Docker's engine and what it starts, where they are on this machine: for the case `containers`.
ENGINE = ("docker", "dockerd", "containerd", "containerd-shim-runc-v2", "runc")
SITE_PACKAGES = ("pyspark", "py4j", "orjson")
LEFT_OUT = (  # of the JDK, of Python's library and of the virtual environment's programs
    *("jmods", "src.zip", "man", "legal", "include"),
    *("site-packages", "dist-packages", "config-3.*", "test", "idlelib", "ensurepip"),
    *("ruff", "tpchgen-cli", "connect-repl"),
)
MODULES = (
    "drivers/virtio/virtio_ring.ko",
    "drivers/virtio/virtio.ko",
    "drivers/virtio/virtio_pci_legacy_dev.ko",
    "drivers/virtio/virtio_pci_modern_dev.ko",
    "drivers/virtio/virtio_pci.ko",
    "drivers/block/virtio_blk.ko",
    "net/core/failover.ko",
    "drivers/net/net_failover.ko",
    "drivers/net/virtio_net.ko",
)
#: What the small kernel has built in and the full one has not, and soft-RoCE.
RDMA_MODULES = (
    "lib/crc16.ko",
    "fs/mbcache.ko",
    "fs/jbd2/jbd2.ko",
    "crypto/crc32c_generic.ko",
    "fs/ext4/ext4.ko",
    "crypto/crc32_generic.ko",
    "net/ipv4/udp_tunnel.ko",
    "net/ipv6/ip6_udp_tunnel.ko",
    "drivers/infiniband/core/ib_core.ko",
    "drivers/infiniband/core/ib_uverbs.ko",
    "drivers/infiniband/sw/rxe/rdma_rxe.ko",
)
#: UCX, the drivers that it and libibverbs load, and what makes a device of soft-RoCE.
RDMA_PROGRAM = "rdma"
RDMA_FILES = ("libucp.so.0", "ucx/*.so.*", "libibverbs/librxe-*.so")
LOCALES = (Path("/usr/lib/locale/C.utf8"),)
SLACK_MB = 1024  # room for what the cases write; the image file is sparse


def java_home() -> Path:
    """The JDK that the guest gets: JAVA_HOME, else the one on PATH."""
    named = os.environ.get("JAVA_HOME")
    java = f"{named}/bin/java" if named else shutil.which("java")
    if not java or not Path(java).is_file():
        raise LabUnavailableError("numa-lab needs a JDK 17: set JAVA_HOME or run `make setup`")
    return Path(java).resolve().parent.parent


def virtual_environment() -> Path:
    """The directory of the project's virtual environment with pyspark in it."""
    venv = (PROJECT / ".venv").resolve()
    if not (site_packages(venv) / "pyspark").is_dir():
        raise LabUnavailableError(f"numa-lab needs pyspark in {venv}: run `make setup`")
    return venv


def site_packages(venv: Path) -> Path:
    """Where a virtual environment of this Python keeps its packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return venv / "lib" / version / "site-packages"


def root_image() -> Path:
    """The guest's disk image, built when one of its ingredients has changed."""
    image = CACHE / f"root-{_fingerprint()}.ext4"
    if not image.is_file():
        for old in CACHE.glob("root-*.ext4"):
            old.unlink()
        with tempfile.TemporaryDirectory(prefix="root.", dir=CACHE) as staging:
            _stage(Path(staging))
            _make_filesystem(Path(staging), image)
    return image


def boot_archive(target: Path, kernel: str = KERNEL) -> Path:
    """Writes the initial RAM disk to `target`: busybox, the kernel's drivers and `guest/init`."""
    with tempfile.TemporaryDirectory(prefix="initrd.") as staging:
        root = Path(staging)
        for directory in ("bin", "modules", "proc", "dev", "root"):
            (root / directory).mkdir()
        _place(Path(_require("busybox")), root / "bin" / "busybox")
        modules = next(kernel_directory(kernel).glob("lib/modules/*/kernel"))
        needed = (*MODULES, *RDMA_MODULES) if kernel == RDMA_KERNEL else MODULES
        for number, module in enumerate(needed):
            _place(modules / module, root / "modules" / f"{number:02}.ko")
        shutil.copy(PROJECT / "numalab" / "guest" / "init", root / "init")
        (root / "init").chmod(0o755)
        pack = f"find . | {_require('busybox')} cpio -o -H newc"
        with target.open("wb") as archive:
            subprocess.run(
                ["sh", "-c", pack], cwd=root, stdout=archive, check=True, stderr=subprocess.DEVNULL
            )
    return target


def _fingerprint() -> str:
    java = java_home() / "release"
    packages = sorted(
        path.name for path in site_packages(virtual_environment()).glob("*.dist-info")
    )
    programs = [f"{path} {path.stat().st_mtime_ns}" for path in _programs()]
    parts = [
        Path(__file__).read_text(encoding="utf-8"),
        java.read_text(encoding="utf-8"),
        str(java_home()),
        str(PROJECT),
        sys.version,
        *packages,
        *programs,
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def has_engine() -> bool:
    """Whether the guest gets Docker's engine."""
    return all(find_tool(name) for name in ENGINE)


def has_rdma() -> bool:
    """Whether the guest gets UCX and what it needs for soft-RoCE."""
    return bool(find_tool(RDMA_PROGRAM)) and all(any(_rdma_files(name)) for name in RDMA_FILES)


def _rdma_files(name: str) -> Iterable[Path]:
    return Path("/usr/lib").glob(f"*-linux-gnu/{name}")


def _programs() -> list[Path]:
    engine = ENGINE if has_engine() else ()
    rdma = (RDMA_PROGRAM,) if has_rdma() else ()
    return [Path(_require(name)) for name in (*PROGRAMS, *engine, *rdma)]


def _stage(root: Path) -> None:
    venv = virtual_environment()
    site = site_packages(venv)
    stdlib = Path(sysconfig.get_path("stdlib"))
    python = Path(sys.executable).resolve()
    programs = _programs()
    verbs = [path for name in RDMA_FILES for path in _rdma_files(name)] if has_rdma() else []
    files = [*programs, *verbs, python, venv / "pyvenv.cfg"]
    trees = [java_home(), stdlib, venv / "bin", *(site / name for name in SITE_PACKAGES)]
    trees += [path for path in LOCALES if path.is_dir()]
    for path in [*trees, *files]:
        _copy(path, root)
    for link in _links(venv / "bin" / "python"):
        _copy_link(link, root)
    for link in _links_outside(java_home()):
        _copy(link, root)
    objects = _shared_objects([java_home(), stdlib, site / "orjson"])
    for library in _libraries([*programs, *verbs, python, *objects]):
        _copy(library, root)
    if verbs:
        _copy(Path("/etc/libibverbs.d/rxe.driver"), root)
    _furnish(root)
    _unzip_pyspark(root, site)


def _unzip_pyspark(root: Path, site: Path) -> None:
    """Puts the installed packages, byte code included, in place of Spark's archives of them.

    The archives stand on every Python's path and hold no byte code: each process would compile
    pyspark anew.
    """
    library = root / _merged(site / "pyspark" / "python" / "lib").relative_to("/")
    for archive in library.glob("*.zip"):
        archive.unlink()
        archive.symlink_to(site)


def _furnish(root: Path) -> None:
    """What a Linux user space expects to find, and busybox under the names of its programs."""
    for directory in ("proc", "sys", "dev", "run", "tmp", "root", "etc", "usr/bin", "evidence"):
        (root / directory).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin"):
        (root / name).symlink_to("usr/bin")
    for name in ("lib", "lib64"):
        _merge_into_usr(root, name)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost numalab\n")
    listing = subprocess.run(
        [_require("busybox"), "--list"], capture_output=True, text=True, check=True
    )
    for applet in listing.stdout.split():
        if not (root / "usr/bin" / applet).exists():
            (root / "usr/bin" / applet).symlink_to("busybox")
    if not (root / "usr/bin/env").exists():
        (root / "usr/bin/env").symlink_to("busybox")


def _merge_into_usr(root: Path, name: str) -> None:
    if not (root / name).exists():
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")


def _copy(source: Path, root: Path) -> None:
    """Puts a file or a tree at the same path below `root`, hard-linked where the disk allows."""
    target = root / _merged(source).relative_to("/")
    if source.is_dir():
        shutil.copytree(
            source,
            target,
            symlinks=True,
            dirs_exist_ok=True,
            copy_function=_place,
            ignore=shutil.ignore_patterns(*LEFT_OUT),
        )
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        _place(source, target)


def _copy_link(link: Path, root: Path) -> None:
    target = root / _merged(link).relative_to("/")
    if not target.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(link.readlink())


def _merged(path: Path) -> Path:
    """The path with the links of its directory followed: /bin and /lib are links to /usr."""
    return path.parent.resolve() / path.name


def _place(source: str | Path, target: str | Path) -> None:
    """Hard-links a file (the file itself, not a link to it), else copies it."""
    real = Path(source).resolve()
    try:
        os.link(real, target)
    except OSError:  # another file system, or a kernel that guards hard links
        shutil.copy2(real, target)


def _links(path: Path) -> list[Path]:
    """The links on the way from a path to the file that it stands for."""
    links = []
    while path.is_symlink():
        links.append(path)
        path = path.parent / path.readlink()
    return links


def _links_outside(tree: Path) -> set[Path]:
    """Files and directories outside a tree that links inside it point to, such as /etc/java-17."""
    links = (path.resolve() for path in tree.rglob("*") if path.is_symlink())
    return {path for path in links if path.exists() and not path.is_relative_to(tree)}


def _shared_objects(trees: Iterable[Path]) -> list[Path]:
    return [path for tree in trees for path in tree.rglob("*.so*") if path.is_file()]


def _libraries(binaries: list[Path]) -> set[Path]:
    """The shared libraries that these binaries load, as the dynamic linker finds them."""
    answer = subprocess.run(
        ["ldd", *map(str, binaries)], capture_output=True, text=True, check=False
    )  # ldd exits 1 for the static ones among them
    libraries = re.findall(r"(?:=> )?(/\S+) \(0x", answer.stdout)
    return {Path(path) for path in libraries}


def _make_filesystem(staging: Path, image: Path) -> None:
    used = sum(path.lstat().st_size for path in staging.rglob("*"))
    size_mb = used * 115 // 100 // 2**20 + SLACK_MB
    building = image.with_suffix(".new")
    building.unlink(missing_ok=True)
    subprocess.run(
        [
            _require("mke2fs"),
            "-q",
            "-t",
            "ext4",
            "-O",
            "^has_journal",
            "-m",
            "0",
            "-E",
            "root_owner=0:0",
            "-d",
            str(staging),
            str(building),
            f"{size_mb}M",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    building.rename(image)


def _require(tool: str) -> str:
    path = find_tool(tool)
    if not path:
        raise LabUnavailableError(
            f"numa-lab needs the program '{tool}': run `python -m numalab setup`"
        )
    return path
