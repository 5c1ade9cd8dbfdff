"""What the documents say was measured: each sentence or table, its raw results, and its figures,
recomputed from these by the functions of the benchmarks.

    .venv/bin/python benchmarks/claims.py

prints each claim as it follows from the raw results, with its document. tests/test_figures.py holds
the documents against this. To publish a figure: add its raw results, write the sentence, and add
the claim here with `{}` in place of each figure. A table is printed by its benchmark's `page`.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import affinity_cost
import aot_cache
import colocation
import coverage
import dfsio
import duet
import engines
import flame
import hadoop_rpc
import hand_over
import hand_over_applications
import jvm_flags
import locality
import native_engines
import one_file
import own_state
import planning_time
import plans
import prediction
import query_partitions
import rpc_latency
import shuffle
import startup
import table_replay
import transfer_evidence
import transport
from replay import mean_of_methods
from results import Row, loads, overall, read, shown, spread, table

import traffic
from hearth import Ratio, paired_ratio

BENCHMARKS = "benchmarks/README.md"
TUNING = "benchmarks/tuning.md"
PAYING = "docs/paying.md"
FIRST_SCREEN = "README.md"


@dataclass(frozen=True)
class Claim:
    """A sentence, or a part of one, of a document.

    text: with `{}` in place of each figure. figures: as they are shown, in order. raw: names of
    results.
    """

    document: str
    text: str
    figures: tuple[str, ...]
    raw: tuple[str, ...]

    @property
    def told(self) -> str:
        """Return the sentence as it follows from the raw results."""
        return self.text.format(*self.figures)


@dataclass(frozen=True)
class Raw:
    """Raw results, and what is claimed from them."""

    names: tuple[str, ...]
    rows: list[Row]

    @staticmethod
    def of(*names: str) -> "Raw":
        rows = [row for row in read(*names) if "schema" not in row]
        return Raw(names, rows)

    @property
    def runs(self) -> list[plans.Run]:
        """The same as runs of plans.py or engines.py."""
        return cast(list[plans.Run], self.rows)

    def says(self, document: str, text: str, *figures: str) -> Claim:
        return Claim(document, text, figures, self.names)

    def tables(self, lines: Sequence[str]) -> Claim:
        """Lines of Markdown, tables and what stands between them, in benchmarks/README.md."""
        return Claim(BENCHMARKS, "{}", ("\n".join(lines),), self.names)


def claims() -> Iterator[Claim]:
    """All of them."""
    for section in (
        *(
            start_up,
            compiler_flags,
            ahead_of_time,
            native,
            one_jvm,
            tpch_queries,
            sized_shuffles,
            long_jobs,
            larger_inputs,
            two_executors,
        ),
        *(sixteen_cpus, other_engines, hand_over_cpus, profile, verdicts, wire),
        *(spark_shuffle, hadoop, threads, colocations, measured_tables, tunes, transfer, replayed),
        *(predictions, workers, misses),
    ):
        yield from section()


def start_up() -> Iterator[Claim]:
    raw = Raw.of("startup-2026-11-25-0248")
    yield raw.tables(startup.page(raw.rows))
    two = f"hearth submit {startup.NUMA}"
    yield raw.says(
        FIRST_SCREEN,
        "| two bound executors, to the first task | - | {} | a loss; {} of `local-cluster` |",
        shown(startup.ratio(raw.rows, two, startup.LOCAL)),
        shown(startup.ratio(raw.rows, two, startup.CLUSTER)),
    )
    yield raw.says(
        PAYING,
        "From submit to the first task `hearth submit` takes {} of the time of `spark-submit "
        "--master"
        " local[2]`. With two bound executors it takes {} of that time, a loss, and {} of the time "
        "of Spark's own `local-cluster`",
        shown(startup.ratio(raw.rows, "hearth submit", startup.LOCAL)),
        shown(startup.ratio(raw.rows, two, startup.LOCAL)),
        shown(startup.ratio(raw.rows, two, startup.CLUSTER)),
    )


def compiler_flags() -> Iterator[Claim]:
    second = Raw.of("second-compiler-2026-11-28-1309")
    yield second.tables(jvm_flags.page(second.rows))
    yield second.says(
        BENCHMARKS,
        "Over the four jobs three times the counts took {} from start to end and {} in the phases, "
        "ten times the counts {} and {}.",
        *(
            shown(jvm_flags.over_jobs(second.rows, arm, what))
            for arm in ("planned", "ten times")
            for what in ("wall_s", "seconds")
        ),
    )
    young = Raw.of("young-generation-2026-11-25-2322")
    yield young.tables(jvm_flags.page(young.rows))
    yield young.says(
        BENCHMARKS,
        "Over the five jobs {} from start to end, {} in the phases.",
        *(
            shown(jvm_flags.over_jobs(young.rows, "planned", what))
            for what in ("wall_s", "seconds")
        ),
    )


def ahead_of_time() -> Iterator[Claim]:
    raw = Raw.of("aot-cache-2026-11-27-0748")
    yield raw.tables(aot_cache.page(raw.rows))


def native() -> Iterator[Claim]:
    for date in ("2026-11-27-0752", "2026-11-29-0404"):
        raw = Raw.of(f"native-engines-{date}")
        yield raw.tables(native_engines.page(raw.rows))


#: The batch jobs on one JVM, at the sizes of the suite, and on 2 GB.
ONE_JVM = ("plans-2026-11-28-1722", "plans-2026-11-28-1809")
LARGE = ("plans-2026-11-25-1847", "plans-2026-11-25-1905")
LONG_S = 15.0


def over_jobs(rows: list[plans.Run], arm: str, base: str, measure: str, warm: bool | None) -> Ratio:
    return plans.over_jobs(plans.by_job(rows, arm, base, measure, warm)[0])


def job_ratio(
    rows: list[plans.Run], job: str, arms: tuple[str, str], measure: str, warm: bool | None = True
) -> str:
    return f"{plans.by_job(rows, *arms, measure, warm)[0][job].value:.2f}"


def of_submit(runs: list[Row], base: str) -> list[str]:
    """Return the time of `hearth submit` over that of another arm, by measure."""
    return [
        shown(overall(query_partitions.ratios(runs, "submit", base, key)))
        for _, key in query_partitions.MEASURES
    ]


def queries(name: str) -> tuple[Raw, list[Row]]:
    """Return a series of query_partitions, and its runs."""
    raw = Raw.of(f"query-partitions-{name}")
    return raw, [row for row in raw.rows if "arm" in row]


def one_pass(raw: Raw, runs: list[Row]) -> Iterator[Claim]:
    """Give the tables of applications that run each query once."""
    for measures in (query_partitions.MEASURES[:2], query_partitions.CPU_MEASURES[:2]):
        yield raw.tables(query_partitions.ratio_table(runs, measures))
        yield raw.tables(query_partitions.seconds_table(runs, measures))


def tpch_queries() -> Iterator[Claim]:
    twice, runs = queries("2026-11-28-1322")
    yield twice.tables(query_partitions.page(twice.rows))
    yield twice.says(
        PAYING,
        "faster, shows no gain: {} from start to end, {} and {} in the two passes",
        *of_submit(runs, "careful"),
    )
    yield twice.says(
        FIRST_SCREEN,
        "a pair of another day showed no gain: {} |",
        of_submit(runs, "careful")[0],
    )
    [careful_s] = [run["wall_s"] for run in runs if run["arm"] == "careful"]
    yield twice.says(BENCHMARKS, "careful settings took less: {} s", f"{careful_s:.1f}")
    quiet = Raw.of("query-partitions-2026-11-29-0142", "query-partitions-2026-11-29-0302")
    runs = [row for row in quiet.rows if "arm" in row]
    yield quiet.tables(query_partitions.page(quiet.rows))
    careful, defaults = of_submit(runs, "careful"), of_submit(runs, "defaults")
    yield quiet.says(
        PAYING,
        "(five pairs): {} of careful settings, {} of defaults;",
        careful[0],
        defaults[0],
    )
    yield quiet.says(FIRST_SCREEN, "| TPC-H at scale 1 | {} | {} |", careful[0], defaults[0])
    yield quiet.says(
        PAYING,
        "in the first pass {} of the time with careful settings, in the second {}",
        *careful[1:],
    )
    kept, runs = queries("2026-11-28-1419")
    yield kept.tables(query_partitions.page(kept.rows))
    yield kept.says(
        PAYING,
        "All queries three times took {} (two pairs)",
        of_submit(runs, "careful")[0],
    )
    large = Raw.of(*(f"query-partitions-2026-11-28-{time}" for time in ("1642", "1658", "2103")))
    runs = [row for row in large.rows if "arm" in row]
    yield from one_pass(large, runs)
    before = shown(overall(query_partitions.ratios(runs, "submit", "careful", "wall_s")))
    yield large.says(
        PAYING,
        "those of a version before took {} (four pairs), and {} of the time with the defaults "
        "(one)",
        before,
        *(f"{r:.2f}" for r in query_partitions.ratios(runs, "submit", "defaults", "wall_s")),
    )
    yield large.says(FIRST_SCREEN, "two pairs only; a version before: {} |", before)
    waves, runs = queries("2026-11-29-0227")
    yield from one_pass(waves, runs)
    pairs = sorted(query_partitions.ratios(runs, "submit", "careful", "wall_s"))
    yield waves.says(
        PAYING,
        "TPC-H at scale 10: {} and {} of careful settings (two pairs",
        *(f"{pair:.2f}" for pair in pairs),
    )
    yield waves.says(
        FIRST_SCREEN,
        "| TPC-H at scale 10 | {} and {} |",
        *(f"{pair:.2f}" for pair in pairs),
    )
    functions, runs = queries("2026-11-29-0214")
    yield functions.tables(query_partitions.page(functions.rows))
    yield functions.says(
        PAYING,
        "Functions in Python: {} of careful settings, {} of defaults",
        of_submit(runs, "careful")[0],
        of_submit(runs, "defaults")[0],
    )


def sized_shuffles() -> Iterator[Claim]:
    within, runs = queries("2026-11-26-1914")
    yield within.tables(query_partitions.page(within.rows))
    yield within.says(
        PAYING,
        "warm passes over the first queries of TPC-H at scale 1 take {} of the time with Spark's "
        "own 200 shuffle partitions",
        shown(overall(query_partitions.over_starts(runs, "200"))),
    )
    wide, runs = queries("2026-11-27-0324")
    yield wide.tables(query_partitions.page(wide.rows))
    pairs = query_partitions.ratios(runs, "submit", "careful", "wall_s")
    yield wide.says(
        PAYING,
        "TPC-H at scale 1: {} and {} of careful settings (two pairs only)",
        *(f"{pair:.2f}" for pair in sorted(pairs)),
    )
    files = Raw.of("one-file-2026-11-27-2051")
    yield files.tables(one_file.page(files.rows))
    planning = Raw.of("planning-time-2026-11-29-0136")
    yield planning.tables(planning_time.page(planning.rows))
    ratio = overall(planning_time.ratios(planning.rows))
    yield planning.says(BENCHMARKS, "two CPUs: **{} % more**", f"{100 * ratio.value - 100:.0f}")


def one_jvm() -> Iterator[Claim]:
    raw = Raw.of(*ONE_JVM)
    rows = raw.runs
    yield raw.tables(plans.overview(rows))
    yield raw.tables(plans.job_table(rows))
    yield raw.says(
        BENCHMARKS,
        "machine (load average {}, of the runs themselves), answers checked",
        loads(rows),
    )
    of = {
        (base, measure, warm): shown(over_jobs(rows, "submit", base, measure, warm))
        for base in ("defaults", "tuned", "tuned-archive")
        for measure in ("wall_s", "seconds")
        for warm in (True, False)
    }
    yield raw.says(
        PAYING,
        "17 jobs, warm: {} of careful settings, {} of defaults;",
        *(of[base, "wall_s", True] for base in ("tuned", "defaults")),
    )
    yield raw.says(
        PAYING,
        "first runs: {} and {}.",
        *(of[base, "wall_s", False] for base in ("tuned", "defaults")),
    )
    yield raw.says(
        FIRST_SCREEN,
        "| 17 batch jobs | {} | {} | start-up; with hearth's archive in both {} |",
        *(of[base, "wall_s", True] for base in ("tuned", "defaults", "tuned-archive")),
    )
    yield raw.says(
        PAYING,
        "To careful settings that start from hearth's class-data archive too, it is {} in warm and "
        "{} in first runs",
        of["tuned-archive", "wall_s", True],
        of["tuned-archive", "wall_s", False],
    )
    archived = ("submit", "tuned-archive")
    longer = ("grep 256m", "sort-by 256m", "rdd-relation 256m", "connected-components 64m")
    yield raw.says(
        PAYING,
        "naive-bayes took {}, in its phases {}; against those with the archive grep took {}, "
        "sort-by {}, rdd-relation {} and connected-components {} (all warm, one pair each)",
        job_ratio(rows, "naive-bayes 256m", ("submit", "tuned"), "wall_s"),
        job_ratio(rows, "naive-bayes 256m", ("submit", "tuned"), "seconds"),
        *(job_ratio(rows, job, archived, "wall_s") for job in longer),
    )


def long_jobs() -> Iterator[Claim]:
    raw = Raw.of(*ONE_JVM)
    shares = [
        f"{100 * plans.start_share(raw.runs, 'submit', base):.0f} %"
        for base in ("defaults", "tuned")
    ]
    yield raw.says(
        BENCHMARKS,
        "Of the seconds that `submit` saves, warm, {} against `defaults` and {} against `tuned` "
        "are start and end of Spark",
        *shares,
    )
    long = {
        (base, measure): shown(over_jobs(some, "submit", base, measure, True))
        for base in ("defaults", "tuned")
        for some in [plans.long_jobs(raw.runs, base, LONG_S)]
        for measure in ("seconds", "wall_s")
    }
    yield raw.says(
        BENCHMARKS,
        "take {} of the phases of `tuned` and {} of those of `defaults`, from start to end {} "
        "and {}",
        long["tuned", "seconds"],
        long["defaults", "seconds"],
        long["tuned", "wall_s"],
        long["defaults", "wall_s"],
    )
    yield raw.says(
        PAYING,
        "Start and stop are {} of the seconds saved against the defaults and {} of those against "
        "careful settings",
        *shares,
    )
    yield raw.says(
        PAYING,
        "In jobs whose phases take 15 s or more, the phases take {} of the time with careful "
        "settings",
        long["tuned", "seconds"],
    )


def larger_inputs() -> Iterator[Claim]:
    raw = Raw.of(*LARGE)
    rows = [
        row for row in raw.runs if row["subject"].split()[0] in ("grep", "sort", "sql-aggregation")
    ]
    yield raw.tables(plans.seconds_table(rows))
    yield raw.says(BENCHMARKS, "nothing else running (load average {}). Raw", loads(raw.rows))
    for name in ("plans-2026-11-25-2244", "plans-2026-11-25-2345"):
        grep = Raw.of(name)
        yield grep.tables(plans.seconds_table(grep.runs))


def two_executors() -> Iterator[Claim]:
    raw = Raw.of("plans-2026-11-25-1223", "plans-2026-11-25-1900")
    rows = raw.runs
    warm = [measure for measure in plans.MEASURES if measure[2]]
    yield raw.tables(plans.overview(rows, warm))
    yield raw.tables(plans.seconds_table(rows))
    yield raw.says(
        BENCHMARKS, "(load average {}, of the runs themselves). The standalone", loads(rows)
    )
    pace = Raw.of("pace-2026-11-23-0258")
    seconds = {
        kind: [
            f"{sum(s for name, s in row['threads'].items() if name.endswith('/C2')):.0f}"
            for row in pace.rows
            if row["arm"].endswith(kind)
        ]
        for kind in ("local", "numa")
    }
    yield pace.says(
        BENCHMARKS,
        "{} and {} in one JVM, {} and {} in three",
        *seconds["local"],
        *seconds["numa"],
    )


def sixteen_cpus() -> Iterator[Claim]:
    raw = Raw.of("plans-2026-11-26-0428", "plans-2026-11-26-0437")
    rows = raw.runs
    yield raw.tables(plans.overview(rows, plans.ALL_RUNS))
    yield raw.tables(plans.job_table(rows, None))
    yield raw.says(
        BENCHMARKS, "two series that a limit of time ended, load average {}", loads(rows)
    )
    both = [
        shown(over_jobs(rows, "submit", "tuned", measure, None))
        for measure in ("seconds", "wall_s")
    ]
    yield raw.says(
        PAYING,
        "took in the phases {} of the time of one JVM with careful settings, a loss; from start "
        "to end {}",
        *both,
    )


def other_engines() -> Iterator[Claim]:
    raw = Raw.of("engines-2026-11-24-0406")
    rows = raw.runs
    _, _, *table = engines.page(rows)
    yield raw.tables([line for line in table if line.startswith("|")])
    yield raw.says(BENCHMARKS, "builds beside them (load average {})", loads(rows))
    times = f"{engines.ratio(rows, 'submit', 'duckdb'):.0f}"
    yield raw.says(PAYING, "it was {} times as fast as `hearth submit` on TPC-H at scale 1", times)
    yield raw.says(FIRST_SCREEN, "{} times as fast as `hearth submit` |", times)


def hand_over_cpus() -> Iterator[Claim]:
    tails = Raw.of("hand-over-2026-11-23-2208")
    yield tails.tables(hand_over.page(tails.rows))
    yield tails.says(BENCHMARKS, "nothing else running (load average {}). Raw", loads(tails.rows))
    native = f"{hand_over.ratio(tails.rows, 'native').value:.1f}"
    yield tails.says(
        PAYING, "a last task with two threads of its own ended {} times sooner", native
    )
    job = Raw.of("hand-over-2026-11-25-0105")
    yield job.tables(hand_over.page(job.rows))
    two = Raw.of("hand-over-applications-2026-11-24-0424")
    yield two.tables(hand_over_applications.page(two.rows))
    yield two.says(
        PAYING,
        "two applications of which one pauses complete {} times the jobs per hour",
        shown(hand_over_applications.ratio(two.rows, "per_hour")),
    )


def workers() -> Iterator[Claim]:
    names = Raw.of("locality-2026-11-27-1343")
    yield names.tables(locality.page(names.rows))


def misses() -> Iterator[Claim]:
    raw = Raw.of("traffic-2026-11-27-0747")
    yield raw.tables(traffic.page(raw.rows))
    of = {row["arm"]: f"{traffic.remote_share(row):.1%}" for row in raw.rows}
    yield raw.says(
        PAYING,
        "of all cache misses of user code {} went to the other node's memory in one JVM, {} in "
        "unbound executors, {} in unbound ones with the kernel's NUMA balancing, {} in bound ones",
        *(of[arm] for arm in ("one-jvm", "unbound", "unbound-balanced", "bound")),
    )


def profile() -> Iterator[Claim]:
    raw = Raw.of("duet-2026-11-22-1337", "duet-2026-11-22-1412")
    yield raw.tables(duet.page(raw.rows))
    control = Raw.of("duet-control-2026-11-22-0832")
    yield control.tables(duet.page(control.rows))
    recorder = Raw.of("flame-2026-11-24-0420")
    yield recorder.tables(flame.page(recorder.rows))


def verdicts() -> Iterator[Claim]:
    raw = Raw.of("coverage-2026-11-22-2005")
    rows = [row for row in raw.rows if row["what"] != "settings"]
    yield raw.tables(coverage.page(rows))
    own = Raw.of("own-state-2026-11-26-1445")
    yield own.tables(own_state.page(own.rows))

    def share(what: str, noise: str, pairs: int, which: str) -> str:
        (found,) = [
            row[which]
            for row in rows
            if (row["what"], row["noise"], row.get("pairs")) == (what, noise, pairs)
        ]
        return f"{100 * found:.0f}"

    helped = [noise for noise in coverage.NOISES if noise != "drifting"]
    most = max(r["false"] for r in rows if r["what"] == "one arm" and r["noise"] in helped)
    looking = [r for r in rows if r["what"] == "sequential" and r["arms"] == 1 and not r["faster"]]
    yield raw.says(
        "docs/statistics.md",
        "equal arms are called faster or slower in at most {} of comparisons, {} with "
        "`--until-certain`",
        f"{100 * most:.1f} %",
        f"{100 * max(r['verdict'] for r in looking):.1f} %",
    )
    own_false = max(
        r["false"] for r in rows if r["what"] == "one arm" and r["noise"] == "own state"
    )
    yield raw.says(
        "docs/statistics.md",
        "its false verdicts reach {}, and its warning appears in {} of cases with 10 pairs, {} "
        "with 20",
        f"{100 * own_false:.0f} %",
        *(f"{share('warnings', 'own state', pairs, 'own-state')} %" for pairs in (10, 20)),
    )
    yield raw.says(
        "docs/statistics.md",
        "is found in {} of cases with 5 pairs, one run that takes 50 % longer in {} with 7 and "
        "{} with 10, two "
        "groups in {} with 7 and {} with 10",
        *(
            f"{share('warnings', noise, pairs, kind)} %"
            for noise, pairs, kind in (
                ("slow first", 5, "slow-first"),
                ("one outlier", 7, "outlier"),
                ("one outlier", 10, "outlier"),
                ("two groups", 7, "two-groups"),
                ("two groups", 10, "two-groups"),
            )
        ),
    )
    yield raw.says(
        "docs/statistics.md",
        "With one arm besides the baseline and runs that scatter by 5 %, the interval is about "
        "{} to either "
        "side after ten repetitions, {} after five",
        *(f"{share('one arm', 'normal', pairs, 'half_width')} %" for pairs in (10, 5)),
    )


def wire() -> Iterator[Claim]:
    raw = Raw.of("transport-2026-11-23-1738")
    yield raw.tables(transport.table_of(raw.rows, "event"))
    yield raw.says(BENCHMARKS, "Other work kept both CPUs busy: load average {}.", loads(raw.rows))


def less(ratio: Ratio) -> str:
    """How much less, or more, than 1, in %."""
    return f"{abs(100 * (ratio.value - 1)):.0f} %"


def spark_shuffle() -> Iterator[Claim]:
    two, sixteen = Raw.of("shuffle-2026-11-25-1828"), Raw.of("shuffle-2026-11-26-0452")
    for raw in (two, sixteen):
        yield raw.tables(shuffle.page(raw.rows))
        yield raw.says(
            BENCHMARKS,
            "{} starts with 10 repetitions each, load average {}. Raw",
            str(len({row["start"] for row in raw.rows})),
            loads(raw.rows),
        )
    small = [less(shuffle.ratio(raw.rows, "64k", "tcp", "seconds")) for raw in (two, sixteen)]
    large = [less(shuffle.ratio(sixteen.rows, "8m", arm, "seconds")) for arm in ("tcp", "ucx")]
    names = Raw.of(*two.names, *sixteen.names)
    yield names.says(
        PAYING,
        "with blocks of 64 KB {} less time than Spark's own on 2 CPUs and {} more on 16; with "
        "blocks of 8 MB no "
        "difference shown on 2 CPUs, {} (TCP) and {} (shared memory) less on 16",
        *small,
        *large,
    )


def hadoop() -> Iterator[Claim]:
    two, sixteen = Raw.of("hadoop-rpc-2026-11-24-0508"), Raw.of("hadoop-rpc-2026-11-26-0447")
    for raw in (two, sixteen):
        yield raw.tables(hadoop_rpc.page(raw.rows))

    def of(raw: Raw, arm: str, size: int) -> str:
        return f"{hadoop_rpc.ratio(raw.rows, arm, size).value:.2f}"

    crowd = hadoop_rpc.CROWD
    both = Raw.of(*two.names, *sixteen.names)
    yield both.says(
        PAYING,
        "64 callers are served {} times as often on 2 CPUs and {} times on 16; a single one "
        "with 1 B takes {} of "
        "the time on 2 CPUs and {} on 16, a loss",
        of(two, "event", crowd),
        of(sixteen, "event", crowd),
        of(two, "event", 1),
        of(sixteen, "event", 1),
    )


def threads() -> Iterator[Claim]:
    cost = Raw.of("affinity-cost-2026-11-27-1914")
    yield cost.tables(affinity_cost.page(cost.rows))
    latency = Raw.of("rpc-latency-2026-11-27-1920")
    yield latency.tables(rpc_latency.page(latency.rows))
    rates = Raw.of("dfsio-2026-11-27-2040")
    yield rates.tables(dfsio.page(rates.rows))


def colocations() -> Iterator[Claim]:
    raw, early = Raw.of("colocation-2026-11-25-0115"), Raw.of("colocation-2026-11-23-1406")
    tables = "\n".join(colocation.page(raw.rows))
    for lines in tables.split("\n\n"):
        yield raw.tables(lines.split("\n"))
    for one, text in (
        (raw, "Each slowdown is predicted within {} of what was measured, and inside its interval"),
        (early, "16 MB, was predicted up to {} wrong"),
    ):
        errors = [abs(c["error"]) for row in one.rows for c in row["colocation"]["checks"]]
        yield one.says(BENCHMARKS, text, f"{100 * max(errors):.0f} %")


def measured_tables() -> Iterator[Claim]:
    raw = Raw.of("measured-table-2026-11-23-2239")
    kept = [row for row in raw.rows if row["repetition"] >= 0]
    cells = {
        "1x1": "1 executor, 1 slot",
        "1x2": "1 executor, 2 slots",
        "2x1": "2 executors, 1 slot each",
    }
    lines = [
        [
            job,
            *(
                spread(
                    [
                        row["seconds"]
                        for row in kept
                        if row["subject"] == job and row["arm"].split()[0] == cell
                    ],
                    1,
                )
                for cell in cells
            ),
        ]
        for job in sorted({row["subject"] for row in kept})
    ]
    yield raw.tables(table(["Job", *cells.values()], lines))


def tunes() -> Iterator[Claim]:
    """Each tune, and the comparison that followed it."""
    names = ("tunes-2026-11-24-0346",)
    documents = read(*names)
    for tune, comparison in zip(documents[::2], documents[1::2], strict=True):
        saving = tune["best"]["saving"]
        expected = Ratio(1 - saving["value"], (1 - saving["high"], 1 - saving["low"]))
        measured = {
            arm["name"]: paired_ratio(arm["seconds"], comparison["arms"][0]["seconds"], each)
            for each in [comparison["confidence_each"]]
            for arm in comparison["arms"][1:]
        }
        figures = [str(len(tune["trials"])), shown(expected)]
        figures += [shown(measured[arm]) for arm in ("tuned", "plan")]
        found = "the plan" if tune["best"]["is_proposal"] else "the plan with 6 shuffle partitions"
        text = f"| {tune['application']} | {{}} | {found} | {{}} | {{}} | {{}} |"
        yield Claim(BENCHMARKS, text, tuple(figures), names)


FAMILIES = ("jittered", "other-laws", "queueing")


def transfer() -> Iterator[Claim]:
    """Whether knowing other workloads helps, on synthetic tables."""
    for family in FAMILIES:
        name = f"transfer-evidence-{family}-2026-11-26-1549"
        rows = read(name)
        for known in dict.fromkeys(row["known"] for row in rows):
            mean = {
                key: statistics.fmean(row[key] for row in rows if row["known"] == known)
                for key in ("to 10 %", "to 5 %", "regret 3", "regret 5", "regret 8")
            }
            runs = [f"{mean[key]:.2f}" for key in ("to 10 %", "to 5 %")]
            regrets = [f"{mean[f'regret {after}']:.1f} %" for after in (3, 5, 8)]
            change = transfer_evidence.difference(rows, known, "regret 5")
            cells = " | ".join([f"{family}: {known}", *runs, *regrets, change])
            yield Claim(TUNING, "{}", (f"| {cells} |",), (name,))


def replayed() -> Iterator[Claim]:
    """Yield the claim of the search on the two published tables, beside the bars."""
    name = "table-replay-2026-11-26-1551"
    found: table_replay.Documents = {}
    for document in read(name):
        if "tables" in document:
            found.setdefault(document["case"], []).append(document)
    values = [(row["value"], row["bar"]) for row in table_replay.held(found)]
    (ten, ten_bar), (most, most_bar), (five, five_bar), after_5, after_8, *others = values
    regrets = [f"{100 * pair[at]:.1f} %" for at in (0, 1) for pair in (after_5, after_8)]
    hidden, alone = others[:2], others[2:]
    lines = [
        ["the other table known", "runs to 10 %, mean (worst table)", f"{ten:.2f} ({most:.0f})",
         f"{ten_bar:.0f} ({most_bar:.0f})"],
        ["", "runs to 5 %", f"{five:.2f}", f"{five_bar:.0f}"],
        ["", "regret after 5, after 8", ", ".join(regrets[:2]), ", ".join(regrets[2:])],
        *(
            [case, "runs to 10 %, to 5 %", ", ".join(f"{value:.2f}" for value, _ in pair),
             ", ".join(f"{bar:.1f}" for _, bar in pair)]
            for case, pair in (("30 % of the rows hidden", hidden), ("no related table", alone))
        ),
    ]  # fmt: skip
    told = "\n".join(table(["Case", "What", "hearth", "At most"], lines)).replace("|  |", "| |")
    yield Claim(BENCHMARKS, "{}", (told,), (name,))
    yield from replayed_rows(found, name)


#: A case of table_replay.py, the methods that are shown, and how the page calls each.
SHOWN = (
    ("others known", "hearth", "hearth, the other table known"),
    ("others known", "hill climbing from the plan", "hill climbing from the plan"),
    ("others known", "tpe", "Optuna TPE"),
    ("others known", "hill climbing", "hill climbing from a random start"),
    ("others known", "random", "random"),
    ("30 % hidden", "hearth", "hearth, the other table known, 30 % of the rows hidden"),
    ("30 % hidden", "hill climbing from the plan",
     "hill climbing from the plan, 30 % of the rows hidden"),
    ("5 % noise", "hearth", "hearth, the other table known, times scattered by 5 %"),
)  # fmt: skip


def replayed_rows(found: table_replay.Documents, name: str) -> Iterator[Claim]:
    """Yield each row of the means of the two published tables."""
    for case, method, title in SHOWN:
        tables = [one["methods"] for document in found[case] for one in document["tables"]]
        mean = mean_of_methods(tables)[method]
        runs = [f"{mean[f'evaluations_to_{most}_percent']:.2f}" for most in (10, 5)]
        regrets = [f"{100 * mean['regret_after'][after]:.1f} %" for after in ("3", "5", "8")]
        yield Claim(TUNING, f"| {title} | {{}} |", (" | ".join([*runs, *regrets]),), (name,))


#: How the page calls an application of prediction.py, with other partitionings.
PREDICTED = {
    "word-count": "word-count (100 MB), from 1x1, 1x2, 2x1 to another of them",
    "app": "a query of 8 tasks, one JVM, 1x2, 2x1, to another",
    "k-means": "k-means (60 MB), from 1x1, 1x2, 2x1 to another of them",
}


def predictions() -> Iterator[Claim]:
    """Yield how far `hearth lab predict` was off."""
    name = "prediction-2026-11-23-0737"
    rows = [row for row in read(name) if "application" in row]
    for application, kind, pairs, *figures in prediction.summary(rows):
        same = "the same, between two runs of one partitioning"
        title = same if kind == "the same" else PREDICTED[application]
        rounded = [figure.replace("%", " %") for figure in figures]
        cells = " | ".join([pairs, *rounded])
        yield Claim(TUNING, f"| {title} | {{}} |", (cells,), (name,))
    yield from placements()


def placements() -> Iterator[Claim]:
    """Yield how far predictions of binding and of numbers of nodes were off."""
    name = "placement-prediction-2026-11-23-1646"
    rows = read(name)
    titles = {
        "binding": "bound over unbound, from the four others",
        "nodes": "from 1, 2 or 3 nodes to another number, from the two others",
    }
    for kind, title in titles.items():
        some = [row for row in rows if row["kind"] == kind]
        errors = [100 * abs(row["predicted"] / row["measured"] - 1) for row in some]
        held = sum(row["low"] <= row["measured"] <= row["high"] for row in some)
        figures = [f"{statistics.fmean(errors):.0f} %", f"{max(errors):.0f} %"]
        cells = " | ".join([str(len(some)), *figures, f"{held} of {len(some)}"])
        yield Claim(TUNING, f"| {title} | {{}} |", (cells,), (name,))


if __name__ == "__main__":
    for claim in claims():
        print(f"{claim.document} ({', '.join(claim.raw)}):\n{claim.told}\n")
