"""A commented file to start from: whatever is asked for, it runs and its formulas agree."""

from __future__ import annotations

import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from crawlsim.cli.program import commands
from crawlsim.new_file import scenario_text
from scenarios import scenario_from

CRAWLER = ("pages", "activation", "buffer", "clients", "costs")
HEARD = ((), ("due",), ("signals",), ("due", "signals"))
ASKED = [each for count in range(1, 6) for each in combinations(CRAWLER, count)]


@pytest.mark.parametrize(
    "sections",
    [
        *[(*each, *heard) for each in ASKED for heard in HEARD],
        ("page_set",),
        ("source",),
        ("servers",),
        ("interventions",),
        ("pages", "interventions"),
    ],
    ids=",".join,
)
def test_every_combination_of_sections_is_a_scenario(sections: tuple[str, ...]) -> None:
    scenario = scenario_from(tomllib.loads(scenario_text("my file", list(sections))))
    assert scenario.name == "my-file"
    assert set(sections) - {"due", "signals"} <= scenario.model_fields_set
    assert (scenario.model.frontier is not None) == ("due" in sections)
    assert (scenario.model.hearing is not None) == ("signals" in sections)


def test_every_line_that_is_commented_out_is_a_line_of_a_scenario() -> None:
    """A reader takes the # away, and the line above it."""
    text = scenario_text("my", ["pages", "activation", "buffer", "interventions"])
    text += scenario_text("my", ["due"]) + scenario_text("my", ["due", "signals"])
    for line in text.splitlines():
        if line.startswith("# ") and " = " in line:
            assert tomllib.loads(line[2:])


FILES = ["pages,buffer", "activation", "pages", "due", "page_set", "interventions", "source"]


@pytest.mark.by_day(besides=tuple(FILES))
@pytest.mark.parametrize("sections", [*FILES, "servers"])
def test_the_file_is_checked_as_it_is(crawlsim: Any, tmp_path: Path, sections: str) -> None:
    path = tmp_path / "my.toml"
    code, _, err = crawlsim("new", str(path), "--with", sections)
    assert (code, f"crawlsim check {path}" in err) == (0, True)
    code, out, _ = crawlsim("check", str(path))
    assert (code, out.splitlines()[0]) == (0, "my: agrees")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["taken.toml"], "exists and was not written by crawlsim"),
        (["my.txt"], "must end in .toml"),
        (["my.toml", "--with", "page"], "did you mean pages"),
        (
            ["my.toml", "--with", "source,buffer"],
            "source is a system by itself; for pages that robots bring leave it out",
        ),
        (["no/such/folder/my.toml"], "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_refused(
    crawlsim: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken.toml").write_text("mine")
    code, out, err = crawlsim("new", *arguments)
    assert (code, out, says in err) == (2, "", True)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.toml"]
    assert Path("taken.toml").read_text() == "mine"


@pytest.mark.parametrize("name", list(commands.every))
def test_every_help_has_an_example_and_what_comes_next(crawlsim: Any, name: str) -> None:
    code, out, _ = crawlsim(name, "--help")
    assert code == 0
    assert f"Example:  crawlsim {name}" in out
    assert "Next: " in out


def test_the_help_of_optimize_explains_every_target(crawlsim: Any) -> None:
    from analytic.index.targets import TARGETS

    _, out, _ = crawlsim("optimize", "--help")
    explained = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert set(TARGETS) <= set(explained)


def test_without_arguments_it_says_where_to_begin(crawlsim: Any) -> None:
    code, out, err = crawlsim()
    assert code == 2
    assert "Where to begin:\n    crawlsim new my.toml" in out + err
