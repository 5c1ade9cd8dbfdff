"""Sizes, id lists, properties files, processes."""

import os
import subprocess
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.base.processes import is_alive, start_ticks
from hearth.base.sizes import parse_bytes, parse_mb, show_bytes
from hearth.spark.conf import read_properties


@pytest.mark.parametrize(
    ("text", "size"),
    [("200g", 200 << 30), ("1.5t", 3 << 39), ("512M", 512 << 20), ("7 GiB", 7 << 30), ("9b", 9)],
)
def test_a_size_may_be_written_in_any_usual_way(text: str, size: int) -> None:
    assert parse_bytes(text, "--input") == size


@pytest.mark.parametrize("text", ["", "20", "g", "-1g", "1e9g", "20gg", "0g", "0.1b", "1/2g"])
def test_what_is_no_size_is_refused_by_name(text: str) -> None:
    with pytest.raises(UserError, match=r"^--input: '"):
        parse_bytes(text, "--input")


def test_memory_below_a_mebibyte_is_refused() -> None:
    with pytest.raises(UserError, match="below one mebibyte"):
        parse_mb("3k", "--memory")


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (256 << 30, "256 GB"), (3 << 39, "1.5 TB"), (1 << 40, "1 TB"), (1536, "1.5 KB")],
)
def test_a_size_is_shown_in_its_largest_unit(size: int, text: str) -> None:
    assert show_bytes(size) == text


@pytest.mark.parametrize("text", ["", "0", "0-3,8", "1,3,5", "0-127,256-383"])
def test_an_id_list_survives_reading_and_writing(text: str) -> None:
    assert show_ids(parse_ids(text)) == text


def test_a_long_id_list_is_shortened_and_counted() -> None:
    text = ",".join(str(8 * i) for i in range(24))
    short = brief_ids(text)
    assert len(short) <= 48
    assert short.endswith(",...,184 (24 ids)")
    assert brief_ids("0-47,96-143") == "0-47,96-143"


def test_properties_are_read_as_java_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "spark.conf"
    file.write_text(
        "# a comment\n! another\n\n"
        "spark.a  1\nspark.b=2\nspark.c : 3\n  spark.d\t4  \n"
        "spark.e=one \\\n    two\nspark.f=C:\\\\dir\nspark.g=\\u0041\nspark.h\nspark.i=x=y\n"
    )
    assert read_properties(file, "--properties-file") == {
        "spark.a": "1",
        "spark.b": "2",
        "spark.c": "3",
        "spark.d": "4",
        "spark.e": "one two",
        "spark.f": "C:\\dir",
        "spark.g": "A",
        "spark.h": "",
        "spark.i": "x=y",
    }


def test_a_properties_file_in_another_encoding_is_read_with_replacements_as_spark_does(
    tmp_path: Path,
) -> None:
    file = tmp_path / "spark-defaults.conf"
    file.write_bytes("# réglé par Zoë\0\nspark.app.name Größe\nspark.x 1\n".encode("latin-1"))
    read = read_properties(file, "spark-defaults.conf")
    assert read == {"spark.app.name": "Gr\ufffd\ufffde", "spark.x": "1"}


def test_a_properties_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--properties-file: cannot read '.*none.conf'"):
        read_properties(tmp_path / "none.conf", "--properties-file")


def test_a_process_is_known_by_its_start_too() -> None:
    ticks = start_ticks(os.getpid())
    assert ticks is not None
    assert is_alive(os.getpid(), ticks)
    assert not is_alive(os.getpid(), ticks + 1)


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen(["true"])
    while Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
        pass
    assert start_ticks(child.pid) is None
    child.wait()
