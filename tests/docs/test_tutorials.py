"""Whoever does a tutorial, step by step in an empty folder, sees what it shows."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "tutorials"
EXAMPLES = PAGES.with_name("examples")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def write_down(code: str) -> Path:
    """Save what the first line names: a whole file, or lines below one of it."""
    first, _, rest = code.partition("\n")
    name, _, below = first.removeprefix("# ").partition(", below ")
    file = Path(name)
    if below:
        text = file.read_text()
        (line,) = re.findall(rf"^{below} .*\n", text, flags=re.MULTILINE)
        rest = text.replace(line, line + rest)
    file.write_text(rest)
    return file


def missing_of(shown: str, printed: str) -> list[str]:
    """The lines shown that are not printed, in this order; "…" stands for any."""
    lines = iter([line.rstrip() for line in printed.splitlines()])
    return [line for line in shown.splitlines() if line not in ("", "…") and line not in lines]


@pytest.mark.by_day(besides=("case-study", "log-to-schedule", "your-own-system"))
@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_a_tutorial_shows_what_its_reader_sees(
    page: Path, crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for data in EXAMPLES.glob("*.gz"):
        shutil.copy(data, tmp_path)
    for language, code in BLOCK.findall(page.read_text()):
        if language == "toml":
            write_down(code)
        elif language == "python":
            runpy.run_path(str(write_down(code)))
        elif code.startswith("$ "):
            command, _, shown = code.removeprefix("$ ").partition("\n")
            exit_code, out, err = crawlsim(*shlex.split(command)[1:])
            assert exit_code == (2 if shown.startswith("crawlsim:") else 0), command + err
            assert missing_of(shown, out + err) == [], command


def test_a_line_that_is_not_printed_is_seen() -> None:
    assert missing_of("a\n…\nc\n", "a\nb\nc\n") == []
    assert missing_of("a\nc\n…\nb\n", "a\nb\nc\n") == ["b"]
