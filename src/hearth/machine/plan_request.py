"""The request that the `plan` verb reads: what is known and what the user fixed."""

import os
from argparse import ArgumentParser, Namespace
from typing import Any

from hearth.base.errors import UserError
from hearth.base.java import OPTION_VARIABLES, SUBMIT_OPTIONS
from hearth.base.redaction import REDACTED, Redaction
from hearth.base.sizes import parse_bytes, parse_mb

#: The largest count that any machine could serve: an executor or task slot needs a CPU.
_MOST_CPUS = 1 << 16
BINDINGS = ("none", "node", "package")
BINDING = "spark.hearth.binding"
BINDING_SCOPE = "spark.hearth.binding.scope"
KINDS = ("sql", "ml", "graph", "etl")


def add_workload_arguments(parser: ArgumentParser) -> None:
    """The options that `hearth plan` and `hearth submit` share."""
    parser.add_argument("--input", metavar="SIZE", help="size of the input, such as 200g")
    parser.add_argument("--workload", choices=KINDS, help="kind of work, if known")
    parser.add_argument("--executors", type=int, metavar="N", help="fix the number of executors")
    parser.add_argument(
        "--cores", type=int, metavar="N", help="fix the task slots of each executor"
    )
    parser.add_argument(
        "--memory", metavar="SIZE", help="fix the heap of each executor, such as 20g"
    )
    parser.add_argument(
        "--bind",
        choices=BINDINGS,
        help="what each executor is bound to: nothing; CPUs of its own, within a NUMA node where "
        "they fit (default); or all CPUs of a package and the memory of its nodes, which it shares",
    )


def is_unbound(options: Namespace) -> bool:
    """Whether executors are to be bound to nothing, by either of the two options."""
    return bool(options.unbound) or options.bind == "none"


def with_binding(options: Namespace, conf: dict[str, str]) -> dict[str, str]:
    """The settings with what `--bind` sets; raises UserError where they say something else."""
    asked = getattr(options, "bind", None)
    if asked is None:
        return conf
    key, value = (BINDING, "off") if asked == "none" else (BINDING_SCOPE, asked)
    if conf.get(key, value) != value:
        raise UserError(f"--bind: {asked} contradicts {key}={conf[key]}: give one of them")
    return conf if asked == "node" else {**conf, key: value}


def plan_request(options: Namespace, conf: dict[str, str], machine: str | None) -> dict[str, Any]:
    """The request for options of `add_workload_arguments`; options not given are absent.

    `options.python`, where it is there: whether the program is in Python.
    """
    for name in ("executors", "cores"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UserError(f"--{name}: {value} is below 1: give at least 1, or leave it out")
        if value is not None and value > _MOST_CPUS:
            limit = f"no machine has more than {_MOST_CPUS} CPUs, and each needs one"
            raise UserError(f"--{name}: {value} is too many: {limit}; give fewer, or leave it out")
    size = parse_bytes(options.input, "--input") if options.input is not None else None
    memory = parse_mb(options.memory, "--memory") if options.memory is not None else None
    fixed = {"executors": options.executors, "cores": options.cores, "memory_mb": memory}
    java = _java_options() if machine is None else None
    request = {
        "schema": "hearth/plan-request/1",
        "machine": machine,
        "workload": _said(
            {
                "kind": options.workload,
                "input_bytes": size,
                "python": getattr(options, "python", False) or None,
            }
        ),
        "limits": _said({**fixed, "conf": with_binding(options, conf), "environment": java}),
        "occupied_cpus": getattr(options, "occupied", None),
    }
    return _said(request)


def _java_options() -> dict[str, str] | None:
    """The user's variables that give Java options to an application's JVMs."""
    names = (*OPTION_VARIABLES, SUBMIT_OPTIONS)
    return {name: os.environ[name] for name in names if os.environ.get(name)} or None


def _said(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def parse_conf(settings: list[str], what: str = "--conf") -> dict[str, str]:
    """Spark settings from `key=value` texts; a later one wins, as in Spark."""
    conf = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            shown = _shown(setting)
            raise UserError(f"{what}: '{shown}' is not key=value: write it as spark.key=value")
        conf[key.strip()] = value.strip()
    return conf


def _shown(setting: str) -> str:
    """Shows a malformed setting, such as `spark.some.password hush`, by its key only."""
    redaction = Redaction.of({})
    key, blank, _ = setting.partition(" ")
    return (
        f"{key} {REDACTED}" if blank and redaction.secret.search(key) else redaction.text(setting)
    )
