"""What a text in a trace is: a number, a date, or broken; and lines with odd quotes and ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crawlsim.fitting import fit
from crawlsim.logs.fit.result import Options
from crawlsim.logs.fit.trace import read_instant, read_trace
from crawlsim.logs.read.columns import instants, numbers
from crawlsim.logs.read.times import Times
from scenarios import ScenarioError


def texts(*values: str) -> pd.Series:
    return pd.Series(list(values), dtype="str")


def are_dates(column: pd.Series) -> bool | None:
    times = Times()
    times(column)
    return times.dated


def written(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows, ""]))
    return path


@pytest.mark.parametrize(
    "text", ["-1", "-300", "-20200101", "-20.5", "-2020", "1e-5", "-1e-05", " -7", "-0", "2e-3"]
)
def test_a_number_is_no_date(text: str) -> None:
    """Parsers of ISO 8601 take some of them for years before Christ."""
    column = texts(text)
    assert np.isnan(instants(column)).all()
    assert numbers(column).tolist() == [float(text)]
    assert are_dates(column) is False
    assert read_instant(text, False, "day") == float(text)
    with pytest.raises(ValueError, match="must be a date"):
        read_instant(text, True, "day")


@pytest.mark.parametrize(
    "text", ["2020-1-5", "-2020-01-01", "+2020-01-01", "20200101T00-01", "2020-W05", "now-", "5-3"]
)
def test_what_is_neither(text: str) -> None:
    column = texts(text)
    assert np.isnan(instants(column)).all()
    assert np.isnan(numbers(column)).all()
    assert are_dates(column) is None


@pytest.mark.parametrize("text", ["2020-01", "2020-01-31", " 2020-01-31 ", "2020-01-31T12:00-01"])
def test_dates_are_dates(text: str) -> None:
    column = texts(text)
    assert np.isfinite(instants(column)).all()
    assert np.isnan(numbers(column)).all()
    assert are_dates(column) is True


def test_negative_times_are_read_as_numbers(tmp_path: Path) -> None:
    """Relative times: seconds before an event, the first of them negative."""
    rows = [f"p{place // 20 % 2},{place - 300}" for place in range(0, 600, 20)]
    trace = read_trace(written(tmp_path / "t.csv", "page,time", rows))
    assert not trace.dated
    assert trace.broken.count == 0
    assert sorted(trace.values.tolist()) == list(range(-300, 300, 20))
    found = fit(trace, Options(section="pages", since="-200"))
    assert found.details.rates.counts.sum() == 24  # from -180 on; those at -200 are not after it


def test_a_negative_number_among_dates_is_broken(tmp_path: Path) -> None:
    rows = ["a,2020-01-01", "a,-20200101", "a,2020-1-5", "a,2020-01-06"]
    trace = read_trace(written(tmp_path / "t.csv", "page,time", rows))
    assert trace.dated
    assert [line for line, _ in trace.broken.lines] == [3, 4]
    assert np.diff(trace.values).tolist() == [5.0]
    with pytest.raises(ScenarioError, match="must be a date"):
        fit(trace, Options(section="pages", since="-1"))


@pytest.mark.parametrize("name", ["a", 'say "a"', '"a ""b"""'])
def test_a_carriage_return_within_a_line_is_broken(tmp_path: Path, name: str) -> None:
    """Of plain lines, and of those with quotes that are taken apart one by one."""
    path = tmp_path / "t.csv"
    lines = ["page,time", f"{name},1", f"{name},2\r", "\r", f"{name},3\r4", f"\r{name},5", "b\rc,6"]
    path.write_bytes("\r\n".join([*lines, f"{name},7\r\n"]).encode())
    trace = read_trace(path)
    assert trace.values.tolist() == [1.0, 7.0]
    assert trace.broken.count == 4
    assert trace.broken.lines[0] == (3, "holds a carriage return alone")
    assert [line for line, _ in trace.broken.lines] == [3, 5, 6, 7]


def test_doubled_quotes_are_not_taken_apart_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crawlsim.logs.read import csv_lines

    fields = ['"a ""b"" c"', '"""', '""""', '""', '"x,""y"', '"a"""', '"""a"', "plain", '"q"']
    rows = [f"{field},{place}" for place, field in enumerate(fields) if field != '"""']
    path = written(tmp_path / "t.csv", "page,time", rows)
    one_by_one = [csv_lines.fields_of(row.encode())[0] for row in rows]
    monkeypatch.setattr(csv_lines, "_counted", lambda _: pytest.fail("line by line"))
    trace = read_trace(path)
    assert sorted(name for name in one_by_one if name) == list(trace.pages)
    assert {'a "b" c', '"', 'x,"y'} <= set(trace.pages)
    assert list(trace.broken.lines) == [(4, "page = '' is not a name")]
    monkeypatch.undo()
    path = written(path, "page,time", [*rows, '""",8', '""z"",9', '"a"",10'])
    assert list(read_trace(path).broken.lines[1:]) == [
        (line, "has a quote that is not closed, or out of place") for line in (10, 11, 12)
    ]
