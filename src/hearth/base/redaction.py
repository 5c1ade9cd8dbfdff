"""Hide secrets in what is shown or kept, by Spark's own rule.

Spark hides the value of a setting whose key or value matches `spark.redaction.regex`, and what
`spark.redaction.string.regex` matches in any text (Utils.redact of Spark 4.3). The same is done
within values: `-Dkey=value`, `key=value`, `--key value` lose the value where the key matches, and a
URL loses its credentials (RFC 3986, userinfo). Names of files stay.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

#: What replaces a value (Utils.REDACTION_REPLACEMENT_TEXT).
REDACTED = "*********(redacted)"
KEY_PATTERN = "spark.redaction.regex"
TEXT_PATTERN = "spark.redaction.string.regex"
#: Spark 4.3's default (SECRET_REDACTION_PATTERN).
_DEFAULT = "(?i)secret|password|token|access[.]?key|credential"
#: Settings whose values are hearth's names and numbers, or patterns: hidden by key only.
_OPEN = ("spark.hearth.", "spark.redaction.")

# A key is tried once, from its first character and as a whole: settings may be megabytes long.
_ASSIGNED = re.compile(r"(?<![\w.\-])([\w.\-]++)(?:\s*=\s*|[\"']\s*:\s*|:\s+)")
_VALUE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|\S+")
_QUOTED = re.compile(r"([\"'])((?:-D|--?)?([\w.\-]+)=)(?:(?!\1).)*\1", re.DOTALL)
_FLAG = re.compile(r"(?<!\S)(--?[\w.\-]+)\s+(?=[^\s-])")
_FLAG_WORD = re.compile(r"--?[\w.\-]+")
_WHOLE = re.compile(r"\A(?:-D|--?)?([\w.\-]+)=(.*)", re.DOTALL)
_CREDENTIALS = re.compile(
    r"((?:https?|ftp|git|ssh)://)[^\s/@]++(?=@)"
    r"|((?<![\w+.\-])[\w+.\-]++://)[^\s/@:]*+:[^\s/@]*+(?=@)"
    # What no @ follows is passed over as a whole, and stays as it is.
    r"|(jdbc:oracle:\w+:)[^\s@]++(?=(@)?)"
)
#: A file's name is not a secret, and a command without it is useless.
_PATH = re.compile(r"(?<![\w/.\-])(?:file:)?/[^\s,:;=\"']*")
#: The name of the value that follows, read backwards from it.
_NAME_BACKWARDS = re.compile(r"(?:\s*=\s*|\s*:\s*[\"']?|\s+)?[\w.\-]*")


@dataclass(frozen=True)
class Redaction:
    """The patterns in force; `text_pattern` is None where the user set none."""

    secret: re.Pattern[str]
    text_pattern: re.Pattern[str] | None = None

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> "Redaction":
        """Return the rule of the user's settings, else Spark's default."""
        known = {key: settings[key] for key in (KEY_PATTERN, TEXT_PATTERN) if key in settings}
        # An event log may hold the pattern itself redacted.
        known = {key: value for key, value in known.items() if value != REDACTED}
        text = known.get(TEXT_PATTERN)
        return cls(_pattern(known.get(KEY_PATTERN, _DEFAULT)), _pattern(text) if text else None)

    def setting(self, key: str, value: str) -> str:
        """Return the value of a setting or environment variable, as it may be shown."""
        if self.secret.search(key):
            return REDACTED
        shown = self.text(value)
        if not key.startswith(_OPEN) and self.secret.search(_PATH.sub("", _without_hidden(shown))):
            return REDACTED
        return shown

    def settings(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {key: self.setting(key, value) for key, value in settings.items()}

    def assignment(self, text: str) -> str:
        """Return `key=value`, as it may be shown."""
        key, equals, value = text.partition("=")
        return f"{key}={self.setting(key.strip(), value)}" if equals else self.text(text)

    def words(self, words: Sequence[str]) -> list[str]:
        """Return the words of a command line."""
        shown: list[str] = []
        before = ""
        for word in words:
            if _FLAG_WORD.fullmatch(before) and self.secret.search(before):
                shown.append(REDACTED)
            elif before in ("--conf", "-c"):
                shown.append(self.assignment(word))
            elif word.startswith("--conf="):
                shown.append(f"--conf={self.assignment(word.removeprefix('--conf='))}")
            else:
                shown.append(self._word(word))
            before = word
        return shown

    def text(self, text: str) -> str:
        """Redact any text: a line of a log, a list of options."""
        shown = _CREDENTIALS.sub(_without_credentials, text)
        shown = _QUOTED.sub(self._quoted, shown)
        shown = self._without_values(self._without_values(shown, _ASSIGNED), _FLAG)
        return self.text_pattern.sub(REDACTED, shown) if self.text_pattern else shown

    def document(self, value: Any) -> Any:
        """Redact every text in a JSON value, or in dataclasses that stand for one."""
        if isinstance(value, str):
            return self.text(value)
        if is_dataclass(value) and not isinstance(value, type):
            names = [each.name for each in fields(value)]
            return replace(value, **{name: self.document(getattr(value, name)) for name in names})
        if isinstance(value, dict):
            return {key: self.document(item) for key, item in value.items()}
        return [self.document(item) for item in value] if isinstance(value, list) else value

    def plan(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Return a plan's document."""
        executors = [
            {**executor, "java_options": self.words(executor["java_options"])}
            for executor in plan["executors"]
        ]
        conf = self.settings(plan["conf"])
        return {**plan, "executors": executors, "conf": conf}

    def _word(self, word: str) -> str:
        """Return one word: its value extends to its end, blanks included."""
        match = _WHOLE.fullmatch(word)
        if match and self.secret.search(match[1]):
            return word[: match.start(2)] + REDACTED
        return self.text(word)

    def _quoted(self, match: re.Match[str]) -> str:
        hidden = self.secret.search(match[3])
        return f"{match[1]}{match[2]}{REDACTED}{match[1]}" if hidden else match[0]

    def _without_values(self, text: str, keys: re.Pattern[str]) -> str:
        parts: list[str] = []
        at = 0
        for match in keys.finditer(text):
            if match.start() < at or not self.secret.search(match[1]):
                continue
            value = _VALUE.match(text, match.end())
            if value:
                parts += [text[at : match.end()], REDACTED]
                at = value.end()
        return "".join([*parts, text[at:]])


def _without_credentials(match: re.Match[str]) -> str:
    scheme = match[1] or match[2] or (match[3] if match[4] else None)
    return f"{scheme}{REDACTED}" if scheme else match[0]


def _without_hidden(text: str) -> str:
    """Return the text without values that are hidden already, and without their names."""
    *before, last = text.split(REDACTED)
    parts = [part[: len(part) - _name_length(part)] for part in before]
    return "".join([*parts, last])


def _name_length(text: str) -> int:
    name = _NAME_BACKWARDS.match(text[::-1])
    return name.end() if name else 0


def is_redacted(texts: Iterable[str]) -> bool:
    return any(REDACTED in text for text in texts)


def _pattern(text: str) -> re.Pattern[str]:
    """Return a Java pattern; one that Python cannot read hides every value."""
    try:
        return re.compile(text)
    except re.error:
        return re.compile("")
