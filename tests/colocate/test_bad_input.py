"""`hearth colocate` with what cannot be run: each is refused by name before anything runs."""

from pathlib import Path

import pytest

from hearth.cli.main import main
from support import says

REFUSED = {
    "": "name a workload",
    "a.py": "1 application … 2 to 64",
    "a.py --": "an application is missing",
    "--split 2-2 -- b.py": "an application is missing",
    "--from last a.py -- b.py": "--from: 1 … 2 applications",
    "--scaling t.csv a.py -- b.py": "--scaling: … --dry-run",
    "--dry-run --machine x a.py -- b.py": "--machine:",
    "--dry-run --resume x a.py -- b.py": "--dry-run:",
    "--limit 0s a.py -- b.py": "--limit: '0s'",
    "--minutes 5 a.py -- b.py": "--minutes: … --protocol loop",
    "--ramp 5 a.py -- b.py": "--ramp: … --protocol loop",
    "--protocol loop --minutes 20 --ramp 10 a.py -- b.py": "20 minutes",
    "--protocol loop --minutes nan a.py -- b.py": "nan minutes",
    "--arms split,bound a.py -- b.py": "--arms: 'bound' … split, unbound, whole",
    "--arms split,unbound a.py -- b.py": "--arms: 'split,unbound' … serial",
    "--objective speed a.py -- b.py": "'speed'",
    "--repeat 0 a.py -- b.py": "--repeat: 0",
    "--unbound a.py -- b.py": "--unbound:",
    "app.py -- --docker b.py": "--docker:",
    "--frobnicate a.py -- b.py": "'--frobnicate'",
    "--split 1-1 nowhere.py -- b.py": "'nowhere.py'",
    "--master local[2] app.py -- app.py": "--master: app.py: 'local[2]'",
    "--applications two.txt a.py -- b.py": "--applications:",
    "--applications nowhere.txt": "--applications: 'nowhere.txt'",
    "--applications torn.txt": "--applications: 'torn.txt', line 2: No closing quotation",
    "--applications one.txt": "1 application",
    "--dry-run --scaling t.csv SQL -- Graph": "'Graph' … SQL, SVM",
    "--dry-run --split 1-2-1 --scaling t.csv SQL -- SVM": "--split: '1-2-1'",
    "--dry-run --split 2-1 --scaling t.csv SQL -- SVM": "--split: '2-1' … 3 … 2",
    "--dry-run --scaling t.csv SQL -- SVM -- SQL": "3 … 2",
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
    assert says(said.err, REFUSED[words]) and said.err.count("\n") == 1 and not said.out
    assert not (tmp_path / "state" / "studies").exists()
