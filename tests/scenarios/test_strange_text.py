"""Odd keys, values, names, arguments: exit 0 or 2, few words, nothing that acts on a terminal."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples

from scenarios import load
from scenarios.files import value_text
from scenarios.text import visible

MOST = 5000
"""Characters on stderr: a refusal has three lines of at most 2000, and mostly of far less."""

FIXED = settings(
    max_examples=examples(60),
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

ACTING = "\x1b[31m\x07\x7f\x9b\u202e\u2066\u200f\u2028\r\n\t"
LETTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from(ACTING + "[]{}\"'=.,;#\\/")
TEXTS = st.text(LETTERS, max_size=30) | st.builds(
    lambda text: text * 2000, st.text(LETTERS, min_size=1, max_size=3)
)
KEYS = TEXTS | st.sampled_from(
    ["name", "title", "robots", "pages", "file", "policy", "exponential"]
)
VALUES = st.recursive(
    st.integers() | st.floats() | st.booleans() | TEXTS | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
PATHS = st.sampled_from(
    [
        *("name", "title", "time_unit", "judged", "pages", "robots", "buffer", "activation"),
        *("buffer.service", "buffer.discipline", "buffer.obsolescence", "robots.access_time"),
        *("robots.accessing", "robots.accessing.policy", "robots.accessing.frequencies"),
        *("pages.change_rates", "pages.weights", "pages.hosts", "run", "run.seed", "costs"),
        *("buffer.service.exponential", "activation.threshold", "activation.optimal"),
    ]
)


def assert_decent(called: tuple[int, str, str]) -> None:
    code, out, err = called
    assert code in (0, 2), err
    assert len(err) < MOST
    for text in (out, err):
        assert visible(text) == text


@FIXED
@given(entries=st.dictionaries(KEYS, VALUES, min_size=1, max_size=3))
def test_odd_files(crawlsim: Any, entries: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "odd.toml")
        path.write_text(tomli_w.dumps({"name": "odd", **entries}), encoding="utf-8")
        assert_decent(crawlsim("solve", str(path)))


@FIXED
@given(path=PATHS, value=VALUES)
def test_odd_entries_of_a_good_file(crawlsim: Any, path: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        entries: Any = load("pipeline-light").as_file()
        *sections, key = path.split(".")
        table = entries
        for section in sections:
            table = table.setdefault(section, {})
        table[key] = value
        file = Path(folder, "odd.toml")
        file.write_text(tomli_w.dumps(entries), encoding="utf-8")
        assert_decent(crawlsim("run", str(file), "--engine", "none"))


@FIXED
@given(path=PATHS | TEXTS, value=VALUES)
def test_odd_changes(crawlsim: Any, path: str, value: Any) -> None:
    change = f"{path}={value_text(value)}"
    assert_decent(crawlsim("run", "pipeline-light", "--engine", "none", "--set", change))


@FIXED
@given(text=TEXTS.filter(lambda text: "\0" not in text))
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{}"],
        ["{}"],
        ["solve", "one-robot", "{}"],
        ["run", "one-robot", "--{}"],
        ["run", "one-robot", "--engine", "{}"],
        ["run", "one-robot", "--seed", "{}"],
        ["run", "one-robot", "--warmup", "{}"],
        ["formulas", "{}"],
        ["scenarios", "{}"],
        ["optimize", "one-robot", "--target", "{}"],
        ["sweep", "one-robot", "--vary", "{}"],
        ["fit", "{}"],
        ["fit", "trace.csv", "--kind", "{}"],
        ["check", "one-robot", "--precision", "0.1", "--measure", "{}"],
    ],
    ids=" ".join,
)
def test_odd_arguments(crawlsim: Any, arguments: list[str], text: str) -> None:
    if text.strip() in ("help", "h", "json", "version", "names", "compiled", "simpy"):
        return
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            assert_decent(crawlsim(*(each.format(text) for each in arguments)))
        finally:
            os.chdir(before)


@FIXED
@given(
    header=st.lists(TEXTS | st.sampled_from(["page", "time", "rate"]), min_size=1, max_size=3),
    rows=st.lists(st.lists(TEXTS | st.just("1.5"), min_size=1, max_size=3), max_size=4),
    separator=st.sampled_from(",;\t|"),
)
def test_odd_tables(
    crawlsim: Any, header: list[str], rows: list[list[str]], separator: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "odd.csv")
        lines = [separator.join(fields) for fields in (header, *rows)]
        path.write_text("\n".join(lines), encoding="utf-8", newline="")
        scenario = load("one-robot").as_file()
        scenario["buffer"]["service"] = {"empirical": {"file": "odd.csv"}}
        file = Path(folder, "odd.toml")
        file.write_text(tomli_w.dumps(scenario), encoding="utf-8")
        assert_decent(crawlsim("solve", str(file)))
        assert_decent(crawlsim("fit", str(path)))


@pytest.mark.thorough
@FIXED
@given(names=st.lists(TEXTS, min_size=1, max_size=3, unique=True))
def test_odd_names_of_pages(crawlsim: Any, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "odd.csv")
        quoted = ['"' + name.replace('"', '""') + '"' for name in names]
        lines = [f"{name},{time}.5" for time in range(1, 6) for name in quoted]
        path.write_text("\n".join(["page,time", *lines]), encoding="utf-8", newline="")
        assert_decent(crawlsim("fit", str(path), "--out", str(Path(folder, "odd.toml"))))
        assert_decent(crawlsim("fit", str(path), "--json"))


def test_names_that_are_no_utf8(crawlsim: Any, tmp_path: Path) -> None:
    name = os.fsdecode(b"sizes \xff")
    (tmp_path / name).write_text("1\n2\n")
    change = f"buffer.service.empirical.file={tmp_path}/{name}"
    for more in ([], ["--out", str(tmp_path / f"out {name}")]):
        flags = ["--replications", "2", "--set", change, *more]
        assert_decent(crawlsim("run", "one-robot", *flags))
    assert_decent(crawlsim("run", "one-robot", "--set", f"{change}.csv"))
