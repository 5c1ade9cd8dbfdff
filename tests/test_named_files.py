"""The size of the input, where the files that an application's arguments name tell it."""

from pathlib import Path

import pytest

from hearth.spark.named_files import LEAST_BYTES, large_input
from support import Command, says


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two large files, without a block on the disk."""
    for name in ("data/day=1/a.parquet", "data/day=2/b.parquet"):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        with file.open("wb") as empty:
            empty.truncate(LEAST_BYTES)
    return tmp_path / "data"


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "--input={}", "{} {}/day=1"])
def test_a_large_input_is_known_by_the_files_that_the_arguments_name(data: Path, form: str) -> None:
    assert large_input(["--date", *form.format(data, data).split()]) == 2 * LEAST_BYTES


@pytest.mark.parametrize("words", [[], ["x" * 5000], ["s3a://bucket/data"], ["data/day=1"]])
def test_a_small_one_or_what_is_no_file_of_this_machine_says_nothing(
    data: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a link, whose files may be counted already, or lead in a circle."""
    monkeypatch.chdir(data.parent)
    (data / "day=1" / "more").symlink_to(data)
    assert large_input(words) is None


def test_the_plan_says_whose_files_tell_the_input_and_the_user_may_say_otherwise(
    hearth: Command, data: Path
) -> None:
    alone = ["--conf", "spark.hearth.neighbours=ignore"]
    named = hearth("submit", "--dry-run", *alone, "job.py", str(data))
    assert "spark.sql.shuffle.partitions=400" in named.stdout
    assert says(named.stderr, "input 50 GB … that the application's arguments name … --input")
    users = hearth("submit", "--dry-run", "--input", "1g", *alone, "job.py", str(data))
    assert "spark.sql.shuffle.partitions=8" in users.stdout
    assert "arguments name" not in users.stderr
