"""The tables of a replay for a person."""

from typing import Any

from hearth.report.terminal.screen import Screen, table

_HEAD = ["", "to 10 %", "to 5 %", "regret 1", "3", "5", "8", "seeds"]
_TEN, _FIVE = "evaluations_to_10_percent", "evaluations_to_5_percent"


def show_replay(document: dict[str, Any], screen: Screen) -> list[str]:
    """Return each table, the means over them, and how they were made."""
    lines: list[str] = []
    for one in document["tables"]:
        known = ", ".join(one["related"]) or "no related table"
        best = one["best"]
        title = f"{one['workload']}: {one['configurations']} configurations"
        lines += [screen.title(title), f"  best {best['configuration']}, {best['seconds']:g} s; "
                  f"known before: {known}"]  # fmt: skip
        rows = [_of_table(name, result) for name, result in one["methods"].items()]
        first = " ".join(one["methods"]["hearth"]["first_chosen"])
        lines += [*table(screen, _HEAD, rows), f"  hearth tries (first seed): {first}", ""]
    if len(document["tables"]) > 1:
        rows = [_of_mean(name, result) for name, result in document["mean"].items()]
        lines += [screen.title("Mean of the tables"), *table(screen, _HEAD, rows), ""]
    return [*lines, *_notes(document, screen)]


def _of_table(name: str, result: dict[str, Any]) -> list[str]:
    ten, five = (
        f"{result[key]['mean']:.2f} ± {result[key]['deviation']:.2f} (most {result[key]['most']})"
        for key in (_TEN, _FIVE)
    )
    return [name, ten, five, *_regret(result), str(result["seeds"])]


def _of_mean(name: str, result: dict[str, Any]) -> list[str]:
    return [name, f"{result[_TEN]:.2f}", f"{result[_FIVE]:.2f}", *_regret(result), ""]


def _regret(result: dict[str, Any]) -> list[str]:
    return [f"{value:.1%}" for value in result["regret_after"].values()]


def _notes(document: dict[str, Any], screen: Screen) -> list[str]:
    settings, plan = document["settings"], document["plan"]
    text = (
        f"{settings['drop']:.0%} of the rows hidden at random, {settings['noise']:.0%} noise. "
        "Runs until one is within 10 % or 5 % of the best: mean ± standard deviation over "
        "seeds; regret of what is recommended after 1, 3, 5 and 8. hearth: as hearth tune searches "
        f"by default, from the configuration nearest to the plan, {plan['executors']}x"
        f"{plan['cores']}, without a trial of your own configuration, which is in no table; where "
        "8 trials found none, runs are counted on without a limit."
    )
    return [screen.paragraph(text, "  ")]
