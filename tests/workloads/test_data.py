"""Generated data sets: the same bytes for a seed, counted right, and whole or not trusted.

One spark-submit makes many data sets; the files are read by Python, pyarrow and zlib alone.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from spark_runs import submitting

from support import ROOT, eventually, require

pytestmark = pytest.mark.spark

GENERATORS = (
    *("text", "reviews", "clusters", "vectors-dense", "vectors-sparse", "records"),
    *("pairs", "graph", "clicks", "tags", "shop"),
)
SIZE = 1 << 20
EXAMPLE = json.loads((ROOT / "contract" / "examples" / "dataset.json").read_text())
LIMIT_S = 240


def command(master: str, *words: str) -> list[str]:
    """The JVM sees no more CPUs than the master has: neither may decide a byte."""
    cpus = f"-XX:ActiveProcessorCount={master[6:-1]}"
    return [*submitting({"spark.log.level": "ERROR"}, cpus, master=master), "generate", *words]


def generate(*words: str, master: str = "local[2]") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(master, *words), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def made(*words: str, master: str = "local[2]") -> str:
    done = generate(*words, master=master)
    # The exception's name stands first, what it was caused by last.
    assert done.returncode == 0, f"{done.stderr[:3000]}\n...\n{done.stderr[-3000:]}"
    return done.stdout


def refused(*words: str) -> str:
    """The one line of an error of the user's."""
    done = generate(*words)
    lines = [line for line in done.stderr.splitlines() if line.startswith("workloads: ")]
    assert (done.returncode, len(lines)) == (2, 1), done.stderr[-3000:]
    assert "Exception" not in done.stderr
    return lines[0]


def group(name: str, folder: Path, seed: int, size: str = str(SIZE)) -> list[str]:
    return [name, "--to", str(folder), "--size", size, "--seed", str(seed)]


def joined(*groups: list[str]) -> list[str]:
    return [word for group in groups for word in ["+", *group]][1:]


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "_manifest.json").read_text())


