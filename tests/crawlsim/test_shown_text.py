"""What a terminal or a page gets: nothing that acts on it, and one line where there is nobody."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analytic import compare
from crawlsim.cli.output import comparison_table, estimate_table
from crawlsim.logs.read.page_names import spelled
from scenarios import load
from scenarios.text import counted, quantity, visible
from sim import run

CRAWLSIM = [sys.executable, "-m", "crawlsim"]
ACTING = "\x1b[31m \x1b]0;title\x07 \x7f \x9b31m \u202e \u2066 \u200f"
STRANGE_KEY = r'"exp\u001b[1m\u009b\u202e" = { mean = 1.0 }'
FILE = """name = "strange"
robots.available = 1
robots.access_time = {access_time}
robots.accessing.policy = "round-robin"
pages.change_rates = {change_rates}
"""


def acts(text: str, but_for: str = "") -> set[str]:
    return {letter for letter in text if visible(letter) != letter} - set(but_for)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Page names that would act, each with some changes."""
    path = tmp_path / "trace.csv"
    rows = [f"{name},{time}" for time in range(1, 20) for name in (f"a {ACTING}", "b \u2028 c")]
    path.write_text("\n".join(["page,time", *rows, ""]), encoding="utf-8")
    return path


def test_what_acts_is_shown_by_its_code() -> None:
    assert visible("a\tb\nc é 日") == "a\tb\nc é 日"
    assert visible("\x1b[1m\u202e\u2028\udcff\r") == r"\u001b[1m\u202e\u2028\udcff\u000d"
    assert acts(visible(ACTING)) == set()


def test_page_names_do_not_act_in_a_table_or_a_page(
    crawlsim: Any, trace: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    code, out, err = crawlsim("fit", str(trace), "--report", str(page))
    assert code == 0
    assert "%1B[31m" in out.replace("\n", "")
    for text in (out, err, page.read_text(encoding="utf-8")):
        assert acts(text) == set()


def test_json_stays_the_same_document(crawlsim: Any, trace: Path) -> None:
    _, out, _ = crawlsim("fit", str(trace), "--json")
    assert acts(out) == set()
    subjects = {each["subject"] for each in json.loads(out)["parameters"]}
    assert subjects == {spelled(f"a {ACTING}"), spelled("b \u2028 c")}  # as schedules spell them


def on_terminal(*arguments: str) -> str:
    """What a terminal gets, without what our own styles and bars send."""
    keyboard, screen = pty.openpty()
    environment = {**os.environ, "TERM": "dumb"}
    process = subprocess.Popen(
        [*CRAWLSIM, *arguments], stdout=screen, stderr=screen, env=environment
    )
    os.close(screen)
    text = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
        while part := os.read(keyboard, 65536):
            text += part
    os.close(keyboard)
    process.wait(timeout=60)
    return text.decode()


def test_names_do_not_act_on_a_terminal(trace: Path) -> None:
    text = on_terminal("fit", str(trace))
    assert "%1B" in text
    assert acts(text, but_for="\r") == set()


@pytest.mark.parametrize(
    ("access_time", "change_rates"),
    [
        (f"{{ {STRANGE_KEY} }}", "[1.0]"),
        (f"{{ exponential = {{ {STRANGE_KEY} }} }}", "[1.0]"),
        ("{ exponential = { mean = 1.0 } }", '{ file = "rates.csv", column = "rate" }'),
    ],
    ids=["key of a one-of table", "key of a law", "header of a data file"],
)
def test_refusals_do_not_act(
    crawlsim: Any, tmp_path: Path, access_time: str, change_rates: str
) -> None:
    (tmp_path / "rates.csv").write_text(f"page,{ACTING}\na,1\n", encoding="utf-8")
    path = tmp_path / "strange.toml"
    path.write_text(FILE.format(access_time=access_time, change_rates=change_rates))
    code, out, err = crawlsim("run", str(path))
    assert (code, out) == (2, "")
    assert acts(err) == set()


@pytest.mark.parametrize(
    "letter",
    ["\u202e", "\u2066", "\u009b", "\u2028", "\n"],
    ids=["override", "isolate", "C1", "line separator", "newline"],
)
def test_a_title_does_not_act(crawlsim: Any, letter: str) -> None:
    code, _, err = crawlsim("run", "one-robot", "--set", f"title=a{letter}b")
    assert code == 2
    assert "must be one line without control characters" in err
    assert acts(err) == set()


@pytest.mark.parametrize(
    "arguments",
    [["run", "one-robot"], ["run", "one-robot", "--json"], ["scenarios"], ["--help"], ["schema"]],
    ids=["run", "json", "scenarios", "help", "schema"],
)
def test_a_closed_stdout_is_said_in_one_line_before_any_work(arguments: list[str]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *CRAWLSIM, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == "crawlsim: cannot write the output: stdout is closed\n"


def test_a_stdout_that_is_open_for_reading_only_is_said_in_one_line() -> None:
    with Path(os.devnull).open() as stream:
        done = subprocess.run(
            [*CRAWLSIM, "schema"], stdout=stream, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "crawlsim: cannot write the output: Bad file descriptor\n"


def test_a_closed_stderr_is_no_error() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *CRAWLSIM, "solve", "one-robot"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "starvation_probability" in done.stdout


def test_one_of_a_thing_is_singular() -> None:
    assert [counted(1, "entry"), counted(0, "entry"), counted(2, "pass")] == [
        "1 entry",
        "0 entries",
        "2 passes",
    ]
    assert [quantity("1", "visit"), quantity("1.5", "visit"), quantity("1,000", "rule")] == [
        "1 visit",
        "1.5 visits",
        "1,000 rules",
    ]


def test_a_check_without_a_formula_says_so_in_its_first_line() -> None:
    scenario = load("one-robot", {"run.horizon": 2000.0, "run.replications": 2})
    results = run(scenario, engine="simpy")
    unknown = compare([], results, ["loss_probability"])
    for table, said in (
        (comparison_table(scenario, [], "not judged"), "not judged: no exact formula covers it"),
        (estimate_table(results, scenario, verdict="not judged"), "not judged: no exact formula"),
        (
            comparison_table(scenario, unknown, "inconclusive"),
            "inconclusive: no formula predicts loss_probability",
        ),
    ):
        words = re.sub(r"\[/?\w+\]", "", str(table.title))

        assert words.startswith(f"one-robot: {said}")
        assert "; `solve` says why" in words
