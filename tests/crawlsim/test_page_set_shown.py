"""What a reader sees of pages that come and go: the opening lines and the figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sim
from analytic import predict
from crawlsim import report
from crawlsim.explore.own_scenario import opened
from scenarios import dumps, load

FEW = ("--set", "run.horizon=8000.0", "--replications", "4")


def test_two_lines_say_what_the_index_has_and_what_is_in_vain(crawlsim: Any) -> None:
    code, out, _ = crawlsim("run", "pages-come-and-go", *FEW)
    lines = [line.strip() for line in out.splitlines()]
    assert code == 0
    assert any(
        line.startswith("of the pages that exist: ") and line.endswith("fresh") for line in lines
    )
    assert any(line.startswith("vanished: ") and "accesses are wasted" in line for line in lines)
    assert "the robots do not keep up: the list of known pages grows on and on" not in lines


def test_robots_that_do_not_keep_up_are_told(crawlsim: Any) -> None:
    more = ("--set", "page_set.birth_rate=2.0")
    _, out, _ = crawlsim("run", "pages-come-and-go", *FEW, *more)
    assert "  the robots do not keep up: the list of known pages grows on and on" in out


def test_the_bars_are_the_estimates_and_the_lines_the_exact_shares() -> None:
    scenario = load("pages-come-and-go").with_({"run.horizon": 8000.0, "run.replications": 4})
    results = sim.run(scenario)
    predictions, _ = predict(scenario)
    ax = report.plot_page_set(results, predictions)
    ends = {round(bar.get_x() + bar.get_width(), 9) for bar in ax.patches}
    lines = {round(float(each.get_segments()[0][0][0]), 9) for each in ax.collections}
    exact = {each.measure: each.value for each in predictions if each.kind == "exact"}
    for name in ("fresh_share", "indexed_share", "known_share", "gone_share", "wasted_share"):
        row = results.find(name)
        assert row is not None
        assert round(row.estimate, 9) in ends
        assert round(exact[name], 9) in lines
    assert len(lines) == 5


def test_another_system_has_no_such_figure() -> None:
    results = sim.run(load("one-robot").with_({"run.horizon": 1100.0, "run.replications": 2}))
    with pytest.raises(ValueError, match=r"has no \[page_set\]"):
        report.plot_page_set(results)


@pytest.mark.parametrize("changes", [{}, {"activation.static": 0}, {"page_set.birth_rate": 1e-9}])
def test_a_report_is_written_whatever_is_undefined(
    crawlsim: Any, tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Without accesses, or without a page, shares have no value; there is a page all the same."""
    given = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    out = tmp_path / "out"
    code, _, _ = crawlsim("check", "template-per-cycle", *FEW, *given, "--out", str(out))
    page = (out / "report.html").read_text()
    assert code == 0
    assert ("What the index has of the pages that exist" in page) == (not changes)


def test_a_file_of_ones_own_that_judges_nothing_is_a_lesson_on_fresh_pages(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(dumps(load("pages-come-and-go").with_("judged", None)))
    lesson = opened(str(file)).lesson
    assert lesson.measure == "fresh_share"
    keys = {knob.key for knob in lesson.knobs}
    assert {"page_set.lifetime.exponential.mean", "page_set.discovery", "robots.available"} <= keys
