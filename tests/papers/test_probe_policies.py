"""The experiments on probe times, and what of eckstein2005 they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analytic.probing import actual_cost, best_schedule, expected_cost, profile, times_of
from papers import eckstein2005, eckstein_policies
from papers.computed import verified
from papers.eckstein2005 import cost_matrix, read_off
from papers.eckstein_policies import PROBES, Experiment, experiments, results


def find(*key: Any) -> Experiment:
    (found,) = (e for e in results() if (e.source, e.ratio, e.probes, e.policy) == key)
    return found


@pytest.mark.thorough
def test_the_cases_are_those_of_the_paper() -> None:
    """Two sources, four ratios, eleven numbers of probes, four policies."""
    assert len(results()) == 2 * 4 * 11 * 4
    best = find("dbworld", 3, 28, "DOE")
    assert best.cost == pytest.approx(80.5914583333, abs=5e-11)
    assert best.improved == pytest.approx(80.5692, abs=1e-4)
    assert all(each.improved <= each.cost for each in results())


def test_the_grid_of_hours_misses_the_best_schedule() -> None:
    """MicroNet, ratio 4, n = 168: the threshold policy is not bound to full hours."""
    assert sum(eckstein_policies.cheapest(results())) == 87
    assert find("micronet", 4, 168, "threshold").cost == pytest.approx(3.569, abs=5e-4)
    assert find("micronet", 4, 168, "DOE").cost == pytest.approx(3.681, abs=5e-4)
    for policy, cost in (("threshold", 2.728), ("DOE", 2.789)):
        assert find("micronet", 3, 168, policy).improved == pytest.approx(cost, abs=5e-4)


def test_moves_grow_like_a_power_of_the_probes() -> None:
    rows = eckstein_policies.fits_table()
    assert len(rows) == 32
    for row in rows:
        assert 0.95 < row["exponent of n"] < 2
        assert row["R² of the power law"] > row["R² of an exponential"]


def test_the_fit_would_recognise_an_exponential() -> None:
    line = [Experiment("x", 1, n, "DOE", 2.0, 1.0, round(10 * 1.05**n)) for n in PROBES]
    _, power, exponential = eckstein_policies.fit(line)
    assert exponential > 0.999 > power
    assert eckstein_policies.exponential(line) == [True]


@pytest.mark.thorough
def test_the_optimum_comes_nearer_as_the_square_of_the_grid() -> None:
    """With every break on it: below the sharp bound, and far nearer than a slot less would be."""
    for source in eckstein_policies.SOURCES:
        above = {row["N"]: row["above"] for row in eckstein_policies.grid_table(source)}
        for slots in (672, 1344, 2688, 5376):
            width = 28.0 / slots
            assert 0 <= above[slots] <= 27 * 22.5 * width**2 / 4
            assert above[slots] < above[slots - 1] / 5


def test_the_predicted_deviation_is_that_of_the_traces() -> None:
    """DBWorld, n = 28; standard error of a deviation from 400 traces 3.5 %, five of them."""
    rates = eckstein_policies.profile("dbworld", 3)
    times = eckstein_policies.schedules(rates, 28)["DOE"]
    generator = np.random.default_rng(1)
    total = float(rates.between(0.0, 28.0).updates)
    costs = []
    for _ in range(400):
        candidates = generator.uniform(0.0, 28.0, generator.poisson(7.5 * 28))
        heights = rates.updates[np.searchsorted(rates.edges, candidates, "right") - 1]
        kept = candidates[generator.uniform(0.0, 7.5, len(candidates)) < heights]
        costs.append(actual_cost(rates, times, kept))
    assert total == pytest.approx(116.45)
    relative = np.std(costs) / expected_cost(rates, times)
    assert relative == pytest.approx(eckstein_policies.deviation("dbworld", 28), rel=0.18)


def test_algorithm_4_as_printed_overwrites_the_diagonal() -> None:
    """And takes its schedule to cost 89.697; corrected it gives the optimum."""
    rates = eckstein_policies.profile("dbworld", 3)
    grid = eckstein2005.grid_of(rates, 672)
    printed = cost_matrix(grid)
    assert printed[9, 10] / grid.cost[9] == pytest.approx(3.0)
    assert read_off(printed, 28)[0] == pytest.approx(89.697, abs=5e-4)
    cost, path = read_off(cost_matrix(grid, corrected=True), 28)
    assert cost == pytest.approx(best_schedule(grid, 28).cost, abs=1e-10)
    assert expected_cost(rates, times_of(28.0, 672, path)) == pytest.approx(cost, abs=1e-10)


@pytest.mark.thorough
def test_an_error_in_lemma_3_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right = profile.join

    def wrong(first: Any, second: Any) -> Any:
        found = right(first, second)
        return found._replace(cost=found.cost - first.updates * second.importance / 100)

    monkeypatch.setattr(eckstein2005, "join", wrong)
    wrong_rows = {row.item for row, outcome in verified("eckstein2005") if outcome is False}
    assert wrong_rows == {"(13)", "Lemma 3"}


@pytest.mark.thorough
def test_figures_are_drawn(crawlsim: Any, tmp_path: Path) -> None:
    assert experiments("dbworld", 3)
    for item in eckstein2005.FIGURES:
        file = tmp_path / f"{item}.svg"
        code, out, _ = crawlsim("reproduce", "eckstein2005", item, "--figure", str(file))
        assert code == 0
        assert file.read_text().count("<path") > 5
        assert out.strip()


def test_figure_7_is_within_its_range_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """95 % of 200 traces, false alarms below 1e-4; with the range of a deviation halved 68 %."""
    rates = eckstein_policies.profile("micronet", 1)
    random = np.random.default_rng(1)
    monkeypatch.setattr(eckstein_policies, "PROBES", (28,))
    inside = []
    for _ in range(200):
        counts = random.poisson(rates.updates * np.diff(rates.edges))
        starts = np.repeat(rates.edges[:-1], counts)
        updates = starts + np.repeat(np.diff(rates.edges), counts) * random.random(len(starts))
        monkeypatch.setattr(
            eckstein_policies, "drawn_updates", lambda _, given=updates: np.sort(given)
        )
        (row,) = eckstein_policies.discrepancies("micronet")
        inside.append(row["95 % from"] <= row["of the trace"] <= row["95 % to"])
    assert 0.88 < np.mean(inside) < 0.995


def test_a_trace_says_how_many_updates_it_has(crawlsim: Any) -> None:
    code, out, _ = crawlsim("reproduce", "eckstein2005", "Figure 7")
    assert code == 0
    counts = {name: len(eckstein_policies.drawn_updates(name)) for name in ("dbworld", "micronet")}
    assert f"DBWorld, {counts['dbworld']} updates drawn where 116.5 are expected" in out
    assert f"MicroNet, {counts['micronet']} updates drawn where 24.8 are expected" in out
