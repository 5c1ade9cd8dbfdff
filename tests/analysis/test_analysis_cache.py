"""An analysis is derived once and kept beside its record; what is stale or damaged is not used."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from made_record import make_record, process, write

from hearth.analysis import analysis as deriving
from hearth.analysis.analysis import analyse
from hearth.analysis.document import Use
from hearth.base.codec import to_json
from hearth.base.processes import start_ticks
from hearth.record.store import delete_record, read_record


@pytest.fixture
def record(tmp_path: Path) -> Path:
    directory = tmp_path / "records" / "20261121-090000-app-4711"
    directory.parent.mkdir()
    make_record(directory)
    return directory


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The records that were read to derive an analysis."""
    read: list[Path] = []
    gather = deriving.gather

    def watched(directory: Path) -> Any:
        read.append(directory)
        return gather(directory)

    monkeypatch.setattr(deriving, "gather", watched)
    return read


def cpu_s(record: Path) -> float | None:
    use = analyse(record).executors[0].use
    assert isinstance(use, Use)
    return use.cpu_s


def cache_file(record: Path) -> Path:
    return record.with_name(f".{record.name}.analysis")


def test_the_second_report_is_what_the_first_was_without_reading_the_samples(
    record: Path, derived: list[Path]
) -> None:
    before = {file: file.stat().st_mtime_ns for file in record.rglob("*")}
    first = analyse(record)
    second = analyse(record)
    assert len(derived) == 1
    assert second == first
    assert to_json(second) == to_json(first)
    assert {file: file.stat().st_mtime_ns for file in record.rglob("*")} == before


def test_a_record_that_changed_is_derived_anew(record: Path, derived: list[Path]) -> None:
    analyse(record)
    samples = record / "samples" / "process.jsonl"
    write(samples, [process(t, 200 * t) for t in range(10)])
    assert cpu_s(record) == 18.0
    same_size = samples.read_text().replace("1800", "1700")
    samples.write_text(same_size)
    os.utime(samples, ns=(time.time_ns(), time.time_ns() + 5))
    assert cpu_s(record) == 17.0
    assert len(derived) == 3
    at = samples.stat().st_mtime_ns
    samples.write_text(same_size.replace("1700", "11700"))
    os.utime(samples, ns=(at, at))
    assert cpu_s(record) == 117.0


def test_what_was_written_while_it_was_derived_makes_it_stale(
    record: Path, derived: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    gather = deriving.gather

    def interrupted(directory: Path) -> Any:
        found = gather(directory)
        write(record / "samples" / "process.jsonl", [process(t, 300 * t) for t in range(10)])
        return found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(deriving, "gather", interrupted)
        assert cpu_s(record) == 9.0
    assert cpu_s(record) == 27.0


def test_another_version_of_the_program_derives_anew(
    record: Path, derived: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    analyse(record)
    monkeypatch.setattr("hearth.analysis.cache._program", lambda: "another")
    analyse(record)
    assert len(derived) == 2


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign"])
def test_a_damaged_file_is_not_trusted(record: Path, derived: list[Path], damage: str) -> None:
    first = analyse(record)
    file = cache_file(record)
    whole = file.read_bytes()
    head, _, document = whole.partition(b"\n")
    changed = {
        "cut": whole[:-10],
        "flipped": whole.replace(b'"app"', b'"abb"'),
        "empty": b"",
        "foreign": head + b'\n{"record": {}}',
    }
    assert changed[damage] != whole
    assert document
    file.write_bytes(changed[damage])
    assert analyse(record) == first
    assert len(derived) == 2
    assert file.read_bytes() == whole


def test_a_run_that_goes_on_is_read_each_time(record: Path, derived: list[Path]) -> None:
    file = record / "record.json"
    head = json.loads(file.read_text())
    head["owner"] = {"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}
    file.write_text(json.dumps(head))
    assert analyse(record).record.state == "running"
    analyse(record)
    assert len(derived) == 2
    assert not cache_file(record).exists()


def test_a_deleted_record_takes_its_analysis_along_and_a_copy_is_another_record(
    record: Path, derived: list[Path]
) -> None:
    analyse(record)
    copy = record.with_name("20261121-090000-app-4712")
    shutil.copytree(record, copy)
    analyse(copy)
    assert len(derived) == 2
    delete_record(read_record(record))
    assert not cache_file(record).exists()
    assert cache_file(copy).exists()
