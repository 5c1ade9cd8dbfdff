"""What the doctor makes of its rules: order, silence, exit code, page, JSON, captures."""

import gzip
import json
import lzma
import re
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.cases import CASES, ROOT_MOUNT
from doctor.made_machine import AMPLE, PLAN, TOPOLOGY, Given, mount
from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.cli.main import main
from hearth.doctor.brief import findings_in_brief
from hearth.doctor.examine import Examined, examine
from hearth.doctor.reading import _unpacked, captured_machine
from hearth.doctor.rule import Problem, Worth
from hearth.doctor.rules import RULES
from hearth.doctor.silence import read_silenced, silence, unsilence
from hearth.machine.tree import NotSeen, Tree
from hearth.report.doctor import doctor_blocks
from hearth.report.html.page import page
from hearth.report.terminal.blocks import show_blocks
from hearth.report.terminal.screen import Screen
from support import ROOT, Command, check_golden, validate

WRONG = ("memory-maps", "hardware-threads", "host-name")


def examined(root: Path, *names: str, silenced: dict[str, str] | None = None) -> Examined:
    """What is found where these rules find what is wrong, and all others see nothing."""
    files = {path: text for name in names for path, text in CASES[name].wrong.files.items()}
    machine = Given(files).machine(root)
    return examine(machine, None, silenced or {}, [RULES[name] for name in names])


def test_all_that_is_known_of_the_findings_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    names = (*WRONG, "shared-memory", "governor")
    files = {path: text for name in names[:4] for path, text in CASES[name].wrong.files.items()}
    given = Given(files, topology=CASES["uneven-nodes"].wrong.topology)
    machine = given.machine(tmp_path)
    rules = [RULES[name] for name in (*names, "uneven-nodes")]
    found = examine(machine, None, {"memory-maps": "no block is larger than 2 MB"}, rules)
    brief, whole = (
        show_blocks(doctor_blocks(found, explain=each, everything=each), Screen(200))
        for each in (False, True)
    )
    check_golden("doctor.txt", "\n".join([*brief, "", *whole]) + "\n")
    first, harm, advice, note, *_ = [line for line in brief if line and line[:4] != " " * 4]
    assert first == whole[0]
    for line, grave, name in (
        (harm, "harm", "host-name"),
        (advice, "advice", "hardware-threads"),
        (note, "note", "uneven-nodes"),
    ):
        assert line.startswith(f"{grave} {name}: ") and " -> " in line


