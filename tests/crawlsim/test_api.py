"""`import crawlsim`: what the commands do, as functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import crawlsim
from crawlsim.cli.program import commands
from scenarios import ScenarioError
from scenarios.results import html_of

QUICK = {"run.horizon": 3000.0, "run.warmup": 200.0, "run.replications": 4}
HEAVY = {"pandas", "matplotlib", "jinja2", "rich", "click", "numba"}


def quick(name: str) -> crawlsim.Scenario:
    return crawlsim.load(name, QUICK)


def modules_after(code: str) -> set[str]:
    """What is loaded once some code has run in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_every_public_name_is_there() -> None:
    assert set(crawlsim.__all__) <= set(dir(crawlsim))
    for name in crawlsim.__all__:
        assert getattr(crawlsim, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulate'"):
        crawlsim.simulate  # noqa: B018 - the access is the test


def test_commands_that_compute_have_a_function_of_the_same_name() -> None:
    compute = {"run", "solve", "check", "optimize", "sweep", "fit"}
    assert compute <= set(commands.every)
    assert compute <= set(crawlsim.__all__)


def test_run_takes_a_name_or_a_scenario() -> None:
    scenario = quick("one-robot")
    results = crawlsim.run(scenario, replications=3, seed=5)
    assert (results.count, results.seed) == (3, 5)
    assert crawlsim.run("one-robot", replications=2).count == 2


def test_what_is_optimal_is_decided_before_a_run() -> None:
    scenario = quick("four-robots-one-threshold").with_(
        {"activation": {"optimal": "static"}, "costs": {"loss": 1.0, "starvation": 1.0}}
    )
    results = crawlsim.run(scenario)
    best = crawlsim.optimize(scenario, "static").decision["robots"]
    fixed = crawlsim.run(scenario.with_("activation", {"static": best}))
    assert results.find("control_cost").estimate == fixed.find("control_cost").estimate


def test_check_says_what_the_command_says() -> None:
    found = crawlsim.check("one-robot")
    assert found.verdict == "agrees"
    frame = found.to_frame()
    assert len(frame) == len(found.comparisons)
    assert set(frame["verdict"]) <= {"agrees", "not judged"}
    assert len(found.solution.to_frame()) == len(found.solution.predictions)


def test_a_formula_of_ones_own_is_compared() -> None:
    results = crawlsim.run(quick("one-robot"))
    wrong = crawlsim.Prediction("loss_probability", None, 0.9, "exact", "mine")
    (row,) = crawlsim.compare([wrong], results)
    assert row.verdict == "disagrees"


def test_a_sweep_has_a_row_for_each_cell_and_measure() -> None:
    frame = crawlsim.sweep(quick("one-robot"), {"buffer.waiting_places": [1, 3]})
    losses = frame[(frame.measure == "loss_probability")]
    assert list(losses["buffer.waiting_places"]) == [1, 3]
    assert losses.estimate.is_monotonic_decreasing
    assert (abs(losses.estimate - losses.predicted) < 6 * losses.standard_error).all()
    without = crawlsim.sweep(quick("one-robot"), {"buffer.waiting_places": [1]}, exact=False)
    assert without.predicted.isna().all()


def test_a_log_becomes_a_scenario(tmp_path: Path) -> None:
    log = tmp_path / "changes.csv"
    times = "".join(f"a,{day}\nb,{day / 3}\n" for day in range(1, 40))
    log.write_text(f"page,time\n{times}")
    found = crawlsim.fit(log, time_unit="day", section="pages")
    scenario = crawlsim.fitted_scenario(found, "fitted")
    assert scenario.pages is not None
    assert len(found.parameters) >= 2
    with pytest.raises(crawlsim.ScenarioError, match="--section"):
        crawlsim.fit(log, section="servers")


def test_the_figures_keep_their_first_name() -> None:
    assert "crawlsim.report" in modules_after("from analytic.report import plot_levels")


@pytest.mark.parametrize(
    "code", ["import crawlsim, scenarios, analytic; from sim import *", "import crawlsim.cli"]
)
def test_what_a_user_imports_first_loads_no_heavy_package(code: str) -> None:
    assert not HEAVY & modules_after(code)


def test_what_results_do_not_hold_is_refused_with_what_they_hold() -> None:
    results = crawlsim.run("one-robot", replications=2)
    with pytest.raises(LookupError, match=r"sojourn_time of one-robot needs a subject: .*'served'"):
        results.find("sojourn_time")
    with pytest.raises(LookupError, match=r"'los_probability' \(did you mean loss_probability\?\)"):
        results.find("los_probability")
    with pytest.raises(LookupError, match=r"subject 99; it has level_probability \(0, 1, 2\)$"):
        results.find("level_probability", 99)


def test_a_precision_is_reached_by_more_replications() -> None:
    asked: dict[str, int] = {"seed": 3, "replications": 4}
    system = quick("one-robot")
    few = crawlsim.run(system, **asked)
    more = crawlsim.run(system, precision=0.02, **asked)
    assert (few.count, few.seed, more.seed) == (4, 3, 3)
    row = more.find("loss_probability")
    assert more.count > 4
    assert (row.high - row.low) / 2 <= 0.02 * row.estimate
    assert crawlsim.check(system, precision=0.02, **asked).results.count == more.count
    with pytest.raises(ScenarioError, match=r"(?s)precision = 2.0.*must be > 0 and at most 1"):
        crawlsim.run("one-robot", precision=2.0)


def test_a_notebook_shows_tables_whose_words_are_no_markup() -> None:
    check = crawlsim.check(quick("one-robot"), replications=2)
    assert repr(check) == f"<Check of one-robot: {check.verdict}>"
    assert check._repr_html_().startswith(f"<p>one-robot: {check.verdict}</p><table")
    assert "loss_probability" in check.results._repr_html_()
    assert repr(check.solution) == f"<Solution: {len(check.solution.predictions)} predictions>"
    assert "loss_probability" in check.solution._repr_html_()
    assert check.plot().get_xlabel().startswith("(simulation")
    long = html_of(pd.DataFrame({"n": ["<script>"] * 31}), "a<b")
    assert "<script>" not in long
    assert long.startswith("<p>a&lt;b</p>")
    assert long.endswith("<p>and 1 more row: to_frame()</p>")
