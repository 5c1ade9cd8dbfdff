"""The jobs of GraphX on a small graph, held against scipy and networkx."""

import dataclasses
import json
import shutil
from pathlib import Path

import networkx
import pytest
import small_data
from spark_runs import planned, run_all, with_answer

from hearth.workloads.checks import FinishedRun, graph
from hearth.workloads.checks import large as of_large
from hearth.workloads.checks.duck import duck
from hearth.workloads.checks.registry import check

pytestmark = pytest.mark.spark

Runs = dict[str, FinishedRun]
JOBS = {"page-rank": "ranks", "connected-components": "components", "triangle-count": "triangles"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("graph")
    data = {"graph": small_data.graph(folder / "graph")}
    return run_all(folder, {job: planned(folder, job, job, data) for job in JOBS})


@pytest.mark.parametrize("job", JOBS)
def test_the_answer_of_each_job_is_found_right(runs: Runs, job: str) -> None:
    verdict = check(runs[job])
    assert verdict.status == "checked", verdict.detail


def test_ranks_sum_up_to_the_number_of_vertices(runs: Runs) -> None:
    answer = runs["page-rank"].result["answer"]
    assert answer["sum"] == pytest.approx(answer["vertices"])
    assert len(answer["top"]) == 20


def test_triangles_and_components_are_networkx_s(runs: Runs) -> None:
    other = networkx.Graph()
    for file in runs["triangle-count"].data["graph"].glob("part-*"):
        other.add_edges_from(line.split("\t") for line in file.read_text().splitlines())
    components = list(networkx.connected_components(other))
    other.remove_edges_from(list(networkx.selfloop_edges(other)))
    answer = runs["triangle-count"].result["answer"]
    assert answer["triangles"] == sum(networkx.triangles(other).values()) // 3
    assert runs["connected-components"].result["answer"]["components"] == len(components)


@pytest.mark.parametrize("job", JOBS)
def test_one_vertex_with_another_value_is_found_wrong(runs: Runs, job: str) -> None:
    file = _first(runs[job].answer / JOBS[job])
    text = file.read_text()
    first, rest = text.split("\n", 1)
    vertex, value = first.split("\t")
    changed = str(float(value) * 1.0001) if job == "page-rank" else str(int(value) + 1)
    try:
        file.write_text(f"{vertex}\t{changed}\n{rest}")
        assert check(runs[job]).status == "wrong"
        for listed in (rest, f"{first}\n{text}"):
            file.write_text(listed)
            verdict = check(runs[job])
            assert verdict.status == "wrong"
            assert "listed" in verdict.detail or "lists" in verdict.detail
    finally:
        file.write_text(text)


@pytest.mark.parametrize(
    ("job", "value"),
    [
        ("connected-components", "components"),
        ("connected-components", "largest"),
        ("triangle-count", "triangles"),
    ],
)
def test_a_number_with_a_fault_is_found_wrong(runs: Runs, job: str, value: str) -> None:
    number = runs[job].result["answer"][value]
    assert check(with_answer(runs[job], **{value: number + 1})).status == "wrong"


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All graphs are taken for too large to be worked out anew."""
    monkeypatch.setattr(graph, "too_large", lambda folder, limit: True)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("job", JOBS)
def test_of_a_large_graph_what_holds_of_every_right_answer_is_found_to_hold(
    runs: Runs, job: str
) -> None:
    verdict = check(runs[job])
    assert (verdict.status, verdict.detail[:7]) == ("checked", "large: "), verdict.detail


def test_the_edges_of_a_large_graph_are_looked_at_and_not_all_pairs_of_its_vertices(
    runs: Runs,
) -> None:
    run = runs["connected-components"]
    with duck(run) as connection:
        of_large.graph_views(connection, run, "components", "BIGINT")
        explained = connection.execute(f"EXPLAIN {of_large.CROSSING_EDGES}").fetchall()[0][1]
    joins = [line for line in explained.splitlines() if "Join" in line and "Type" not in line]
    assert len(joins) == 2 and all("Hash Join" in line for line in joins), explained


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("job", JOBS)
def test_one_vertex_with_another_value_is_found_wrong_in_a_large_graph(
    runs: Runs, job: str
) -> None:
    test_one_vertex_with_another_value_is_found_wrong(runs, job)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("job", JOBS)
def test_edges_lost_are_found_by_the_manifest_of_a_large_graph(
    runs: Runs, job: str, tmp_path: Path
) -> None:
    folder = tmp_path / "graph"
    shutil.copytree(runs[job].data["graph"], folder)
    run = dataclasses.replace(runs[job], data={"graph": folder})
    edges = run.result["answer"]["edges"]
    for made, status in ((edges, "checked"), (edges + 1, "wrong")):
        (folder / "_manifest.json").write_text(json.dumps({"rows": made}))
        assert check(run).status == status


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("job", "value"),
    [
        ("page-rank", "sum"),
        ("page-rank", "vertices"),
        ("connected-components", "components"),
        ("connected-components", "largest"),
        ("triangle-count", "triangles"),
    ],
)
def test_a_number_with_a_fault_is_found_wrong_of_a_large_graph(
    runs: Runs, job: str, value: str
) -> None:
    test_a_number_with_a_fault_is_found_wrong(runs, job, value)


@pytest.mark.usefixtures("large")
def test_values_that_change_places_are_found_wrong_in_a_large_graph(
    runs: Runs, tmp_path: Path
) -> None:
    """The sums stay as they are: only the edges can tell."""
    for job, name in (("page-rank", "ranks"), ("triangle-count", "triangles")):
        answer = tmp_path / job
        shutil.copytree(runs[job].answer, answer)
        files = [file for file in (answer / name).glob("part-*") if file.stat().st_size]
        rows = [line.split("\t") for file in files for line in file.read_text().splitlines()]
        values = [value for _, value in rows]
        turned = [f"{row[0]}\t{value}\n" for row, value in zip(rows, reversed(values), strict=True)]
        for file in files:
            file.write_text("")
        files[0].write_text("".join(turned))
        assert check(dataclasses.replace(runs[job], answer=answer)).status == "wrong", job


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("of_all", "expected"),
    [
        (True, "not named by their smallest vertex"),
        (False, "edges lead from one component to another"),
    ],
)
def test_a_component_of_a_large_graph_with_another_name_or_cut_in_two_is_found_wrong(
    runs: Runs, tmp_path: Path, of_all: bool, expected: str
) -> None:
    run = runs["connected-components"]
    files = (run.answer / "components").glob("part-*")
    rows = [line.split("\t") for file in files for line in file.read_text().splitlines()]
    names = [name for _, name in rows]
    largest = max(names, key=names.count)
    last = max((vertex for vertex, name in rows if name == largest), key=int)
    cut = {vertex for vertex, name in rows if name == largest} if of_all else {last}
    answer = tmp_path / "answer" / "components"
    answer.mkdir(parents=True)
    renamed = [f"{vertex}\t{last if vertex in cut else name}\n" for vertex, name in rows]
    (answer / "part-00000").write_text("".join(renamed))
    verdict = check(dataclasses.replace(run, answer=answer.parent))
    assert verdict.status == "wrong"
    assert expected in verdict.detail


def test_a_formula_whose_limit_is_not_that_of_networkx_is_found_wrong(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = graph._converged
    monkeypatch.setattr(graph, "_converged", lambda edges, reset: limit(edges, reset * 1.01))
    verdict = check(runs["page-rank"])
    assert verdict.status == "wrong"
    assert "away from networkx's" in verdict.detail


@pytest.mark.parametrize("job", ["page-rank", "triangle-count"])
def test_a_list_of_the_largest_with_a_fault_is_found_wrong(runs: Runs, job: str) -> None:
    top = runs[job].result["answer"]["top"]
    assert check(with_answer(runs[job], top=[*top[:-2], top[-1], top[-2]])).status == "wrong"


def _first(folder: Path) -> Path:
    return next(file for file in sorted(folder.glob("part-*")) if file.stat().st_size)
