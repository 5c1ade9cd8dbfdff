"""hearth lab study: published experiments by name, in this process and without Spark."""

import csv
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from statistics import geometric_mean
from types import SimpleNamespace
from typing import Any

import pytest
from claims import one_line

import studies_page
from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.cli.commands import split_command
from hearth.cli.commands.lab import study as command
from hearth.cli.main import command_parser, main
from hearth.machine.topology import Topology
from hearth.studies.listing import list_studies
from hearth.studies.models.binding import PUBLISHED
from hearth.studies.published.judge import Measured, judged, mean, ratios
from hearth.studies.published.needs import Capabilities, numbers_of
from hearth.studies.published.preset import Request, fill, names, preset, words
from hearth.studies.published.result import _arm
from hearth.studies.published.study import ready
from hearth.workloads import suites
from support import ROOT, check_golden, validate
from test_figures import figures, sections

EXAMPLES = ROOT / "contract" / "examples"
#: As of two sockets with a node each, and of eight.
TWO = {"cpus": 32, "cores": 16, "sockets": 2, "nodes": 2, "threads": 2, "half": 16, "quarter": 8,
       "per_node": 16, "slots": 16, "per_socket": 16, "pairs": 1, "per_pair": 32,
       "memory_mb": 256 << 10}  # fmt: skip
EIGHT = {**TWO, "cpus": 120, "sockets": 8, "nodes": 8, "pairs": 4, "per_pair": 30, "per_socket": 15,
         "memory_mb": 2 << 20}  # fmt: skip
#: The machine of Baig 2018.
POWER8 = {**TWO, "cpus": 192, "cores": 24, "nodes": 4, "threads": 8, "per_node": 48,
          "memory_mb": 1 << 20}  # fmt: skip
#: Meets every need that is not a number.
MET: dict[str, Any] = defaultdict(lambda: lambda: None)


