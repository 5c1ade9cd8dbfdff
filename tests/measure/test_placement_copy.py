"""What a record keeps of the placement of executors."""

from pathlib import Path

from hearth.record.placement_copy import PlacementCopy


def test_a_record_has_what_its_own_executors_say_of_their_binding(tmp_path: Path) -> None:
    bindings = tmp_path / "bindings"
    for folder in ("bindings", "record/eventlog/eventlog_v2_app-1"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("app-0", "app-1"):
        (bindings / f"{name}.json").write_text(name)
    PlacementCopy(tmp_path / "applications", tmp_path / "record").keep_bindings(bindings)
    assert (tmp_path / "record" / "binding.json").read_text() == "app-1"


def test_a_record_without_the_plugin_has_no_such_file(tmp_path: Path) -> None:
    (tmp_path / "eventlog").mkdir()
    PlacementCopy(tmp_path, tmp_path).keep_bindings(tmp_path / "bindings")
    assert [file.name for file in tmp_path.iterdir()] == ["eventlog"]
