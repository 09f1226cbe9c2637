"""Parquet files and folders say the same as CSV."""

from __future__ import annotations

import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from log_files import EXPECTED, HISTORY, A, B, at, csv, said

from crawlsim.logs.read import read_logs
from crawlsim.logs.read.log import ChangeLog
from scenarios import ScenarioError

pytest.importorskip("pyarrow")
pytest.importorskip("dask.dataframe")


def frame() -> pd.DataFrame:
    """As Common Crawl's index has it: dates, numbers, and nothing where there is nothing."""
    return pd.DataFrame(
        {
            "url_surtkey": ["org,example)/"] * len(HISTORY),
            "url": [visit.url for visit in HISTORY],
            "fetch_time": pd.to_datetime([visit.time for visit in HISTORY]),
            "fetch_status": pd.array(
                [pd.NA if visit.status == "-" else int(visit.status) for visit in HISTORY], "Int16"
            ),
            "content_digest": [None if v.digest == "-" else v.digest for v in HISTORY],
            "content_mime_type": [visit.mime for visit in HISTORY],
        }
    )


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", None, "Asia/Tokyo"])
def test_a_file_says_the_same_as_csv(unit: str, zone: str | None, tmp_path: Path) -> None:
    table = frame()
    times = table["fetch_time"].dt.tz_convert(zone or "UTC").dt.as_unit(unit)
    table["fetch_time"] = times if zone else times.dt.tz_localize(None)
    path = tmp_path / "index"
    table.to_parquet(path)
    assert said(read_logs([path])) == EXPECTED


@pytest.mark.parametrize("form", ["str", "Unix seconds", "14 digits"])
def test_times_may_be_texts_or_numbers(form: str, tmp_path: Path) -> None:
    table = frame()
    times = table["fetch_time"]
    table["fetch_time"] = {
        "str": times.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Unix seconds": times.astype("datetime64[s, UTC]").astype("int64"),
        "14 digits": times.dt.strftime("%Y%m%d%H%M%S").astype("int64"),
    }[form]
    table.to_parquet(tmp_path / "index.parquet")
    assert said(read_logs([tmp_path / "index.parquet"])) == EXPECTED


def test_a_folder_of_partitions_says_the_same(tmp_path: Path) -> None:
    """More row groups than processors, in folders, in any order; a log beside them."""
    table = frame().sample(frac=1.0, random_state=1)
    for number in range(4):
        folder = tmp_path / "index" / f"crawl=2026-{number}" / "subset=warc"
        folder.mkdir(parents=True)
        part = table[number::4].copy()
        part["content_digest"] = part["content_digest"].astype(object)
        part.to_parquet(folder / "part-0.parquet", row_group_size=1)
    (tmp_path / "index" / "_SUCCESS").touch()
    log = tmp_path / "log.csv"
    log.write_text(csv(HISTORY))
    assert said(read_logs([tmp_path / "index"])) == EXPECTED
    assert said(read_logs([log, tmp_path / "index"])) == EXPECTED


def test_broken_rows_have_numbers(tmp_path: Path) -> None:
    table = pd.DataFrame({"url": [A, B, None], "time": [at(1), None, at(2)], "digest": ["x"] * 3})
    table.to_parquet(tmp_path / "log", row_group_size=1)
    log = read_logs([tmp_path / "log"])
    assert list(log.urls) == [A]
    assert log.notes == (
        "2 of 3 rows are broken and left out.",
        "log, line 2: time = '' is not a time; write 2025-01-06T01:16.",
        "log, line 3: url = '' is not a name.",
    )


@pytest.mark.parametrize("values", [[None, 1, 0], [None, True, False], ["", "1", "false"]])
def test_a_column_says_itself_whether_a_page_had_changed(values: list[Any], tmp_path: Path) -> None:
    times = [at(1), at(2), at(3)]
    pd.DataFrame({"url": A, "time": times, "changed": values}).to_parquet(tmp_path / "log")
    assert said(read_logs([tmp_path / "log"])) == {A: [(at(1), 0), (at(2), 1), (at(3), 0)]}


def test_a_part_without_a_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    for number, columns in enumerate((["url", "fetch_time", "content_digest"], ["url"])):
        frame()[columns].to_parquet(tmp_path / "index" / f"part-{number}.parquet")
    with pytest.raises(ScenarioError, match="cannot be read as Parquet"):
        read_logs([tmp_path / "index"])


def test_times_alone_are_changes(tmp_path: Path) -> None:
    table = pd.DataFrame({"page": [A, A], "time": [at(1), at(1) + timedelta(days=1)]})
    table.to_parquet(tmp_path / "log")
    assert isinstance(read_logs([tmp_path / "log"]), ChangeLog)


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"PAR1" + b"x" * 100 + b"PAR1")
    (tmp_path / "short").write_bytes(b"PAR1")
    for name in ("log", "short"):
        with pytest.raises(ScenarioError, match="cannot be read as Parquet"):
            read_logs([tmp_path / name])


def test_the_packages_that_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame().to_parquet(tmp_path / "index")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ScenarioError, match=r"pip install 'crawlsim\[parquet\]'"):
        read_logs([tmp_path / "index"])


def test_no_thread_is_left_behind(tmp_path: Path) -> None:
    """A command that is interrupted would take a thread for one that still works."""
    before = threading.active_count()
    frame().to_parquet(tmp_path / "log.parquet")
    read_logs([tmp_path / "log.parquet"])
    assert threading.active_count() == before
