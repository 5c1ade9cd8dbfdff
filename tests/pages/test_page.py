"""The HTML report, in a real browser: what a person sees, hears and reaches by keyboard."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import constructed
import pytest

from doctor.cases import CASES
from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.base.codec import typed
from hearth.doctor.examine import NotChecked, Sound, examine
from hearth.doctor.rules import RULES
from hearth.report.html.axis import axis
from hearth.report.html.page import page
from hearth.report.html.run import WORDS
from hearth.report.terminal.profile import show_profile
from hearth.report.terminal.screen import Screen
from hearth.studies.bench.result import BenchResult
from hearth.studies.characterise.result import Characterised
from hearth.studies.colocate.result import Colocated, Predicted
from hearth.studies.compare.result import ComparedArm
from hearth.studies.models.colocation import Curve, Estimate, predict
from support import ROOT, eventually

_SMALL = """[...document.querySelectorAll('p,td,th,li,dd')]
    .filter(e => parseFloat(getComputedStyle(e).fontSize) < 13).length"""
_NAMELESS = """[...document.querySelectorAll('[role=img],[role=region],figure[tabindex]')]
    .filter(e => !e.getAttribute('aria-label')).length"""
_LOST = """[...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href').slice(1))
    .filter(id => !document.getElementById(id))"""
#: Options of commands that do not stand in one line.
_TORN = r"""(() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const torn = [], range = document.createRange();
  while (texts.nextNode()) for (const { 0: option, index } of texts.currentNode.data.matchAll(/--[a-z-]+/g)) {
    range.setStart(texts.currentNode, index), range.setEnd(texts.currentNode, index + option.length);
    if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) torn.push(option);
  }
  return torn;
})()"""  # noqa: E501
_TWICE = "(i => i.length - new Set(i).size)([...document.querySelectorAll('[id]')].map(e => e.id))"
_LAPTOP = {"width": 1280, "height": 800}
_PHONE = {"width": 390, "height": 844}


_DRAWN = "figure.axis[data-drawn]"


def opened(
    browser: Any, file: Path, html: str, ready: str = _DRAWN, **how: Any
) -> tuple[Any, list[str]]:
    """The page, when it is ready, and what the browser complained of."""
    file.write_text(html, encoding="utf-8")
    shown = browser.new_page(**{"viewport": _LAPTOP, **how})
    complaints: list[str] = []
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    shown.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    shown.on("request", lambda asked: _only_file(asked.url, complaints))
    shown.goto(file.as_uri())
    shown.wait_for_selector(ready)
    return shown, complaints


def assert_sound(shown: Any, complaints: list[str]) -> None:
    """It fits its screen, can be read and heard, leads nowhere in vain and complains of nothing."""
    assert complaints == []
    width = shown.viewport_size["width"]
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    faults = (_SMALL, _NAMELESS, _LOST, _TORN, _TWICE)
    assert [shown.evaluate(fault) for fault in faults] == [0, 0, [], [], 0]


def _only_file(url: str, complaints: list[str]) -> None:
    if not url.startswith("file:"):
        complaints.append(f"asks the network for {url}")


@pytest.mark.parametrize("viewport", [_LAPTOP, _PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_screen_its_text_stands_out_and_it_complains_of_nothing(
    browser: Any, tmp_path: Path, viewport: dict[str, int], scheme: str
) -> None:
    run = constructed.document()
    run["counters"] = {"absent": f"not in /{'state_of_a_user' * 9}/records"}
    html = page([typed(run, Analysis)])
    shown, complaints = opened(
        browser, tmp_path / "r.html", html, viewport=viewport, color_scheme=scheme
    )
    assert_sound(shown, complaints)
    for name in ("--ink", "--quiet", "--link"):
        ratio = contrast(_colour(shown, name), _colour(shown, "--paper"))
        assert ratio >= 4.5, f"{name} in {scheme}: {ratio:.2f}, WCAG 2.2 AA asks for 4.5"


@pytest.mark.parametrize("width", [1280, 400])
def test_the_doctors_page_shows_every_finding_and_fits_its_screen(
    browser: Any, tmp_path: Path, width: int
) -> None:
    found = [
        examine(CASES[rule.name].wrong.machine(tmp_path / rule.name), None, {}, [rule])
        for rule in RULES.values()
    ]
    long = replace(found[0].findings[0], name="long", seen=f"/{'a_folder' * 30}: mode 0777")
    findings = [long, *(one for each in found for one in each.findings)]
    sound = [Sound(one.name, one.seen) for one in findings]
    unseen = [NotChecked(one.name, f"there is no {one.seen}") for one in findings]
    silenced = [replace(one, silenced="it was measured") for one in findings[:3]]
    whole = replace(found[0], findings=findings, silenced=silenced, sound=sound, not_checked=unseen)
    screen = {"width": width, "height": 800}
    shown, complaints = opened(
        browser, tmp_path / "d.html", page([], whole), "#doctor", viewport=screen
    )
    assert_sound(shown, complaints)
    titles = shown.locator("#doctor h3")
    assert titles.count() == len(findings) > 50
    for at in (0, len(findings) - 1):
        box = titles.nth(at).bounding_box()
        assert box["height"] > 0 and box["x"] >= 0 and box["x"] + box["width"] <= width


def test_evidence_is_named_as_it_is_seen_and_words_are_explained() -> None:
    run = constructed.document()
    run["findings"][0]["evidence"] = ["/timeline/cpu_other", "/stages/0/spill", "/stages/1/spill"]
    html = page([typed(run, Analysis)])
    cpu = '<a href="#time0" title="/timeline/cpu_other in the JSON">see the CPU chart</a>'
    assert f"{cpu}, <a" in html and html.count(">see the stages</a>") == 1
    glossary = " ".join((ROOT / "docs" / "glossary.md").read_text().split())
    for word, meaning in WORDS:
        assert f"<dt>{word}</dt>" in html
        assert f"- **{word}**: {meaning}." in glossary, "the same as in the documentation"


def test_garbage_collection_has_one_share_on_a_page_and_in_the_terminal_and_pauses_are_seconds():
    run = constructed.analysis()
    html, lines = page([run, run]), "\n".join(show_profile(run, Screen()))
    assert html.count("9.5%") == 4, "16.0 of 168.4 s: side by side, and in each run's own part"
    assert "4.80 s" in html and "garbage collection 10%" in lines and "4.8 s" in lines


def _colour(shown: Any, name: str) -> str:
    return shown.evaluate(
        f"getComputedStyle(document.documentElement).getPropertyValue('{name}').trim()"
    )


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio of two colours written #rrggbb."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_all_lanes_are_moved_and_zoomed_by_keyboard(browser: Any, tmp_path: Path) -> None:
    shown, _ = opened(browser, tmp_path / "r.html", page([constructed.analysis()]))
    axis, said = shown.locator("figure.axis"), shown.locator("figure.axis output")
    axis.focus()
    for key, words in (
        ("+", "Shown: 12.0 s to 48.0 s"),
        ("ArrowRight", "Shown: 16.5 s to 52.5 s"),
        ("0", "Shown: 0.00 s to 60.0 s"),
    ):
        axis.press(key)
        eventually(words, lambda words=words: said.inner_text() == words)


def test_the_pointer_shows_a_moment_of_every_lane_and_the_task_below_it(
    browser: Any, tmp_path: Path
) -> None:
    html = page([constructed.analysis()])
    shown, complaints = opened(browser, tmp_path / "r.html", html)
    for executor, y in ((0, 75), (1, 171)):
        shown.locator("figure.axis .chart").hover(position={"x": 100, "y": y})
        said = shown.locator("figure.axis output").inner_text()
        task = rf"task of stage 0 on executor {executor}: \d\.\d+ s to \d\.\d+ s, success"
        assert re.search(task, said), said
        assert "stage 0: map at Shop.scala:0" in said
        assert re.search(r"\d tasks on 8 slots", said)
        assert "node 0 90 % busy" in said and "executor 1 61 % local" in said
    assert complaints == []


def test_a_run_of_100000_tasks_opens_in_seconds(browser: Any, tmp_path: Path) -> None:
    html = page([constructed.analysis(tasks=100_000)])
    start = time.monotonic()
    shown, complaints = opened(browser, tmp_path / "r.html", html)
    took = time.monotonic() - start
    assert complaints == []
    axis = shown.locator("figure.axis")
    drawn = (axis.get_attribute("data-drawn"), axis.get_attribute("data-tasks"))
    assert drawn == ("100000", "density")
    # A limit that a user feels, not a benchmark.
    assert took < 10.0


def test_what_is_not_known_is_said_with_its_reason_and_an_executor_has_one_colour_everywhere(
    browser: Any, tmp_path: Path
) -> None:
    shown, _ = opened(browser, tmp_path / "r.html", page([constructed.analysis()]))
    words = shown.locator("main").inner_text()
    assert "memory bandwidth: not available: no uncore counters on this machine" in words
    assert "hardware counters: not available: perf is not installed" in words
    assert "the event log's last line was cut off" in words
    colours = [
        shown.locator(place).first.evaluate("e => getComputedStyle(e).backgroundColor")
        for place in ("#machine0 .node:nth-child(2) .cpu", "#time0 .legend li:nth-child(2) i")
    ]
    assert colours[0] == colours[1] != "rgba(0, 0, 0, 0)"


def test_a_comparison_shows_its_verdict_intervals_and_what_was_skipped(
    browser: Any, tmp_path: Path
) -> None:
    shown, _ = opened(
        browser, tmp_path / "r.html", page([constructed.analysis()], constructed.comparison())
    )
    words = shown.locator("#comparison").inner_text()
    assert "Bind: the plan takes 0.80 of native's time." in words
    assert "0.80\t[0.75, 0.86]" in words
    assert "the kernel has no numa_balancing" in words
    label = shown.locator("#comparison .intervals").first.get_attribute("aria-label")
    assert label.startswith("Ratio of times to native")
    # Pairs: 8.0/10.0, 8.4/10.5 and 8.8/11.0 are 0.8 each; the interval lies left of the band.
    assert shown.locator("#comparison .intervals").first.locator(".point").count() == 3
    interval, band = (
        shown.locator(f"#comparison .{of}").bounding_box() for of in ("interval", "band")
    )
    assert interval["x"] + interval["width"] < band["x"]


def test_names_from_outside_cannot_become_markup() -> None:
    run = constructed.document()
    run["record"]["application"] = "</title><script>alert(1)</script>"
    run["stages"][0]["name"] = "<img src=x onerror=alert(2)>"
    run["tasks_sample"]["state"][0] = "</script><script>alert(3)</script>"
    html = page([typed(run, Analysis)])
    assert "<script>alert" not in html
    assert "<img src=x" not in html


def test_hardware_events_top_down_bars_and_the_regions_of_bandwidth_are_shown(
    browser: Any, tmp_path: Path
) -> None:
    run = constructed.counted(constructed.analysis())
    shown, complaints = opened(browser, tmp_path / "r.html", page([run]))
    assert_sound(shown, complaints)
    words = shown.locator("#counters0").inner_text()
    assert all(each in words for each in ("4e+09", "50% of the time", "<not supported>"))
    bar = shown.locator("#counters0 [title='executor 1, retiring: 25.0%']")
    memory = shown.locator("#counters0 [title='executor 1, memory: 40.0%']")
    assert memory.bounding_box()["width"] == pytest.approx(1.6 * bar.bounding_box()["width"], 0.02)
    absent = shown.locator("#counters0 .absent").all_inner_texts()
    assert absent == []
    shown.locator("#counters0 details summary").click()
    words = shown.locator("#counters0 details").inner_text()
    assert "310 x loads from remote DRAM / cycles (Awan 2016, formula 2)" in words
    assert "not available: loads from local DRAM: none of its events was tried" in words


def test_the_machine_is_drawn_by_node_cache_and_core(browser: Any, tmp_path: Path) -> None:
    run = constructed.analysis()
    assert not isinstance(run.machine, Absent)
    first = replace(run.machine.nodes[0], caches=["0,2", "1,3"])
    run = replace(run, machine=replace(run.machine, nodes=[first, *run.machine.nodes[1:]]))
    shown, _ = opened(browser, tmp_path / "r.html", page([run]))
    nodes = shown.locator("#machine0 .node")
    assert nodes.nth(0).locator(".cache .core").all_inner_texts() == ["0\n2", "1\n3"]
    assert nodes.nth(1).locator(".cache").count() == 0, "one cache is the node itself"
    assert nodes.nth(1).locator(".core").all_inner_texts() == ["4\n6", "5\n7"]


def test_the_first_screen_says_what_ran_when_and_on_what() -> None:
    run = constructed.document()
    run["record"] |= {"started": "2026-11-23T08:21:52.957+01:00", "arguments": ["a b.py", "<x>"]}
    html = page([typed(run, Analysis)])
    assert "2026-11-23 07:21:52 UTC · Spark 4.3.0 · Java 17.0.15 (Debian) · 2 x POWER9</p>" in html
    assert "<code>&#39;a b.py&#39; &#39;&lt;x&gt;&#39;</code>" in html
    set_here = ("spark.executor.cores=4", "spark.executor.memory=16g", "smt=on")
    assert " · ".join(f"<code>{setting}</code>" for setting in set_here) in html
    assert "governor=" not in html, "what the machine does not report is no setting"


def test_the_first_screen_says_where_the_time_went_and_what_is_to_gain() -> None:
    run = constructed.document()
    run["phases"] = {"start": 30.0, "tasks": 20.0, "idle": 8.0, "stop": 2.0}
    went = "Finished after 60.0 s: start 30.0 s, tasks 20.0 s, between tasks 8.0 s, stop 2.0 s."
    unknown = f"{went} 1 finding; how much there is to gain is not known."
    assert unknown in page([typed(run, Analysis)])
    run["findings"].append({**run["findings"][0], "seconds": 15.0})
    known = f"{went} 2 findings; the largest is worth at most 15.0 s (25%)."
    assert known in page([typed(run, Analysis)])
    run["findings"], run["phases"] = [], {"start": 5.0, "tasks": 53.0, "idle": 0.0, "stop": 2.0}
    calm = "start 5.0 s, tasks 53.0 s, stop 2.0 s. Nothing exceeded the thresholds."
    assert calm in page([typed(run, Analysis)])
    run["record"] |= {"state": "running"}
    so_far = "Running after 60.0 s: start 5.0 s, tasks 53.0 s, since the last task on record 2.0 s."
    assert so_far in page([typed(run, Analysis)]), "its end is still to come"


def test_a_run_in_one_jvm_has_no_executors_and_its_page_says_so() -> None:
    run = constructed.analysis(tasks=4)
    assert "<dt>executors</dt><dd>2</dd>" in page([run])
    driver = replace(run.executors[0], id="driver", role="driver")
    alone = page([replace(run, executors=[driver])])
    assert "<dt>executors</dt><dd>none: tasks ran in the driver</dd>" in alone


@pytest.mark.parametrize("viewport", [_LAPTOP, _PHONE], ids=["laptop", "phone"])
def test_a_characterisation_shows_each_question_and_a_sweep_as_a_heat_map(
    browser: Any, tmp_path: Path, viewport: dict[str, int]
) -> None:
    example = ROOT / "fixtures" / "documents" / "characterisation.json"
    document = json.loads(example.read_text())
    html = page([constructed.analysis()], typed(document, Characterised))
    shown, complaints = opened(browser, tmp_path / "c.html", html, viewport=viewport)
    assert_sound(shown, complaints)
    for question in document["questions"]:
        assert shown.get_by_role("heading", name=question["title"]).count() == 1
    cells = shown.locator("[aria-label='sweep heat map'] tbody td").all_inner_texts()
    assert cells == ["", "5.1 s, best", "6.1 s, unexplained", ""]
    said = shown.locator("#question1").inner_text()
    assert "Not answered here: only one NUMA node may be used here" in said


@pytest.mark.parametrize("viewport", [_LAPTOP, _PHONE], ids=["laptop", "phone"])
def test_a_series_shows_the_seconds_of_each_run_and_why_a_job_has_none(
    browser: Any, tmp_path: Path, viewport: dict[str, int]
) -> None:
    document = json.loads((ROOT / "fixtures" / "documents" / "bench-result.json").read_text())
    series = typed(document, BenchResult)
    job = series.jobs[0]
    lost = ComparedArm("local-numa", [], failures=["ended with 1: OutOfMemoryError"])
    failed = replace(job, application="k-means", arms=[lost])
    series = replace(series, jobs=[job, failed])
    html = page([constructed.analysis()], series)
    shown, complaints = opened(browser, tmp_path / "s.html", html, viewport=viewport)
    assert_sound(shown, complaints)
    counted = [trial for trial in series.cases if trial.counted_s is not None]
    assert shown.locator("#series .point").count() == len(counted) > 0
    said = shown.locator("#series").inner_text()
    assert f"{job.application}: seconds of each run, from zero" in said
    assert "k-means under local-numa: not available: failed: ended with 1: OutOfMemoryError" in said


def test_a_colocation_shows_what_was_predicted_and_measured_on_one_scale(
    browser: Any, tmp_path: Path
) -> None:
    example = ROOT / "fixtures" / "documents" / "colocation.json"
    measured = typed(json.loads(example.read_text()), Colocated)
    names = [one.name for one in measured.applications]
    curves = [
        Curve(name, {1: Estimate(slow)}) for name, slow in zip(names, (0.9, 1.2), strict=True)
    ]
    predicted = Predicted("runs of each alone", predict(curves, [(1, 1)]), ["disks are shared"])
    document = replace(measured, prediction=predicted)
    html = page([constructed.analysis()], document)
    shown, complaints = opened(browser, tmp_path / "c.html", html, viewport=_PHONE)
    assert_sound(shown, complaints)
    words = shown.locator("#colocation").inner_text()
    assert document.sentence in words and "disks are shared." in words
    parts = shown.locator("#colocation .machine .node").all_inner_texts()
    assert [part.split("\n")[-1] for part in parts] == names
    assert parts[0].startswith("core 0: CPU 0\n")
    assert "28.80" in words and "28.80-28.80" not in words and "28.8 to 28.8" not in words
    lanes = shown.locator("#colocation .bars .row")
    assert lanes.count() == len(document.rounds) * len(names)
    ran = [row.locator(".part").bounding_box() for row in lanes.all()]
    assert ran[0]["x"] == ran[1]["x"], "at the same time"
    assert ran[-1]["x"] == pytest.approx(ran[-2]["x"] + ran[-2]["width"], abs=1), "in turn"
    first = shown.locator("#colocation .intervals").first
    rows = first.locator(".row:not(.head)")
    ways = ["predicted", "split 1-1"]
    assert rows.locator(".name").all_inner_texts() == [f"{n}: {w}" for n in names for w in ways]
    one, left, right = (
        first.locator(place).first.bounding_box()["x"]
        for place in (".one", ".middle.open", ".middle.measured")
    )
    slow = document.arms[0].members[0].slowdown
    assert slow is not None and 0.9 < 1 < slow.value and left < one < right


def test_cpu_time_of_other_programs_is_shown_apart_from_the_executors() -> None:
    run = constructed.document()
    run["timeline"]["cpu_by_executor"] = {"0": [2.5] * 61, "1": [1.0] * 61}
    run["timeline"]["cpu_other"] = [2.1] * 61
    shown = axis(typed(run, Analysis), ["0", "1"])["cpus"]
    assert (shown["all"], shown["other"]) == (8, [2.1] * 61)


def test_queries_are_listed_with_their_longest_stage_and_its_operators() -> None:
    run = constructed.document()
    times = {"submitted_s": 1.0, "completed_s": 21.0}
    run["sql"] = [{"id": 3, "description": "collect at shop.py:12", **times}]
    operators = ["Scan parquet", "Exchange"]
    run["stages"][1] |= {"sql": 3, "operators": operators, "label": "collect at shop.py:12: ..."}
    html = page([typed(run, Analysis)])
    assert "collect at shop.py:12" in html and "Exchange &lt;- Scan parquet" in html
    assert "20.0 s" in html


@pytest.mark.parametrize("viewport", [_LAPTOP, _PHONE], ids=["laptop", "phone"])
def test_threads_of_a_bound_and_an_unbound_run_share_their_axes_and_have_their_moves_counted(
    browser: Any, tmp_path: Path, viewport: dict[str, int]
) -> None:
    runs = [constructed.analysis(arm="unbound"), constructed.analysis(arm="bound", seed=2)]
    shown, complaints = opened(browser, tmp_path / "r.html", page(runs), viewport=viewport)
    figure = shown.locator("#side figure.threads")
    assert_sound(shown, complaints)
    # Four task threads of two executors in 60 s; what the garbage collector's do is not drawn.
    assert figure.get_attribute("data-drawn") == str(2 * 2 * 4 * 60)
    words = shown.locator("#side").inner_text()
    assert words.count("1,014") == 2 and "co on unbound: 1,014 moves between nodes" in words
    assert "shop <window> & co on bound: 0 moves between nodes" in words
    assert shown.locator("#side .legend li").all_inner_texts() == ["executor 0", "executor 1"]
    shown.locator("#side details summary").first.click()
    rows = shown.locator("#side details table tbody tr").all_inner_texts()
    assert rows[2:] == [
        "shop <window> & co on bound\texecutor 0\t240\t100.0%\t0.0%",
        "shop <window> & co on bound\texecutor 1\t240\t0.0%\t100.0%",
    ]
    figure.focus()
    figure.press("+")
    said = figure.locator("output")
    eventually("it is zoomed", lambda: said.inner_text() == "Shown: 12.0 s to 48.0 s")


def test_threads_are_not_set_side_by_side_where_one_run_alone_has_a_trace() -> None:
    runs = [constructed.analysis(arm="unbound"), constructed.analysis(arm="bound")]
    runs[1] = replace(runs[1], threads=Absent("it was not sampled"))
    assert "Threads on CPUs, run beside run" not in page(runs)


def test_two_runs_show_by_stage_where_the_seconds_went(browser: Any, tmp_path: Path) -> None:
    slow, fast = constructed.document(arm="unbound"), constructed.document(arm="bound")
    slow["stages"][2]["time"]["duration"] += 12_000
    html = page([typed(run, Analysis) for run in (slow, fast)])
    shown, _ = opened(browser, tmp_path / "r.html", html)
    rows = shown.locator("#side .differences .row").all_inner_texts()
    assert re.sub(r"\s+", " ", rows[0]) == "map at Shop.scala:2 -12.00 s"
    slow["phases"] = {"start": 30.0, "tasks": 16.0, "idle": 8.0, "stop": 6.0}
    fast["phases"] = {"start": 6.0, "tasks": 20.0, "idle": 8.5, "stop": 1.5}
    html = page([typed(run, Analysis) for run in (slow, fast)])
    shown, _ = opened(browser, tmp_path / "r.html", html)
    whole, stages = shown.locator("#side figure:has(.differences)").all()
    parts = [re.sub(r"\s+", " ", row) for row in whole.locator(".row").all_inner_texts()]
    assert parts == ["start -24.00 s", "tasks +4.00 s", "between tasks +0.50 s", "stop -4.50 s"]
    assert "the difference of these two runs, -24.00 s." in whole.inner_text()
    wide = [of.locator(".delta").first.bounding_box()["width"] for of in (whole, stages)]
    assert wide[0] == pytest.approx(2 * wide[1], abs=1), "24 s and 12 s, on one scale"