@pytest.mark.parametrize(("user", "who"), [(0, "here"), (1000, "as root")])
def test_the_kernel_is_told_by_a_command_and_another_makes_it_last(
    tmp_path: Path, user: int, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    found = examined(tmp_path, "memory-maps")
    (one,) = found.findings
    assert one.command == "sysctl -w vm.max_map_count=262144"
    assert one.how == f"{who}: {one.command}"
    lasts = "sh -c 'echo vm.max_map_count=262144 > /etc/sysctl.d/90-hearth-memory-maps.conf'"
    assert one.lasting == lasts
    brief, whole = (
        show_blocks(doctor_blocks(found, explain=each), Screen(60)) for each in (False, True)
    )
    assert f"    {one.command}" in brief and f"    {lasts}" not in brief
    assert whole[whole.index(f"  to do: {who}:") :][:4] == [
        f"  to do: {who}:", f"    {one.command}", "  to make it last:", f"    {lasts}"
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["offline-cpus", "governor", "reserved-huge-pages"])
def test_the_commands_write_to_every_file_that_is_wrong(tmp_path: Path, name: str) -> None:
    """Run by a shell, on files below a folder instead of / ."""
    machine = CASES[name].wrong.machine(tmp_path)
    outcome = RULES[name].outcome(machine)
    assert isinstance(outcome, Problem)
    for change in outcome.changes:
        (tmp_path / change.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / change.path).write_text("wrong\n")
    (tmp_path / "etc/tmpfiles.d").mkdir(parents=True)
    for command in outcome.commands(name) or ():
        below = re.sub(r" /(sys|etc)/", rf" {tmp_path}/\1/", command)
        subprocess.run(["sh", "-c", below], check=True, stdout=subprocess.DEVNULL)
    written = (tmp_path / f"etc/tmpfiles.d/hearth-{name}.conf").read_text()
    for change in outcome.changes:
        assert (tmp_path / change.path).read_text() == f"{change.value}\n"
        assert f"w {tmp_path}/{change.path} - - - - {change.value}\n" in written


def test_words_are_no_command(tmp_path: Path) -> None:
    found = examined(tmp_path, *WRONG, "open-files").findings
    words = {"host-name", "open-files"}
    assert {one.name for one in found if one.command is None} == words
    assert {one.name for one in found if one.lasting is None} == words


def test_harm_comes_first_then_what_a_study_has_measured(tmp_path: Path) -> None:
    found = examined(tmp_path, *WRONG)
    assert [one.name for one in found.findings] == ["host-name", "hardware-threads", "memory-maps"]
    assert found.does_harm
    assert [one.worth.kind for one in found.findings] == ["unknown", "published", "unknown"]
    validate("doctor", to_json(found))


def test_a_silenced_finding_does_not_count_and_is_shown_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "state" / "silenced.json"
    silence(file, "memory-maps", "no block is  larger than 2 MB")
    found = examined(tmp_path, "memory-maps", silenced=dict(read_silenced(file)))
    assert not found.findings
    assert [one.silenced for one in found.silenced] == ["no block is larger than 2 MB"]
    unsilence(file, "memory-maps")
    assert not read_silenced(file)
    with pytest.raises(UserError, match="memory-maps is not silenced"):
        unsilence(file, "memory-maps")


@pytest.mark.parametrize(
    ("name", "reason", "said"),
    [("memory-map", "x", "did you mean 'memory-maps'"), ("turbo", " ", "give 1 to 200 characters")],
)
def test_silence_needs_a_check_and_a_reason(
    tmp_path: Path, name: str, reason: str, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        silence(tmp_path / "silenced.json", name, reason)


def test_a_damaged_file_of_silenced_findings_is_named(tmp_path: Path) -> None:
    (tmp_path / "silenced.json").write_text('{"reasons": {"turbo": 3}}')
    with pytest.raises(UserError, match=r"silenced\.json' cannot be read"):
        read_silenced(tmp_path / "silenced.json")


def test_every_rule_is_listed_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n  {name}: " in listed for name in RULES)
    assert listed.count("    source: ") == len(RULES)


def test_what_a_container_may_only_read_is_changed_on_the_host(tmp_path: Path) -> None:
    wrong = CASES["memory-maps"].wrong.files
    for name, rows in {
        "container": (ROOT_MOUNT, ("/proc", "proc", "rw"), ("/proc/sys", "proc", "ro")),
        "host": (ROOT_MOUNT,),
    }.items():
        machine = mount(*rows, files=wrong).machine(tmp_path / name)
        (one,) = examine(machine, None, {}, [RULES["memory-maps"]]).findings
        assert one.how.startswith("on the host: sysctl") == (name == "container")
        (one,) = examine(machine, "a capture", {}, [RULES["memory-maps"]]).findings
        assert one.how.startswith("there, as root: sysctl")


def test_the_page_has_each_finding_and_loads_nothing(tmp_path: Path) -> None:
    found = examined(tmp_path, *WRONG, silenced={"memory-maps": "<b>small</b>"})
    html = page([], replace(found, machine="a <capture>"))
    assert "<h3>harm host-name: host name big_box: an underscore</h3>" in html
    assert "&lt;b&gt;small&lt;/b&gt;" in html and "a &lt;capture&gt;" in html
    assert "<script" not in html


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--silence", "turbo"], "--silence and --reason go together"),
        (["--fix", "turbo"], "use 'hearth doctor --explain'"),
    ],
)
def test_options_that_do_not_go_together_or_are_gone_are_one_line(
    refused: Callable[..., str], words: list[str], said: str
) -> None:
    assert said in refused("doctor", *words)


