"""docs/doctor.md, from the checks themselves."""

from itertools import groupby

from hearth.doctor.check import Check, all_checks
from support import filled

_HEAD = """# What the doctor checks

`hearth doctor` looks at the settings of this machine, of Java and of Spark, and says which of them
cost speed or safety, what is better, and the command that changes it. It changes nothing itself
unless you ask, works without root, and says what it could not see.

```sh
hearth doctor
hearth doctor last
hearth doctor --workload ml --all
hearth doctor --machine big-box.tar.gz
hearth doctor --fix swappiness --dry-run
hearth doctor --fix swappiness --persist
hearth doctor --undo swappiness
hearth doctor --silence memory-maps --reason "no block is larger than 2 MB"
```

Findings that do harm come first, then those that were measured to be worth most on this machine,
then those whose worth a study has published. **Harm** means that applications fail, or that others
can read their memory; the exit code is then 2. **Advice** means speed; the exit code is 1. Where
hearth knows no figure, it says so; as root, measure one here with your own application:

```sh
hearth compare --arms as-is,fixed:swappiness my_job.py
```

That switches the setting before each run of the second arm and restores it afterwards; if the
comparison is killed (`kill -9`), a guardian process does, or else the next `hearth` command. The
doctor then quotes the figure with its interval and the comparison's id. An arm that cannot be
switched here (without root, in a container, by a reboot only) is skipped with the reason.

With a run (the id of its record, the beginning of one, or `last`) the findings are those for that
run. The plan and the settings are from its record. Each finding says what the record shows about
it, such as how much was written to shuffle files; a finding that does not affect the run comes last
and does not change the exit code. The machine is looked at as it is now; settings that differed
during the run are listed.

`hearth submit`, `profile` and `compare` quote at most two findings before a run, in a line each:
first what does harm to it, then what costs it speed by a figure that was measured here or
published. A finding that is silenced is not quoted.

`--fix` changes settings of the kernel that are a file below `/proc/sys` or `/sys`. It asks first
(`--yes` does not), keeps the old value before it writes, and restores all if the kernel does not
keep a value. The change ends when the machine starts again; with `--persist` a file in
`/etc/sysctl.d` or `/etc/tmpfiles.d` makes it last. `--undo` puts the old value
back and removes that file, also where hearth was killed in between. In a container,
`/proc/sys` and `/sys` are read-only: run the command on the host.

A capture (`--machine`) answers only what it holds. This page is made from the checks. *Worth* is
what has been published of it; where it is missing, hearth knows no figure.
"""
_TITLES = {
    "memory": "Memory", "cpu": "CPU", "limits": "Limits", "files": "Files and disks",
    "container": "Containers", "network": "Network", "spark": "Java and Spark", "hearth": "hearth",
}  # fmt: skip


def page() -> str:
    """Return the text of the page."""
    parts = [_HEAD]
    for group, checks in groupby(all_checks(), lambda check: check.group):
        parts.append(f"\n## {_TITLES[group]}\n")
        parts += [_entry(check) for check in checks]
    return "".join(parts)


def _entry(check: Check) -> str:
    items = [
        ("Better", check.better),
        ("Worth", check.worth.text if check.worth.kind == "published" else ""),
        ("Touches", f"{check.touches}; needs a reboot" if check.reboot else check.touches),
        ("Source", check.source),
    ]
    lines = [filled(f"- *{label}*: {text}", "  ") for label, text in items if text]
    return "\n".join([f"\n### {check.name}\n", filled(check.why), "", *lines, ""])
