"""Jobs and their runs in readable form: the list, one job's help, the line of a run."""

from itertools import groupby
from typing import TYPE_CHECKING, Any

from hearth.base.sizes import show_bytes
from hearth.report.terminal.screen import Screen, sentence, table

if TYPE_CHECKING:
    from collections.abc import Iterable

_FAMILIES = {
    "core": "batch, Spark core",
    "ml": "batch, MLlib",
    "graph": "batch, GraphX",
    "sql": "batch, SQL",
    "streaming": "streaming",
}


def line(run: dict[str, Any]) -> str:
    """Return one run: job, master, data size, time, verdict on the answer."""
    verdict = run["verdict"]
    size = sum(data["bytes"] for data in run["data"].values())
    fields = [run["job"], run["spark"]["master"]]
    if size:
        fields.append(show_bytes(size))
    fields.append(f"{run['seconds']:.1f} s")
    if "streaming" in run:
        fields.append(stream(run["streaming"]))
    fields.append(f"answer: {verdict['status']} ({verdict['detail']})")
    return "  ".join(fields)


def stream(figures: dict[str, Any]) -> str:
    """Show the figures of a streaming job; an unmeasured one says why."""
    times, delay = figures["processing_ms"], figures["scheduling_delay_ms"]
    batch = times.get("absent") or f"{times['median']:.0f} ms, 95 % within {times['p95']:.0f} ms"
    late = delay.get("absent") or f"at most {delay['max']:.0f} ms"
    pace = "kept up" if figures["kept_up"] else "did not keep up"
    return (
        f"{figures['events_processed']:,} events, {figures['unsent']:,} unsent  "
        f"batch: {batch}  delay: {late}  {pace}"
    )


def listed(jobs: "Iterable[Any]", screen: Screen) -> list[str]:
    """Return all jobs by family, with what each does."""
    lines: list[str] = []
    width = max(len(job.name) for job in jobs)
    for family, members in _by_family(jobs):
        lines.append(screen.title(family))
        lines += [f"  {job.name:<{width}}  {job.summary}" for job in members]
    return [
        *lines,
        "",
        "'hearth lab run NAME --help' shows a workload's parameters and its published runs.",
    ]


def explained(job: Any, generators: "Iterable[Any]", screen: Screen) -> list[str]:
    """Return one job's own help."""
    made = {item.generator for item in job.inputs}
    lines = [f"usage: hearth lab run {job.name} [options] [--PARAMETER VALUE]...", ""]
    lines += [f"{screen.title(job.name)}: {job.summary}", ""]
    for label, text in (("stresses", job.stresses), ("published", job.published)):
        lines.append(screen.paragraph(f"{label:<10} {text}", hanging=" " * 11))
    data = ", ".join(f"{item.name} ({item.generator})" for item in job.inputs)
    source = f"a stream of {job.stream}" if job.stream else "none: it makes its own"
    lines.append(f"{'data':<10} {data or source}")
    for known in (one for one in generators if one.name in made):
        said = " ".join(map(sentence, filter(None, (known.summary, known.distribution))))
        lines.append(screen.paragraph(f"{known.name}: {said}", " " * 11, " " * 11))
    lines += ["", screen.title("parameters")]
    head = ["name", "default", "published", "meaning"]
    rows = [[f"--{p.name}", p.default, p.published or "-", p.help] for p in job.parameters]
    lines += table(screen, head, rows) if rows else ["  none"]
    return [*lines, "", "'hearth lab run --help' shows the options that every workload has."]


def _by_family(jobs: "Iterable[Any]") -> list[tuple[str, list[Any]]]:
    order = list(_FAMILIES)
    ranked = sorted(jobs, key=lambda job: order.index(job.family))
    grouped = groupby(ranked, key=lambda job: job.family)
    return [(_FAMILIES[family], list(members)) for family, members in grouped]
