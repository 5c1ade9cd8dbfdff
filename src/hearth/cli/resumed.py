"""`--resume ID`: a study goes on as it was begun, its command typed again or not."""

from argparse import ArgumentParser

from hearth.cli.options import in_parts
from hearth.machine import paths
from hearth.studies.engine.store import StudyKind, kept_words

RESUME_HELP = "continue an interrupted {} by its ID; no need to repeat its command"


def with_kept_words(
    parser: ArgumentParser, kind: StudyKind, words: list[str], apart: str = ""
) -> list[str]:
    """Return the words of a command line; as `typed` the parser gives what a study keeps of them.

    Without an application they are those that began the study, and what is typed now stands before
    its application: what that would change is refused when the study is opened.

    apart: the word behind which another application begins.
    """
    parser.set_defaults(typed=tuple(words))
    if not any(word.partition("=")[0] == "--resume" for word in words):
        return words
    now = in_parts(parser, words, behind=False)
    if now.application or any(word.startswith("--applications") for word in now.hearth):
        return words
    kept = kept_words(kind, paths.state_home(), parser.parse_args(now.hearth).resume)
    end = kept.index(apart) if apart in kept else len(kept)
    then = in_parts(parser, kept[:end], behind=True)
    options = [word for one in then.options for word in (one.name, one.value) if word is not None]
    marked = ["--"] if then.marked else []
    return [*then.hearth, *options, *words, *marked, *then.application, *kept[end:]]
