"""What is shown and kept holds no secret: Spark's rule, and what is in a value."""

from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.base.redaction import REDACTED, Redaction
from hearth.cli.options import read_line
from hearth.machine.plan import parse_conf
from hearth.spark.command import Launch

CANARY = "c4n4ry"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.authenticate.secret", CANARY),
        ("spark.ssl.keyPassword", CANARY),
        ("spark.executorEnv.DB_PASSWORD", CANARY),
        ("spark.yarn.appMasterEnv.API_TOKEN", CANARY),
        ("spark.hadoop.fs.s3a.access.key", CANARY),
        ("spark.hadoop.fs.s3a.secret.key", CANARY),
        ("spark.my.credential", CANARY),
        ("spark.driver.extraJavaOptions", f"-Xss4m -Ddb.password={CANARY} -Dx=y"),
        ("spark.driver.extraJavaOptions", f"-Xss4m '-Ddb.password=a {CANARY}' -Dx=y"),
        ("spark.executorEnv.OPTS", f"user=me password={CANARY}"),
        ("spark.my.list", f"this holds a secret: {CANARY}"),
        ("spark.my.note", f"the secret is {CANARY}"),
        ("spark.jdbc.url", f"jdbc:postgresql://h/db?user=me&password={CANARY}&ssl=1"),
        ("spark.jdbc.url", f"jdbc:oracle:thin:scott/{CANARY}@//h:1521/x"),
        ("spark.repo", f"https://me:{CANARY}@host/x.git"),
        ("spark.repo", f"https://{CANARY}@host/x.git"),
        ("spark.my.json", f'{{"user": "me", "password": "{CANARY}"}}'),
    ],
)
def test_the_value_of_a_setting_that_holds_a_secret_is_not_shown(key: str, value: str) -> None:
    shown = Redaction.of({}).setting(key, value)
    assert CANARY not in shown
    assert REDACTED in shown


@pytest.mark.parametrize(
    "words",
    [
        ["job.py", f"password={CANARY}"],
        ["job.py", f"password=two words {CANARY}"],
        ["job.py", "--db-password", CANARY],
        ["job.py", "--db-password", f"-{CANARY}"],
        ["job.py", f"--token={CANARY}"],
        ["--conf", f"spark.authenticate.secret={CANARY}", "job.py"],
        ["--conf", f"spark.x={CANARY} is the secret", "job.py"],
        [f"-Dmy.accessKey={CANARY}", "Main"],
        [f"s3a://KEY:{CANARY}@bucket/x"],
    ],
)
def test_the_words_of_a_command_line_lose_their_secrets(words: list[str]) -> None:
    assert CANARY not in " ".join(Redaction.of({}).words(words))


def test_a_line_of_text_loses_its_secrets() -> None:
    line = f"java -cp a.jar Main --db-password {CANARY} token={CANARY} -D'x.secret=a {CANARY}'"
    assert CANARY not in Redaction.of({}).text(line)
    assert Redaction.of({}).text(line).startswith("java -cp a.jar Main --db-password ")


def test_what_holds_no_secret_is_shown_as_it_is() -> None:
    redaction = Redaction.of({})
    plain = ["--name", "tokenizer", "/data/tokens/a.py", "--rows=3", "hdfs://h:9000/x", "a:b"]
    assert redaction.words(plain) == plain
    options = "-Xlog:gc*:file=/r/gc-%p.log:time -XX:+UseG1GC -Da=b"
    assert redaction.setting("spark.executor.extraJavaOptions", options) == options
    for files in ("/secrets/a.jar", "file:/secrets/a.jar,/b/token.jar", "/token/conf:/x/tokens"):
        assert redaction.setting("spark.jars", files) == files
    assert redaction.setting("spark.hearth.plan", "/secret/plans/1.json") == "/secret/plans/1.json"


def test_the_users_own_patterns_hold_in_place_of_sparks() -> None:
    own = Redaction.of({"spark.redaction.regex": "(?i)geheim"})
    assert own.setting("spark.geheim", "x") == REDACTED
    assert own.setting("spark.secret", "x") == "x"
    text = Redaction.of({"spark.redaction.string.regex": r"\d{4}-\d{4}"})
    assert text.setting("spark.x", "card 1234-5678") == f"card {REDACTED}"
    # A pattern of Java's that Python cannot read hides too much rather than too little.
    java = Redaction.of({"spark.redaction.regex": r"\p{Alpha}++secret"})
    assert java.setting("spark.anything", "x") == REDACTED


def test_a_dry_run_shows_the_command_and_no_secret() -> None:
    line = read_line(
        ["--conf", f"spark.authenticate.secret={CANARY}", "--driver-java-options",
         f"-Dpassword={CANARY}", "--conf", "spark.executor.memory=1g", "a.py", f"token={CANARY}"]
    )  # fmt: skip
    launch = Launch(Path("spark-submit"), line.options, line.application, {"MY_TOKEN": CANARY}, [])
    text = launch.shell_text(Redaction.of({}))
    assert CANARY not in text
    assert text.count(REDACTED) == 4
    assert "spark.executor.memory=1g" in text
    assert CANARY not in " ".join(launch.shown_command(Redaction.of({})))
    assert " ".join(launch.command).count(CANARY) == 3


def test_an_error_about_a_word_does_not_repeat_its_secret() -> None:
    with pytest.raises(UserError) as wrong:
        read_line([f"--passwort-password={CANARY}", "a.py"])
    assert CANARY not in str(wrong.value)
    with pytest.raises(UserError) as wrong:
        parse_conf([f"spark.authenticate.secret {CANARY}"])
    assert CANARY not in str(wrong.value)