def content(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every generator's data set of seed 1, made by one core; DIR/NAME."""
    folder = tmp_path_factory.mktemp("narrow")
    groups = [group(name, folder / name, 1) for name in GENERATORS]
    made(*joined(*groups), master="local[1]")
    return folder


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same by four cores, and those of seed 2 in DIR/NAME-2."""
    folder = tmp_path_factory.mktemp("wide")
    groups = [group(name, folder / name, 1) for name in GENERATORS]
    others = [group(name, folder / f"{name}-2", 2) for name in GENERATORS]
    made(*joined(*groups, *others), master="local[4]")
    return folder


def rows_of(file: Path) -> int:
    if file.suffix == ".parquet":
        return sum(len(batch) for batch in parquet.ParquetFile(file).iter_batches())
    if file.suffix == ".bin":
        return file.stat().st_size // 100
    return file.read_bytes().count(b"\n")


@pytest.mark.parametrize("name", GENERATORS)
def test_a_seed_gives_the_same_bytes_on_any_number_of_cores(
    narrow: Path, wide: Path, name: str
) -> None:
    assert manifest(narrow / name) == manifest(wide / name)
    for file in manifest(narrow / name)["files"]:
        ours, theirs = (folder / name / file["path"] for folder in (narrow, wide))
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("name", GENERATORS)
def test_another_seed_gives_other_bytes(wide: Path, name: str) -> None:
    one, two = (manifest(wide / folder) for folder in (name, f"{name}-2"))
    assert not {file["crc32"] for file in one["files"]} & {file["crc32"] for file in two["files"]}


@pytest.mark.parametrize("name", GENERATORS)
def test_the_manifest_holds_what_an_independent_count_finds_of_the_size_asked_for(
    narrow: Path, name: str
) -> None:
    found = manifest(narrow / name)
    assert found.keys() == EXAMPLE.keys()
    assert all(file.keys() == EXAMPLE["files"][0].keys() for file in found["files"])
    digest = hashlib.sha256()
    for file in found["files"]:
        path = narrow / name / file["path"]
        assert file["rows"] == rows_of(path)
        assert file["bytes"] == path.stat().st_size
        assert file["crc32"] == f"{zlib.crc32(path.read_bytes()):08x}"
        line = f"{file['path']} {file['rows']} {file['bytes']} {file['crc32']}\n"
        digest.update(line.encode())
    assert found["checksum"] == f"sha256:{digest.hexdigest()}"
    assert found["rows"] == sum(file["rows"] for file in found["files"])
    size = sum(file["bytes"] for file in found["files"])
    assert abs(size - SIZE) < SIZE / 10, "the size that was asked for"
    assert content(narrow / name) == {"_manifest.json", *(f["path"] for f in found["files"])}


def test_the_items_of_a_shop_refer_to_its_orders(narrow: Path) -> None:
    orders = parquet.read_table(narrow / "shop" / "orders").to_pydict()
    items = parquet.read_table(narrow / "shop" / "items").to_pydict()
    count = manifest(narrow / "shop")["facts"]["orders"]
    assert sorted(orders["order_id"]) == list(range(1, count + 1))
    assert sorted(items["item_id"]) == list(range(1, len(items["item_id"]) + 1))
    assert set(items["order_id"]) == set(orders["order_id"])
    assert 3.9 < len(items["item_id"]) / count < 4.1
    rows = zip(items["quantity"], items["price"], items["amount"], strict=True)
    assert all(quantity * price == amount for quantity, price, amount in rows)


def test_a_graph_has_the_vertices_that_its_manifest_says(narrow: Path) -> None:
    found = manifest(narrow / "graph")
    lines = "".join(file.read_text() for file in sorted((narrow / "graph").glob("part-*")))
    ids = {int(word) for word in lines.split()}
    assert max(ids) < found["facts"]["vertices"]
    assert found["rows"] / found["facts"]["vertices"] == pytest.approx(14.2, rel=0.001)


def test_a_text_has_the_words_that_its_manifest_says(narrow: Path) -> None:
    files = sorted((narrow / "text").glob("part-*"))
    words = sum(len(file.read_text().split()) for file in files)
    assert manifest(narrow / "text")["facts"] == {"words": words}


def test_what_is_there_already_is_not_made_again(narrow: Path) -> None:
    file = narrow / "records" / "part-00000.bin"
    before = file.stat().st_mtime_ns
    assert "already" in made(*group("records", narrow / "records", 1))
    assert file.stat().st_mtime_ns == before


def test_a_damaged_data_set_is_not_trusted(narrow: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tags"
    shutil.copytree(narrow / "tags", folder)
    os.truncate(folder / "part-00002.txt", 100)
    assert "part-00002.txt is missing or not" in refused(*group("tags", folder, 1))


def test_a_generation_ended_by_kill_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    torn, whole = tmp_path / "torn", tmp_path / "whole"
    words = group("vectors-dense", torn, 5, "48m")
    with subprocess.Popen(
        command("local[1]", *words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        exists(torn / ".part-00000.json", process)
        process.send_signal(signal.SIGKILL)
    kept = (torn / "part-00000.parquet").stat().st_mtime_ns
    assert not (torn / "_manifest.json").exists()
    assert not (torn / ".part-00003.json").exists()
    (torn / ".part-00003.parquet.1-1.draft").write_bytes(b"half")
    assert "holds vectors-dense of seed 5" in refused(*group("vectors-dense", torn, 6, "48m"))
    short = tmp_path / "short"
    shutil.copytree(torn, short)
    os.truncate(short / "part-00000.parquet", 100)
    others = [group("vectors-dense", folder, 5, "48m") for folder in (whole, short)]
    said = made(*joined(words, *others))
    assert "0 of 4 parts existed already" not in said.splitlines()[0]
    assert (torn / "part-00000.parquet").stat().st_mtime_ns == kept
    for folder in (torn, short):
        assert manifest(folder) == manifest(whole)
        assert content(folder) == content(whole)
        for file in manifest(whole)["files"]:
            bytes_there = (folder / file["path"]).read_bytes()
            assert f"{zlib.crc32(bytes_there):08x}" == file["crc32"]


def exists(file: Path, process: subprocess.Popen[Any]) -> None:
    """Waits for a file of a generation that goes on."""
    eventually(file.name, lambda: file.exists() or process.poll() is not None, look_s=0.002)
    assert process.poll() is None, f"it ended before there was {file.name}"


def test_a_size_beyond_the_free_space_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    line = refused(*group("records", tmp_path / "huge", 1, "900t"))
    assert "bytes free" in line and "989560464998400 bytes do not fit" in line
    assert not (tmp_path / "huge").exists()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        require("root", "a small file system cannot be mounted")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_meanwhile_ends_it_with_one_line(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "40m") as disk:
        words = group("vectors-dense", disk / "data", 1, "32m")
        with subprocess.Popen(
            command("local[1]", *words),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            exists(disk / "data" / "_generating.json", process)
            (disk / "ballast").write_bytes(bytes(20 << 20))
            said = process.communicate(timeout=LIMIT_S)[1]
        assert process.returncode == 2, said[-3000:]
        assert "could not be written: part" in said and "No space left" in said
        assert "Exception" not in said
        assert not list((disk / "data").glob("*.draft")) + list((disk / "data").glob(".*.draft"))
        assert not (disk / "data" / "_manifest.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["text", "--size", "100k", "--seed", "1"], "below the minimum of 262144 bytes"),
        (["text", "--size", "1m", "--seed", "x"], "--seed: 'x' is not a whole number"),
        (["text", "--size", "1m", "--seed", "1", "--users", "3"], "text has no such parameter"),
        (["txet", "--size", "1m", "--seed", "1"], "'txet' is not a generator"),
        (["text", "--size", "1m", "--seed", "1"], "contains files, but no data set"),
    ],
)
def test_what_cannot_be_made_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "foreign.txt").write_text("somebody's")
    assert said in refused(*words, "--to", str(tmp_path))
    assert content(tmp_path) == {"foreign.txt"}
