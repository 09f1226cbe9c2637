"""The ledger of avrachenkov2011: what its numbers rest on, and tables of the paper's shape."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from papers import avrachenkov2011, crawler_log, threshold_tables
from papers.queue_by_events import (
    Followed,
    Outcome,
    Page,
    Queue,
    State,
    followed_in_order,
    tagged_entries,
)
from papers.rows import rows_of


class Rejecting(Queue):
    """Another model: a batch that does not fit is lost whole."""

    def admit(self, state: State, pages: list[Page]) -> list[Outcome]:
        if len(state.pages) + len(pages) > self.places:
            return [(1.0, state, tuple(pages))]
        return super().admit(state, pages)


def test_an_error_in_the_model_is_seen_in_random_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avrachenkov2011, "SYSTEMS", 8)
    for queue, seen in ((Queue, False), (Rejecting, True)):
        monkeypatch.setattr(avrachenkov2011, "Queue", queue)
        avrachenkov2011.random_systems.cache_clear()
        for item in ("Theorem 2", "Theorem 4", "Corollary 1"):
            assert (avrachenkov2011.NUMBERS[item]() > 0) == seen
    avrachenkov2011.random_systems.cache_clear()


def test_in_order_of_arrival_a_page_needs_only_what_is_ahead_of_it() -> None:
    rng = np.random.default_rng(4)
    for _ in range(4):
        system = avrachenkov2011.random_system(rng)
        starts, delivered = tagged_entries(Queue(system))
        whole, ahead = Followed(Queue(system)), followed_in_order(system, starts, delivered)
        assert len(ahead.start) < len(whole.start)
        assert ahead.transform(0.3) == pytest.approx(whole.transform(0.3), rel=1e-10)
        assert ahead.sojourns() == pytest.approx(whole.sojourns(), rel=1e-10)


def test_what_follows_from_printed_numbers_comes_out() -> None:
    rows = [row for row in rows_of("avrachenkov2011").values() if row.kind == "table cell"]
    stated = [row for row in rows if row.ours is not None]
    assert len(stated) == 50 + 37 + 3
    for row in stated:
        assert row.agrees_with(avrachenkov2011.NUMBERS[row.item]()), row


def test_the_numbers_that_are_corrected_do_not_come_out() -> None:
    for row, printed in (
        ("Table 2, (1)", 21.0),
        ("Table 3, (15)", 0.0),
        ("Table 4, (0.01)", 37.16),
    ):
        assert abs(avrachenkov2011.gain(row) - printed) > 0.2
    for robots in (1, 2, 3, 4):
        costs = [avrachenkov2011.printed(f"Table 2, ({n}), J_{robots}") for n in range(1, 11)]
        assert (np.diff(costs, 2) > 0).all() == (robots > 1)


def test_what_is_lost_is_shown_with_inputs_of_ours_and_what_follows_is_computed(
    crawlsim: Any,
) -> None:
    code, out, _ = crawlsim("reproduce", "avrachenkov2011", "Table 2")
    assert code == 0
    ours, _, printed = out.partition("and what follows from the numbers that the paper prints:")
    assert len([line for line in ours.splitlines() if line.strip()[:2].strip().isdigit()]) == 12
    assert "21.2" in printed
    assert "139.5" in printed


@pytest.mark.thorough
def test_from_the_log_of_a_crawler_to_thresholds_that_are_best_for_what_made_it(
    crawlsim: Any,
) -> None:
    code, out, _ = crawlsim("reproduce", "avrachenkov2011", "section 7")
    assert code == 0
    log = crawler_log.fitted()
    for name, truth in (
        ("mean_gap", crawler_log.MEAN_GAP),
        ("mean_batch_size", 3.265),
        ("lag_correlation", 0.7 * 0.0622723),
    ):
        fitted = log.find(name)
        assert abs(fitted.estimate - truth) < 3.3 * fitted.standard_error
    assert log.summary["stops"] == crawler_log.STOPS
    assert len(crawler_log.search().table) == 15
    cost = re.search(r"they cost ([0-9.]+), ([0-9.]+) % more than the best there", out)
    assert cost is not None
    assert float(cost[2]) < 0.5


@pytest.fixture(scope="module")
def tables() -> dict[str, list[dict[str, Any]]]:
    base = threshold_tables.load(threshold_tables.BASE)
    names = ("table_1", "table_2", "table_3", "table_4")
    return {name: getattr(threshold_tables, name)(base) for name in names}


@pytest.mark.thorough
def test_the_base_example_is_the_same_in_every_table(tables: dict[str, Any]) -> None:
    """N = 5 is that of Table 1, and factor 1 of Tables 3 and 4, as in the paper."""
    first = {row["robots"]: row for row in tables["table_1"]}
    best = min(first.values(), key=lambda row: row["cost"])
    bases = [
        next(row for row in tables["table_2"] if row["N"] == 5),
        next(row for row in tables["table_3"] if row["mean service"] == 0.657),
        next(row for row in tables["table_4"] if row["mean obsolescence"] == 5.0),
    ]
    assert [row["factor"] for row in bases[1:]] == [1, 1]
    for name, column, mean in (
        ("table_3", "mean service", 0.657),
        ("table_4", "mean obsolescence", 5.0),
    ):
        assert [*tables[name][0]][:2] == ["factor", column]
        for row in tables[name]:
            assert row["factor"] * row[column] == pytest.approx(mean, rel=1e-12)
    for row in bases:
        assert row["J*"] == pytest.approx(best["cost"], rel=1e-12)
        assert row["gain, %"] == pytest.approx(best["gain"], rel=1e-9)
        for number in (1, 2, 3, 4):
            assert row[f"J_{number}"] == pytest.approx(first[number,]["cost"], rel=1e-12)


def test_the_gain_is_that_of_the_paper(tables: dict[str, Any]) -> None:
    """g = 100 (min J_r - J*) / min J_r, never negative; control never costs more."""
    for name in ("table_2", "table_3", "table_4"):
        for row in tables[name]:
            single = min(row[f"J_{number}"] for number in (1, 2, 3, 4))
            assert row["gain, %"] == pytest.approx(100 * (single - row["J*"]) / single, abs=1e-9)
            assert row["gain, %"] >= 0


@pytest.mark.parametrize(
    ("mean", "rate", "variance"),
    [(0.65714, 9.0, 5.798), (5.0, 7.0, 449.65), (5.0, 0.2, 25.0), (0.657, 1 / 0.657, 0.431649)],
)
def test_the_family_of_variable_laws_has_the_printed_variances(
    mean: float, rate: float, variance: float
) -> None:
    """avrachenkov2011, section 7: up to 5.798 for service, 25 to 449 for obsolescence."""
    law, found = threshold_tables.variable(mean, rate)
    assert found == pytest.approx(variance, abs=6e-4 * variance)
    shares, rates = law["hyperexponential"].values()
    assert sum(p / each for p, each in zip(shares, rates, strict=True)) == pytest.approx(mean)


@pytest.mark.parametrize(("robots", "pair"), [((3, 1), "3 robots, then 1"), (None, "best two")])
def test_a_figure_says_what_varies_and_which_numbers(robots: Any, pair: str) -> None:
    searches = threshold_tables.by_variance(
        threshold_tables.load(threshold_tables.BASE),
        "buffer.service",
        0.657,
        threshold_tables.SERVICE_RATES,
    )
    figure = threshold_tables.draw(searches, "service times", robots)
    assert figure.get_suptitle().startswith("Variance of the service times:")
    assert pair in figure.get_suptitle()
    figure.draw_without_rendering()
    for box in (
        figure._suptitle.get_window_extent(),
        figure.axes[0].get_legend().get_window_extent(),
    ):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_as_obsolescence_varies_more_the_thresholds_fall() -> None:
    """avrachenkov2011, section 7: "as the variation grows the optimal threshold decreases"."""
    base = threshold_tables.load(threshold_tables.BASE)
    searches = threshold_tables.by_variance(
        base, "buffer.obsolescence", 5.0, threshold_tables.PATIENCE_RATES
    )
    highest = [search.optimum.at[-1] for search in searches.values()]
    assert list(searches) == sorted(searches)
    assert highest == sorted(highest, reverse=True)
    assert (highest[0], highest[-1]) == (3, 0)
