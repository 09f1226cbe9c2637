"""Signals of changes: what is read, which count, and strange ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crawlsim.logs.read.signals import SignalLog, heard_in, read_signals
from scenarios import ScenarioError

DAY = 86400.0
URLS = np.array([f"https://example.org/{page:02d}" for page in range(40)], object)


def signals_of(rows: list[tuple[int, float]], urls: np.ndarray = URLS) -> SignalLog:
    rows = sorted(rows)
    page = np.array([page for page, _ in rows], np.int32)
    return SignalLog(urls, page, np.array([time for _, time in rows], float))


def sitemap(path: Path, *entries: tuple[str, str]) -> Path:
    rows = "".join(
        f"<url><loc>{url}</loc>{f'<lastmod>{date}</lastmod>' if date else ''}</url>"
        for url, date in entries
    )
    path.write_text(f"<urlset>{rows}</urlset>")
    return path


def test_rows_of_url_and_time(tmp_path: Path) -> None:
    path = tmp_path / "signals.csv"
    path.write_text("time,url\n2024-01-02,b\n2024-01-01T12:00Z,a\n2024-01-02,b\n2024-01-01,b\n")
    found = read_signals([path])
    assert found.urls.tolist() == ["a", "b"]
    assert found.page.tolist() == [0, 1, 1]  # two at one moment are one
    assert (found.time[0], found.repeated) == (1704110400.0, 1)


def test_sitemaps_say_each_date_once(tmp_path: Path) -> None:
    one = sitemap(tmp_path / "s-2024-02-01.xml", ("a", "2024-01-05T08:00:00Z"), ("b", ""))
    two = sitemap(
        tmp_path / "s-2024-03-01.xml", ("a", "2024-01-05T09:00+01:00"), ("b", "2024-02-20")
    )
    found = read_signals([one, two])
    assert found.page.tolist() == [0, 1]
    assert found.time.tolist() == [1704441600.0, 1708430400.0]  # noon of the day without an hour
    assert found.sitemap_days == 2
    assert any("Without lastmod" in note for note in found.notes)


def test_sitemaps_of_one_day_do_not_show_earlier_signals(tmp_path: Path) -> None:
    one = sitemap(tmp_path / "s-2024-02-01.xml", ("a", "2024-01-05"))
    found = read_signals([one])
    with pytest.raises(ScenarioError, match="of one day"):
        heard_in(found, np.array(["a"], object), 0.0, 2e9)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("url,time\n", "no signal can be read"),
        ("url,time\na,yesterday\n", "line 2 time = 'yesterday' is not a time"),
        ("url,time,changed\na,2024-01-01,1\n", "this holds visits"),
        ("<urlset><url><loc>a</loc></url></urlset>", "1 URL without lastmod"),
        ("<html/>", "is not a sitemap"),
    ],
)
def test_what_is_no_signal_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "signals"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=why):
        read_signals([path])


def test_broken_rows_and_times_to_come_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "signals.csv"
    path.write_text("url,time\na,2024-01-01\na,\x1b[31mred\na,b,c\na,2999-01-01\n")
    found = read_signals([path])
    assert len(found.time) == 1
    assert found.broken.count == 2
    notes = "\n".join(found.notes)
    assert "1 signal is of a time to come" in notes
    assert "\x1b" not in notes


def test_pages_that_were_never_visited() -> None:
    signals = signals_of([(0, DAY), (39, 2 * DAY), (39, 3 * DAY)])
    heard = heard_in(signals, URLS[:30], 0.0, 10 * DAY)
    assert heard.page.tolist() == [0]
    assert heard.notes == ("2 signals are of URLs that were never visited.",)


def test_other_spellings_are_named_and_found() -> None:
    """Where most are spelled otherwise, the others would say that changes have no signals."""
    rows = [(0, DAY), (0, 2 * DAY), (1, 3 * DAY)]
    spelled = np.array(["http://www.example.org/00", "http://www.example.org/01"], object)
    signals = signals_of(rows, spelled)
    with pytest.raises(ScenarioError, match=r"2 of 2 URLs are spellings .* --pages site-key"):
        heard_in(signals, URLS, 0.0, 10 * DAY)
    keyed = SignalLog(signals.urls, signals.page, signals.time, pages="site-key")
    assert heard_in(keyed, URLS, 0.0, 10 * DAY).page.tolist() == [0, 0, 1]


@pytest.mark.parametrize("times", [1, 2])
def test_so_few_signals_do_not_say_how_long_anybody_listened(times: int) -> None:
    rows = [(0, (each + 1) * DAY) for each in range(times)]
    with pytest.raises(ScenarioError, match="must come at 3 times or more"):
        heard_in(signals_of(rows), URLS, 0.0, 10 * DAY)


def test_dates_that_jump_together_say_nothing() -> None:
    own = [(page, page * DAY + 7.0 * hour) for page in range(40) for hour in range(3)]
    build = [(page, 50 * DAY + page / 2) for page in range(40)]
    heard = heard_in(signals_of(own + build), URLS, 0.0, 100 * DAY)
    assert len(heard.time) == len(own)
    assert "40 signals at one moment" in heard.notes[0]


def test_days_that_are_full_as_always_count() -> None:
    """Dates without an hour: on each day a quarter of the pages has one."""
    rows = [(page, day * DAY) for day in range(100) for page in range(day % 4, 40, 4)]
    heard = heard_in(signals_of(rows), URLS, 0.0, 100 * DAY)
    assert len(heard.time) == len(rows)


def test_nobody_listens_before_a_log_of_signals_begins() -> None:
    rows = [(page, (200 + page) * DAY) for page in range(40)]
    heard = heard_in(signals_of(rows), URLS, 0.0, 400 * DAY)
    assert (heard.begin, heard.end) == (200 * DAY, 239 * DAY)
    assert "nobody seems to listen" in heard.notes[0]
    later = heard_in(signals_of(rows), URLS, 198 * DAY, 238 * DAY)
    assert (later.begin, later.end, later.notes) == (198 * DAY, 239 * DAY, ())


def test_numbers_do_not_go_with_dates() -> None:
    with pytest.raises(ScenarioError, match="numbers as times"):
        heard_in(signals_of([(0, DAY)]), URLS, 0.0, 1.0, dated=False)
