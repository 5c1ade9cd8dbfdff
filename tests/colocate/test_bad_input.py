"""`hearth colocate` with what cannot be run: each is refused by name before anything runs."""

from pathlib import Path

import pytest

from hearth.cli.main import main

REFUSED = {
    "": "an application is missing: name a workload",
    "a.py": "1 application cannot be colocated: give 2 to 64, separated by --",
    "a.py --": "an application is missing",
    "--split 2-2 -- b.py": "an application is missing",
    "--from last a.py -- b.py": "--from: 1 runs of 2 applications: give one of each",
    "--scaling t.csv a.py -- b.py": "--scaling: nothing can run there: add --dry-run",
    "--dry-run --machine x a.py -- b.py": "--machine: it needs a recorded run of each",
    "--dry-run --resume x a.py -- b.py": "--dry-run: a colocation that is resumed runs",
    "--limit 0s a.py -- b.py": "--limit: '0s' is no time",
    "--minutes 5 a.py -- b.py": "--minutes: it is for --protocol loop",
    "--ramp 5 a.py -- b.py": "--ramp: it is for --protocol loop",
    "--protocol loop --minutes 20 --ramp 10 a.py -- b.py": "of 20 minutes none is left",
    "--protocol loop --minutes nan a.py -- b.py": "of nan minutes none is left",
    "--arms split,bound a.py -- b.py": "--arms: 'bound' is not one of split, unbound, whole",
    "--arms split,unbound a.py -- b.py": "--arms: 'split,unbound' lacks serial",
    "--objective speed a.py -- b.py": "invalid choice: 'speed'",
    "--repeat 0 a.py -- b.py": "--repeat: 0 is out of range",
    "--unbound a.py -- b.py": "--unbound: each way of running sets it",
    "app.py -- --docker b.py": "--docker: each way of running sets it",
    "--frobnicate a.py -- b.py": "'--frobnicate' is not an option",
    "--split 1-1 nowhere.py -- b.py": "'nowhere.py': there is no such file",
    "--master local[2] app.py -- app.py": "--master: app.py: 'local[2]' cannot be given a share",
    "--applications two.txt a.py -- b.py": "--applications: the file names all of them",
    "--applications nowhere.txt": "--applications: 'nowhere.txt' cannot be read",
    "--applications torn.txt": "--applications: 'torn.txt', line 2: No closing quotation",
    "--applications one.txt": "1 application cannot be colocated",
    "--dry-run --scaling t.csv SQL -- Graph": "it has no workload 'Graph': it has SQL, SVM",
    "--dry-run --split 1-2-1 --scaling t.csv SQL -- SVM": "--split: '1-2-1' is not a share",
    "--dry-run --split 2-1 --scaling t.csv SQL -- SVM": "--split: '2-1' gives 3 of 2 units",
    "--dry-run --scaling t.csv SQL -- SVM -- SQL": "3 applications on 2 parts of the machine",
}


@pytest.mark.parametrize("words", REFUSED)
def test_it_is_refused_in_one_line(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    (tmp_path / "app.py").write_text("")
    (tmp_path / "one.txt").write_text("# nothing\n\na.py --day 1\n")
    (tmp_path / "torn.txt").write_text("a.py\nb.py 'x\n")
    rows = ["workload,from_binding,to_binding,speedup", "SQL,1B,2B,1.6", "SVM,1B,2B,1.3"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    assert main(["colocate", *words.split()]) == 2
    said = capsys.readouterr()
    assert REFUSED[words] in said.err and said.err.count("\n") == 1 and not said.out
    assert not (tmp_path / "state" / "colocations").exists()
