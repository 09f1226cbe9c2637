"""`fit` and `schedule` of one log read the same pages, visits and gaps, whatever its format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_files import FIRST, FORMS, HISTORY, SECOND, A, C, Visit, at, iso, write
from test_log_forms import nutch_csv, nutch_json, stormcrawler

import crawlsim
from scenarios import ScenarioError

LONG = (*HISTORY, *(Visit(A, at(day), "200", (FIRST, SECOND)[day % 2]) for day in range(21, 30)))


def dumped(written: Callable[[list[tuple[str, Any, str]]], str]) -> list[str]:
    """Three dumps, as each of those programs makes them."""
    return [
        written([(A, at(day), FIRST), (C, at(day + 1), digest)])
        for day, digest in ((0, FIRST), (7, SECOND), (14, SECOND))
    ]


LOGS: dict[str, list[str | bytes]] = {
    **{name: [written(LONG)] for name, written in FORMS.items()},
    "nutch, csv": [*dumped(nutch_csv)],
    "nutch, json": [*dumped(nutch_json)],
    "stormcrawler": [*dumped(stormcrawler)],
    "changes": ["page,time\n" + "".join(f"{A},{iso(at(day))}\n" for day in (0, 3, 3, 40, 90))],
    "signs": ["page,time,changed\na,2026-01-01,\na,2026-01-05,1.0\na,2026-01-05,0\nb,2026-01-06,x\n"
              "b,2026-01-07,\nb,2026-01-09,0.0\nb,2026-01-12,\n"],
    "unix seconds": ["page,time,changed\na,1770000000,0\na,1770100000,1\na,1770300000,0\n"],
    "digits of days": ["page,time,digest\na,20260101,x\na,20260105,y\na,20260106,y\n"],
    "the dead": ["url,time,status,digest\n" + "".join(
        f"http://a.org/{page},2026-01-{day:02},{status},{digest}\n"
        for day in range(1, 20)
        for page, status, digest in (("x", 200, day // 6), ("y", 404, ""), ("z", 503, "")))],
    "no page": ["url,time,status,digest\n" + "".join(
        f"http://a.org/y,2026-01-{day:02},404,\n" for day in range(1, 20))],
    "two pages, seen once": ["url,time,digest\na,2026-01-01,x\nb,2026-01-01,x\n"],
    "posts": ["url,time,method,digest\na,2026-01-01,POST,x\na,2026-01-02,POST,y\n"],
    "semicolons": ["url;time;digest\na;2026-01-01;x\n"],
    "a server's log": ['1.2.3.4 - - [22/Nov/2026:20:16:45 +0000] "GET / HTTP/1.1" 200 5\n'],
}  # fmt: skip


@pytest.mark.parametrize("name", LOGS)
def test_fit_and_schedule_read_the_same(name: str, tmp_path: Path) -> None:
    paths = write(tmp_path, *LOGS[name])
    try:
        plan = crawlsim.schedule(paths, "1/day")
    except ScenarioError:
        with pytest.raises(ScenarioError):
            crawlsim.fit(paths)
        return
    fitted = crawlsim.fit(paths)
    assert fitted.trace.pages == tuple(plan.urls.tolist())
    assert set(fitted.trace.doubts) | set(fitted.trace.broken.notes()) >= {
        note for note in plan.notes if note.startswith(("Left out", "No successful"))
    }
    if name == "changes":
        (days,) = fitted.trace.values[[-1]] - fitted.trace.values[[0]]
        assert (len(fitted.trace.values), days, fitted.trace.repeated) == (4, 90.0, 1)
        return
    seen = plan.visits >= 2
    assert fitted.summary["pages"] == seen.sum()
    assert fitted.details.crawls.tolist() == (plan.visits[seen] - 1).tolist()
    assert fitted.details.changes.tolist() == plan.changes[seen].tolist()
    assert fitted.summary["gaps"] == len(plan.gaps.page)
    if seen.all():
        rates = [fitted.find("change_rate", url).estimate for url in plan.urls]
        assert rates == pytest.approx(plan.estimates.rates * 86400, rel=1e-9)


def test_a_folder_of_parquet_files_is_read_alike(tmp_path: Path) -> None:
    pytest.importorskip("dask.dataframe")
    import pandas as pd

    rows = [(v.url, v.time, v.status.replace("-", ""), v.digest) for v in LONG if v.status != "-"]
    table = pd.DataFrame(rows, columns=["url", "fetch_time", "fetch_status", "content_digest"])
    for number in range(2):
        (tmp_path / "log").mkdir(exist_ok=True)
        table.iloc[number::2].to_parquet(tmp_path / "log" / f"{number}.parquet")
    plan = crawlsim.schedule(tmp_path / "log", "1/day")
    fitted = crawlsim.fit(tmp_path / "log")
    assert fitted.trace.pages == tuple(plan.urls.tolist())
    assert fitted.summary["gaps"] == len(plan.gaps.page)
    assert fitted.details.changes.sum() == plan.changes.sum()


def test_both_commands_say_alike_what_was_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crawlsim: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["a,2026-01-01,0", "a,soon,0", "a,2026-01-03,1", "a,2026-01-09,0", "b"]
    Path("log.csv").write_text("\n".join(["page,time,changed", *rows]))
    code, _, said = crawlsim("schedule", "log.csv", "--visits", "1/day", "--out", "plan.csv")
    assert code == 0
    code, out, err = crawlsim("fit", "log.csv", "--json")
    assert code == 0
    lines = [line for line in err.splitlines() if "line" in line or "rows" in line]
    assert len(lines) == 3
    assert set(lines) <= set(said.splitlines())
    assert [each["line"] for each in json.loads(out)["broken"]["lines"]] == [3, 6]


def test_times_that_are_no_dates_are_fitted_and_not_planned(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("page,time,changed\na,0,0\na,1,1\na,2.5,0\n")
    assert crawlsim.fit(path, time_unit="hour").trace.values.tolist() == [0.0, 1.0, 2.5]
    with pytest.raises(ScenarioError, match="visits are planned by dates"):
        crawlsim.schedule(path, "1/day")
    other = tmp_path / "dates.csv"
    other.write_text("page,time,changed\na,2026-01-01,0\na,2026-01-05,1\n")
    with pytest.raises(ScenarioError, match=r"holds times that are numbers, and .* dates"):
        crawlsim.fit([path, other])


@pytest.mark.thorough
def test_one_estimator_with_and_without_a_shared_prior(tmp_path: Path) -> None:
    """Where gaps are many the prior says next to nothing, and both say the same."""
    rng = np.random.default_rng(5)
    rows = [f"p{page},{day},{int(rng.random() < 0.3)}" for page in range(20) for day in range(2000)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["page,time,changed", *rows]))
    shared, alone = (
        np.array(crawlsim.fit(path, rates=rates).changes["pages.change_rates"])
        for rates in ("posterior", "likelihood")
    )
    assert shared == pytest.approx(alone, rel=0.02)