def parses(line: list[str]) -> None:
    name, rest = split_command(line)
    module, parser = command_parser(name)
    parse = getattr(module, "parse", lambda parser, rest: parser.parse_args(rest))
    parse(parser, rest)


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine of two nodes that meets every other need; the state directory."""
    here = Capabilities(TWO, MET)
    monkeypatch.setattr(command, "topology", lambda debug: None)
    monkeypatch.setattr(command.Capabilities, "of", lambda machine: here)
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def test_each_experiment_of_the_five_studies_has_a_preset() -> None:
    number = Counter(name.partition("-")[0] for name in names())
    assert number == {"baig": 3, "lu": 4, "chiba": 3, "awan": 8, "partitions": 5}


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("numbers", [TWO, EIGHT], ids=["two sockets", "eight"])
@pytest.mark.parametrize("scale", [1.0, 0.001])
def test_each_step_is_a_command_line_that_its_parser_takes(
    name: str, numbers: dict[str, int], scale: float
) -> None:
    found = preset(name)
    for step in found.steps:
        parses(words(found, step, Request(scale), numbers, cold=True))


@pytest.mark.parametrize("name", names())
def test_a_dry_run_lists_what_would_run_and_runs_nothing(
    name: str, two_nodes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "study", "run", name, "--scale", "0.01", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    found, said = preset(name), " ".join(shown.split())
    missing = [one for one in found.steps
               if re.search(rf"not available: [^:]*\b{re.escape(one.name)}\b", said)]  # fmt: skip
    assert shown.count("\n  hearth ") + len(missing) >= len(found.steps)
    assert all(f"not available: {part.what}" in said for part in found.parts)
    assert not two_nodes.exists()


def test_the_numbers_of_a_machine_are_of_the_part_that_may_be_used() -> None:
    machine = typed(json.loads((EXAMPLES / "topology.json").read_text()), Topology)
    numbers = numbers_of(machine)
    assert numbers.keys() == TWO.keys()
    assert numbers["cpus"] == len(machine.usable_cpus)


def test_what_a_machine_lacks_is_said_with_its_number(two_nodes: Path) -> None:
    found = ready(preset("baig-pairs"), Request(0.01), Capabilities(TWO, MET))
    assert {reason for one in found for reason in one.missing} == {
        "needs 4 NUMA nodes with CPUs and memory, and 2 may be used"
    }
    (first, *_) = ready(
        preset("baig-sweep"), Request(), Capabilities({**TWO, "memory_mb": 8 << 10}, MET)
    )
    assert first.missing == ["its data of 47 GB exceed the memory of 8 GB: --scale 0.08"]


def test_heaps_are_the_studys_scaled_and_a_machine_that_is_too_small_for_them_says_so() -> None:
    whole, small = (
        ready(preset("chiba-kmeans"), Request(scale), Capabilities(TWO, MET))[0]
        for scale in (1.0, 0.01)
    )
    heaps = [one.command[one.command.index("--memory") + 1] for one in (whole, small)]
    assert heaps == ["49152m", "1024m"] and not whole.missing
    (tight,) = ready(
        preset("chiba-kmeans"), Request(), Capabilities({**TWO, "memory_mb": 96 << 10}, MET)
    )
    limit = "64 GB, two thirds of the memory"
    assert tight.missing == [f"its heaps of 96 GB exceed {limit}: --scale 0.6"]
    (fits,) = ready(
        preset("chiba-kmeans"), Request(0.6), Capabilities({**TWO, "memory_mb": 96 << 10}, MET)
    )
    assert not fits.missing
    (least,) = ready(
        preset("chiba-kmeans"), Request(0.02), Capabilities({**TWO, "memory_mb": 2560}, MET)
    )
    assert least.missing == [
        "its heaps of 2 GB exceed 1.7 GB, two thirds of the memory: at no --scale are they below "
        "2 GB: use a machine with more memory"
    ]


def test_a_study_of_which_nothing_can_run_says_so_before_it_makes_anything(
    two_nodes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "study", "run", "lu-dfsio"]) == 2
    said = capsys.readouterr().err
    assert "not available: TestDFSIO" in said and "no step can run here" in said
    assert not two_nodes.exists()


def comparison(baseline: str, other: str) -> dict[str, Any]:
    """The example, 10 s to 8 s, with other names of its arms."""
    document = json.loads((ROOT / "fixtures" / "documents" / "comparison.json").read_text())
    one, two = document["arms"][:2]
    counted: Any = {"measures": {"minor_faults": 9.0}, "each": {"minor_faults": [9.0, 8.0, 9.0]}}
    arms = [{**one, **counted, "name": baseline}, {**two, **counted, "name": other}]
    return {**document, "baseline": baseline, "arms": arms}


def test_the_table_stands_beside_the_published_one_and_is_kept(
    two_nodes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_command", lambda line, debug: comparison("unbound", "bound"))
    page = two_nodes.parent / "page.html"
    line = ["lab", "study", "run", "chiba-kmeans", "--scale", "0.01", "--html", str(page), "--json"]
    assert main(line) == 0
    document = json.loads(capsys.readouterr().out)
    validate("study", document)
    row, *counted = document["studies"][0]["rows"]
    assert {one["reason"] for one in counted[1:]} == {
        f"'{name}' of 'bound' was not measured here" for name in ("tlb_misses", "remote_loads")
    }
    assert counted[0]["interval"][0] <= 0 <= counted[0]["interval"][1]
    assert (row["published"], row["measured"]) == ("13 %", pytest.approx(25.0, 0.01))
    assert (row["verdict"], document["verdicts"]["contradicted"]) == ("contradicted", 1)
    assert document["binding"] == "it paid in 1 of 1 workloads, and cost time in 0"
    (kept,) = list_studies(two_nodes)[0]
    assert (kept.kind, kept.application, kept.asked) == ("study", "chiba-kmeans", ["scale 0.01"])
    assert main(["report", kept.id]) == 0
    shown = capsys.readouterr().out
    assert "13 %" in shown and "25.01 %" in shown and "contradicted" in shown
    assert "contradicted" in page.read_text()
    assert main(["runs", "list", "--kind", "study"]) == 0
    assert kept.id[:25] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "arms", "verdict"),
    [
        ("awan-executors", ("1x16", "2x8"), "not here: needs 24 cores, and 16 may be used"),
        ("awan-prefetchers", ("all on", "l1-next-line off"), "contradicted: None"),
        ("awan-prefetchers", ("l1-next-line off", "all on"), "undecided: published as the most"),
    ],
)
def test_a_number_is_contradicted_only_where_it_should_have_held(
    name: str, arms: tuple[str, str], verdict: str, two_nodes: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(command, "_command", lambda line, debug: comparison(*arms))
    assert main(["lab", "study", "run", name, "--scale", "0.01", "--json"]) == 0
    row, *_ = json.loads(capsys.readouterr().out)["studies"][0]["rows"]
    assert f"{row['verdict']}: {row.get('reason')}".startswith(verdict)


def test_each_application_of_a_pair_has_the_executors_of_table_viii_and_the_studys_settings() -> (
    None
):
    pairs = preset("baig-pairs")
    for step, sizes in [
        ("2-2 SQL+SVM", [("6", "8"), ("12", "6")]),
        ("1-3 SVM+PageRank", [("1", "24"), ("18", "3")]),
        ("3-1 SQL+PageRank", [("6", "8"), ("1", "24")]),
    ]:
        (one,) = [one for one in pairs.steps if one.name == step]
        line = words(pairs, one, Request(0.01), POWER8, cold=False)
        sides = line[: line.index("--")], line[line.index("--") :]
        for side, size in zip(sides, sizes, strict=True):
            assert tuple(side[side.index(name) + 1] for name in ("--executors", "--cores")) == size
            assert "spark.io.compression.codec=lz4" in side
        small = words(pairs, one, Request(0.01), {**POWER8, "per_node": 2}, cold=False)
        assert {small[n + 1] for n, word in enumerate(small) if word == "--cores"} == {"1"}


def test_a_searched_configuration_stands_for_all_that_were_tried() -> None:
    found = {"2B 2x4": {"seconds": 7.0}, "2B 4x2": {"seconds": 5.0}, "2NB 2x4": {"seconds": 4.0}}
    read = [_arm(found, name, "seconds")[1] for name in ("2B", "2B 2x4", "best", "2N*")]
    assert read == [5.0, 7.0, 4.0, 4.0]
    with pytest.raises(LookupError, match="'3B' did not run here"):
        _arm(found, "3B", "seconds")


def test_a_study_goes_on_behind_its_last_whole_step(
    two_nodes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def fails(line: list[str], debug: bool) -> dict[str, Any]:
        ran.append(line[line.index("--queries") + 1] if "--queries" in line else "all")
        if ran[-1] == "5":
            raise UserError("the disk is full")
        if ran[-1] == "9":
            raise KeyboardInterrupt
        return comparison("unbound", "bound")

    monkeypatch.setattr(command, "_command", fails)
    line = ["lab", "study", "run", "chiba-tpch", "--scale", "0.01"]
    assert main(line) == 130
    said = capsys.readouterr().err
    (kept,) = list_studies(two_nodes)[0]
    assert f"'hearth lab study run --resume {kept.id}' continues from here" in said
    monkeypatch.setattr(
        command,
        "_command",
        lambda line, debug: ran.append("again") or comparison("unbound", "bound"),
    )
    assert main(["lab", "study", "run", "--resume", kept.id]) == 0
    assert ran == ["1", "5", "9", "again", "again", "again"]
    assert main(["lab", "study", "run", "--scale", "0.02", "--resume", kept.id]) == 2
    assert "has scale 0.01, not 0.02" in capsys.readouterr().err


def test_a_budget_is_spent_on_binding_first_and_what_it_leaves_out_is_said_before_it_starts(
    two_nodes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def command_of(line: list[str], debug: bool) -> dict[str, Any]:
        said = " ".join(capsys.readouterr().err.split())
        assert ran or "hearth: runs baig-binding (SVM, SQL), partitions-decision (" in said
        assert ran or "hearth: no time for awan-bandwidth (word-count, k-means)" in said
        ran.append(" ".join(line))
        return comparison("unbound", "bound")

    monkeypatch.setattr(command, "_command", command_of)
    line = ["lab", "study", "run", "--all", "--scale", "0.01", "--budget", "4m", "--json"]
    assert main(line) == 0
    timed = [line for line in ran if not line.startswith("plan ")]
    assert [line.startswith("lab characterise --budget ") for line in timed] == [True, True]
    document = json.loads(capsys.readouterr().out)
    rows = [row["verdict"] for study in document["studies"] for row in study["rows"]
            if re.search(r"\d", row["published"])]  # fmt: skip
    assert {name: rows.count(name) for name in document["verdicts"]} == document["verdicts"]
    ran[:] = ["again"]
    (kept,) = list_studies(two_nodes)[0]
    assert main(["lab", "study", "run", "--resume", kept.id, "--budget", "2m"]) == 0
    assert "page-rank" in ran[1] and len(ran) == 2


def test_a_step_of_too_few_runs_for_an_interval_is_run_again_by_resume(
    two_nodes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = comparison("unbound", "bound")
    short = {**whole, "arms": [{**arm, "seconds": arm["seconds"][:2]} for arm in whole["arms"]]}
    documents = [short, whole]
    monkeypatch.setattr(command, "_command", lambda line, debug: documents.pop(0))
    assert main(["lab", "study", "run", "chiba-kmeans", "--scale", "0.01", "--budget", "1m"]) == 0
    (kept,) = list_studies(two_nodes)[0]
    for _ in range(2):
        assert main(["lab", "study", "run", "--resume", kept.id, "--budget", "9m"]) == 0
        assert "it paid in 1 of 1 workloads" in " ".join(capsys.readouterr().out.split())


def test_a_step_that_fails_is_named_and_the_exit_code_says_so(
    two_nodes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(line: list[str], debug: bool) -> dict[str, Any]:
        raise UserError("the disk is full: free some")

    monkeypatch.setattr(command, "_command", fails)
    assert main(["lab", "study", "run", "chiba-kmeans", "--scale", "0.01"]) == 1
    shown = capsys.readouterr().out
    assert "not here: K-Means, bound to not bound" in shown and "the disk is full: free" in shown


def test_a_command_that_says_why_it_runs_nothing_fails_its_step_with_these_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refusing:
        parse = staticmethod(lambda parser, rest: rest)
        run = staticmethod(lambda options: print("Do not bind: the plan is native"))

    monkeypatch.setattr(command, "command_parser", lambda name: (Refusing, None))
    with pytest.raises(UserError, match="hearth compare: Do not bind: the plan is native"):
        command._command(["compare", "word-count"], debug=False)


def test_the_page_cache_is_dropped_where_the_study_did_so_unless_it_is_to_stay_warm() -> None:
    here = Capabilities(TWO, {"cold": lambda: None})
    ways = [ready(preset("baig-sweep"), Request(0.01, warm=warm), here) for warm in (False, True)]
    assert [["--cold" in one.command for one in way] for way in ways] == [[True] * 3, [False] * 3]
    refused = Capabilities(TWO, {"cold": lambda: "only root can"})
    assert "--cold" not in ready(preset("baig-sweep"), Request(0.01), refused)[0].command


def test_jobs_of_a_series_may_have_parameters_and_settings_of_their_own() -> None:
    offer: Any = SimpleNamespace(job=lambda name: SimpleNamespace(name=name))
    entries = suites.named("k-means --api rdd,k-means", offer)
    assert [entry.label for entry in entries] == ["k-means --api rdd", "k-means"]
    (wire,) = suites.named("sort-by --maps 4 --conf spark.shuffle.manager=wire", offer)
    assert (wire.parameters, wire.conf) == ({"maps": "4"}, {"spark.shuffle.manager": "wire"})
    assert wire.label == "sort-by --maps 4 --conf spark.shuffle.manager=wire"
    with pytest.raises(UserError, match="write KEY=VALUE"):
        suites.named("sort-by --conf", offer)
    (both,) = suites.named("sort-by --conf 'spark.x=a,b'", offer)
    assert both.conf == {"spark.x": "a,b"}
    with pytest.raises(UserError, match="has no other"):
        suites.named("sort-by --conf 'spark.x=a,b", offer)
    with pytest.raises(UserError, match="k-means --api rdd is given twice"):
        suites.named("k-means --api rdd, k-means --api rdd", offer)


def test_the_decision_of_the_plan_stands_beside_the_studys(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    assert main(["lab", "study", "run", "partitions-decision", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document["studies"][0]["rows"]
    assert [(row["value"], row["measured"]) for row in rows] == [(15, 15), (15, 15), (30, 30)]
    assert {row["verdict"] for row in rows} == {"not here"}  # taken from it, so no evidence


def test_the_page_of_the_documentation_is_made_from_the_presets() -> None:
    check_golden("studies.md", studies_page.page(), ROOT / "docs")


def test_every_number_that_the_sources_list_stands_on_the_page(shared: Path) -> None:
    listed = (shared / "SOURCES.md").read_text().split("## Numbers that each need an answer")[1]
    rows = [line for line in listed.split("\n## ")[0].splitlines() if line.startswith("| ")][1:]
    answers = studies_page.page().split("\n## ")[1:]
    for row, answer in zip(rows, answers, strict=True):
        assert not numbers_in(row) - numbers_in(answer), row[:20]


def numbers_in(text: str) -> set[float]:
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return {float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", plain)}


def test_a_published_ratio_holds_or_does_not_or_too_little_is_known_of_it() -> None:
    ways = {(1.01, 1.1): "reproduced", (1.2, 1.3): "contradicted", (0.6, 1.8): "undecided",
            (1.03, 1.049): "reproduced", (0.99, 1.3): "undecided", None: "undecided",
            (1.0, 1.01): "contradicted", (0.98, 1.02): "contradicted"}  # fmt: skip
    assert {ends: judged(1.05, Measured(1.0, ends)) for ends in ways} == ways
    assert Measured.of([1.2, 1.2]).interval is None
    both = mean([ratios([2.0, 4.0, 8.0], [1.0, 2.0, 4.0]), ratios([8.0] * 3, [1.0] * 3)])
    assert both == pytest.approx([4.0] * 3)


def test_the_cells_of_the_sweep_are_the_published_ones(shared: Path) -> None:
    of_node = fill("{cells}", {"per_node": 48, "nodes": 4}).split(",")
    for step, name in (("SVM", "table4_svm.csv"), ("PageRank", "table6_pagerank.csv")):
        rows = csv.DictReader((shared / "data" / "power8" / name).read_text().splitlines())
        published = {f"{r['workers']}x{r['cores_per_worker']}": float(r["seconds"]) for r in rows}
        assert preset("baig-sweep").cells[step] == published and set(of_node) == set(published)


def test_what_a_model_predicts_of_a_published_gain_follows_from_the_others() -> None:
    bound = preset("baig-binding").values
    gains = [*bound, *preset("chiba-kmeans").values, *preset("chiba-tpch").values]
    for gain in gains:
        what, _, of = gain.what.partition(",")
        others = [one.value or 0.0 for one in bound if one.what != gain.what
                  and one.what.partition(",")[2] == of]  # fmt: skip
        if gain.binding:
            others = [times for name, times in PUBLISHED.items() if not what.startswith(name)]
        if gain.predicted is not None:
            predicted = gain.predicted if gain.unit == "times" else 1 + gain.predicted / 100
            assert predicted == pytest.approx(geometric_mean(others), abs=0.006), gain.what


def test_a_figure_of_an_answer_stands_in_the_benchmarks_that_it_names() -> None:
    for found in studies_page.presets():
        for value in studies_page.numbers(found):
            answer = found.answer_of(value)
            document, _, anchor = (answer.page or "").partition("#")
            assert (
                bool(document)
                or answer.kind in ("open", "taken")
                or "arithmetic" in answer.text
                or ("nothing is timed" in answer.text)
            ), value.what
            if document:
                parts = sections(document, with_blocks=True)
                text = next(p.text for p in parts if _anchor(p.title) == anchor)
                for figure in figures(one_line(answer.text)):
                    assert figure[0] in text, (value.what, figure[0])


def _anchor(title: str) -> str:
    kept = "".join(sign for sign in title.lower() if sign.isalnum() or sign in " -")
    return kept.replace(" ", "-")