@pytest.mark.command
def test_a_capture_answers_what_it_holds(hearth: Command) -> None:
    file = ROOT / "fixtures" / "machines" / "emulated-two-nodes.tar.gz"
    done = hearth("doctor", "--json", "--machine", str(file))
    found = json.loads(done.stdout)
    validate("doctor", found)
    seen = {one["name"] for one in found["sound"]} | {one["name"] for one in found["findings"]}
    assert {"uneven-nodes", "memory-nodes-allowed"} <= seen
    unseen = {one["name"]: one["reason"] for one in found["not_checked"]}
    assert unseen["spark-version"] == "not part of a capture"
    assert unseen["swappiness"] == "there is no /proc/sys/vm/swappiness"
    assert done.returncode == any(one["severity"] == "harm" for one in found["findings"])


#: What is true of some captures of hwloc's: one of eight nodes has half of the memory; cores of two
#: kinds, once by their clocks alone; a cpuset with memory of other nodes than its CPUs'.
SHARED = {
    "64amd64-4s2n4ca2co": {"uneven-nodes"},
    "20em64t-hybrid-1p6c2t+2ca4co1t": {"core-kinds"},
    "nvidia-dgx-gb10": {"core-kinds", "turbo"},
    "16amd64-4n4c-cgroup-distance-merge": {"memory-nodes-allowed", "reserved-huge-pages"},
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.command
def test_what_is_found_in_a_shared_capture_is_true(
    hearth: Command, shared: Path, name: str
) -> None:
    file = shared / "data" / "machines" / f"{name}.tar.bz2"
    found = json.loads(hearth("doctor", "--json", "--machine", str(file)).stdout)
    assert {one["name"] for one in found["findings"]} == SHARED[name]


@pytest.mark.command
def test_this_machine_is_examined_without_a_claim_that_needs_root(
    hearth: Command, tmp_path: Path
) -> None:
    done = hearth("doctor", "--json", "--html", str(tmp_path / "page.html"))
    found = json.loads(done.stdout)
    validate("doctor", found)
    assert done.returncode == ("harm" in {one["severity"] for one in found["findings"]})
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600
    parts = ("findings", "silenced", "sound", "not_checked")
    assert sum(len(found[part]) for part in parts) == len(RULES)
    assert "spark-version" in {one["name"] for one in found["sound"]}


@pytest.fixture
def quoting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of silenced findings, of a user whose directories are sound."""
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("SPARK_LOCAL_HOSTNAME", raising=False)
    monkeypatch.setattr("hearth.doctor.machine.space_of", lambda folder: AMPLE)
    return tmp_path / "state" / "doctor" / "silenced.json"


def test_a_run_quotes_what_does_harm_unless_it_is_silenced(tmp_path: Path, quoting: Path) -> None:
    root = tmp_path / "root"
    for name in ("host-name", "open-files", "address-space"):
        CASES[name].wrong.machine(root)
    said = findings_in_brief({}, None, root=root)
    assert (
        said[0] == "host name big_box: an underscore: 'hearth doctor' says what to do (host-name)"
    )
    assert len(said) == 2
    silence(quoting, "host-name", "Spark is told another")
    assert "host-name" not in "".join(findings_in_brief({}, None, root=root))
    assert findings_in_brief({}, None, root=tmp_path / "nothing") == []


def test_a_run_quotes_what_its_own_settings_and_plan_make_of_the_machine(
    tmp_path: Path, quoting: Path
) -> None:
    sound, short = tmp_path / "sound", tmp_path / "short"
    asked = {"spark.executor.memory": "33g"}
    (said,) = findings_in_brief(asked, None, root=sound)
    assert said == (
        "spark.executor.memory = 33 GB (K-Means and a Gaussian mixture were up to 36 % faster in "
        "six executors of four cores than in one of 50 GB (Awan 2016, no second threads)): 'hearth "
        "doctor' says what to do (compressed-pointers)"
    )
    CASES["free-memory"].wrong.machine(short)
    assert findings_in_brief({}, None, root=short) == []
    assert "(free-memory)" in findings_in_brief({}, PLAN, root=short)[0]
    silence(quoting, "compressed-pointers", "it was measured")
    assert findings_in_brief(asked, None, root=sound) == []


def test_a_run_quotes_speed_where_a_figure_is_known_the_larger_first(
    tmp_path: Path, quoting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    for name in ("memory-maps", "zone-reclaim", "turbo"):
        CASES[name].wrong.machine(root)
    assert findings_in_brief({}, None, root=root) == []
    here = {
        "memory-maps": Worth("measured", "measured here, faster: 0.97 of the time", 3),
        "zone-reclaim": Worth("measured", "measured here, slower: 1.20 of the time", -20),
        "turbo": Worth("undecided", "measured here, undecided", 0),
    }
    monkeypatch.setattr("hearth.doctor.brief._measured", lambda names, application: here)
    said = findings_in_brief({"spark.executor.memory": "33g"}, None, root=root)
    assert [line.rpartition("(")[2] for line in said] == ["compressed-pointers)", "memory-maps)"]
    assert "(measured here, faster: 0.97 of the time)" in said[1]


def test_an_archive_of_a_stranger_writes_and_reads_nothing_elsewhere(tmp_path: Path) -> None:
    file, outside = tmp_path / "machine.tar.gz", tmp_path / "outside"
    outside.write_text("secret")
    with tarfile.open(file, "w:gz") as archive:
        for name, kind, target in [
            ("box/proc/sys/vm/swappiness", tarfile.SYMTYPE, str(outside)),
            ("box/proc/sys/vm/zone_reclaim_mode", tarfile.FIFOTYPE, ""),
            ("../proc/outside", tarfile.REGTYPE, ""),
            ("box/proc/cmdline", tarfile.REGTYPE, ""),
            ("box/proc/cmdline/below", tarfile.REGTYPE, ""),
        ]:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    with _unpacked(file) as root:
        for path in ("proc/sys/vm/swappiness", "proc/sys/vm/zone_reclaim_mode"):
            with pytest.raises(NotSeen, match=f"there is no /{path}"):
                Tree(root).text(path)
        assert Tree(root).text("proc/cmdline") == ""
    assert not root.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["machine.tar.gz", "outside"]


def test_a_link_of_a_capture_in_a_directory_shows_no_file_of_this_machine(tmp_path: Path) -> None:
    root, outside = tmp_path / "box", tmp_path / "outside"
    outside.mkdir()
    (outside / "vm").write_text("100")
    (root / "proc/sys/vm").mkdir(parents=True)
    (root / "proc/sys/vm/swappiness").symlink_to(outside / "vm")
    (root / "sys").symlink_to(outside)
    with captured_machine(root, TOPOLOGY, PLAN, None) as machine:
        for ask in (machine.tree.text, machine.tree.mode):
            with pytest.raises(NotSeen, match="a link points outside the capture"):
                ask("proc/sys/vm/swappiness")
        with pytest.raises(NotSeen, match="a link points outside the capture"):
            machine.tree.names("sys")
        assert not machine.tree.has("sys/vm")
        (root / "proc/sys/vm/inside").symlink_to("/" + "../" * 30 + str(root / "proc/value"))
        (root / "proc/value").write_text("7")
        assert machine.tree.text("proc/sys/vm/inside") == "7"


def test_an_archive_that_is_cut_or_altered_is_named(tmp_path: Path) -> None:
    whole = (ROOT / "fixtures" / "machines" / "emulated-two-nodes.tar.gz").read_bytes()
    half = len(whole) // 2
    other = lzma.compress(gzip.decompress(whole))
    for name, content in {
        "cut.tar.gz": whole[:half],
        "altered.tar.gz": whole[:half] + b"\xff" * 9 + whole[half + 9 :],
        "altered.tar.xz": other[: len(other) // 2] + b"\xff" * 9 + other[len(other) // 2 + 9 :],
    }.items():
        file = tmp_path / name
        file.write_bytes(content)
        with pytest.raises(UserError, match=f"{name} cannot be unpacked"), _unpacked(file):
            pass
