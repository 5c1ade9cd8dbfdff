"""A workload's parameters, as they stand on a command line."""

from collections.abc import Sequence

from hearth.base.errors import UserError


def pairs(words: Sequence[str]) -> dict[str, str]:
    """Return `--name value` and `--name=value` words as parameters; raise UserError for others."""
    parameters: dict[str, str] = {}
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        if not name.startswith("--") or name == "--":
            raise UserError(f"'{word}' is not understood: write a parameter as --NAME VALUE")
        if not equals:
            given = next(left, None)
            if given is None:
                raise UserError(f"{name}: its value is missing: write {name} VALUE")
            value = given
        if name[2:] in parameters:
            raise UserError(f"{name}: given twice: give it once")
        parameters[name[2:]] = value
    return parameters
