"""Small parts of the readers: rows that come late, files that are empty, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crawlsim.logs.read import read_logs, read_signals
from crawlsim.logs.read.parquet import is_parquet, read_parquet
from crawlsim.logs.read.signals import SignalLog, heard_in
from crawlsim.logs.read.stormcrawler import _flat
from crawlsim.logs.read.times import seconds_of
from scenarios import ScenarioError


def test_rows_of_json_may_begin_after_blocks_without_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is broken before them is counted, with its lines."""
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._BLOCK", 24)
    path = tmp_path / "log.jsonl"
    rows = [{"url": "https://a.org/", "time": f"2024-01-0{day}", "digest": "x"} for day in (1, 2)]
    broken = ["{'no': 'json'}"] * 6
    lines = [*broken, json.dumps(rows[0]), "{]", json.dumps(rows[1])]
    path.write_text("\n".join(lines) + "\n")
    found = read_logs([path])
    assert found.urls.tolist() == ["https://a.org/"]
    assert np.diff(found.time).tolist() == [86400.0]
    assert found.broken.count == 7
    assert [line for line, _ in found.broken.lines] == [1, 2, 3, 4, 5, 6, 8][
        : len(found.broken.lines)
    ]
    assert {why for _, why in found.broken.lines} == {"is not a JSON object"}
    path.write_text("\n".join(broken) + "\n")
    with pytest.raises(ScenarioError) as error:
        read_logs([path])
    assert error.value.file == str(path)


def test_a_file_that_cannot_be_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.parquet"
    assert not is_parquet(path)
    path.write_bytes(b"PAR1 and more")
    assert is_parquet(path)
    assert is_parquet(tmp_path)
    path.write_bytes(b"PAR")
    assert not is_parquet(path)

    def denied(*_: object, **__: object) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(ScenarioError) as error:
        is_parquet(path)
    assert str(error.value) == f"{path}\ncannot be read: Permission denied"


def test_parquet_without_the_columns_is_refused_as_csv_is(tmp_path: Path) -> None:
    """And what only begins like Parquet, by what it lacks."""
    path = tmp_path / "x.parquet"
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_parquet(path)
    csv = tmp_path / "x.csv"
    csv.write_text("a,b\n1,3\n")
    with pytest.raises(ScenarioError) as of_parquet:
        read_parquet(path, None)
    with pytest.raises(ScenarioError) as of_csv:
        read_logs([csv])
    assert (of_parquet.value.key, of_parquet.value.value) == (of_csv.value.key, of_csv.value.value)
    path.write_bytes(b"PAR1 and nothing")
    with pytest.raises(ScenarioError) as error:
        read_parquet(path, None)
    assert str(error.value).startswith(f"{path}\ncannot be read as Parquet: ")


@pytest.mark.parametrize(
    ("row", "flat"),
    [
        ({"_source": "text"}, {}),
        ({"url": "a", "metadata": 3}, {"url": "a", "metadata": 3}),
        (
            {"_source": {"URL": "a", "metadata": {"Fetch%2EstatusCode": 304, "url": "b"}}},
            {
                "url": "a",
                "fetch.statuscode": 304,
                "metadata": {"Fetch%2EstatusCode": 304, "url": "b"},
            },
        ),
        ({"metadata.Signature": "x", "url": "a"}, {"signature": "x", "url": "a"}),
    ],
)
def test_documents_of_a_status_index_lie_flat(row: dict[str, Any], flat: dict[str, Any]) -> None:
    """Fields of the document come before metadata of the same name."""
    assert _flat(row) == flat


def test_times_may_be_numbers_of_a_table() -> None:
    """Unix seconds, digits of a day, of dates and of whole and other numbers."""
    day = pd.Timestamp("2024-01-31").timestamp()
    assert seconds_of(pd.Series([day, day + 0.5])).tolist() == [day, day + 0.5]
    assert seconds_of(pd.Series([20240131, int(day)])).tolist() == [day, day]
    assert seconds_of(pd.Series(pd.to_datetime(["2024-01-31"]))).tolist() == [day]
    found = seconds_of(pd.Series([np.nan, day]))
    assert np.isnan(found[0])
    assert found[1] == day


# Signals


def test_signals_of_pages_by_a_way_that_there_is_not_are_refused() -> None:
    with pytest.raises(ScenarioError) as error:
        read_signals([], pages="site-ke")
    assert str(error.value) == (
        '--pages = "site-ke"\nmust be exact or site-key (did you mean site-key?)'
    )


def test_an_empty_file_has_no_signals(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(ScenarioError) as error:
        read_signals([tmp_path / "a.csv"])
    assert str(error.value) == f"{tmp_path / 'a.csv'}\n--signals\nno signal can be read"
    (tmp_path / "b.csv").write_text("url,time\na,2024-01-01\n")
    assert read_signals([tmp_path / "a.csv", tmp_path / "b.csv"]).urls.tolist() == ["a"]


def strangers(pages: str, urls: list[str]) -> str:
    """The note on signals of URLs that were never visited."""
    times = 1.7e9 + 86400.0 * np.arange(len(urls), dtype=float)
    log = SignalLog(
        np.array(urls, object), np.arange(len(urls), dtype=np.int32), times, pages=pages
    )
    visited = np.array(["https://a.org/1", "https://a.org/2"], object)
    return heard_in(log, visited, float(times[0]), float(times[-1])).notes[0]


def test_strangers_among_signals_are_counted_with_the_spellings_among_them() -> None:
    known = ["https://a.org/1", "https://a.org/2"]
    assert strangers("exact", [*known, "https://b.org/"]) == (
        "1 signal is of a URL that was never visited."
    )
    assert strangers("exact", [*known, "http://www.a.org/1", "https://b.org/"]) == (
        "2 signals are of URLs that were never visited; 1 of 2 URLs is a spelling of a page that "
        "visits know (http and https, www.): with --pages site-key their signals count."
    )
    assert strangers("site-key", [*known, "https://b.org/", "https://c.org/"]) == (
        "2 signals are of URLs that were never visited."
    )
