"""Tables on narrow terminals, and on those that have no letters but those of ASCII."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from crawlsim.cli.streams import writable

RUN = ("run", "one-robot", "--replications", "3")


def header_of(text: str) -> list[str]:
    line = next(each for each in text.splitlines() if "measure" in each)
    return line.replace("± 95 %", "±").split()


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (100, ["estimate", "±", "low", "high", "unit"]),
        (80, ["estimate", "low", "high"]),
        (64, ["estimate", "±"]),
        (40, ["estimate"]),
    ],
)
def test_an_interval_has_both_ends_or_a_half_width(
    columns: int, shown: list[str], crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = crawlsim(*RUN)
    assert code == 0
    assert header_of(out) == ["measure", *shown]
    widest = max(len(line) for line in out.splitlines() if line.startswith("  arrival_rate"))
    assert widest <= max(columns, 50)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("ascii", "+/- 3 time^2 x 2 >= 1 - 0 ?"),
        ("latin-1", "± 3 time² × 2 >= 1 - 0 ?"),
        ("utf-8", "± 3 time² × 2 ≥ 1 – 0 φ"),
    ],
)
def test_signs_are_spelled_where_they_cannot_be_written(
    encoding: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert writable("± 3 time² × 2 ≥ 1 – 0 φ") == text
