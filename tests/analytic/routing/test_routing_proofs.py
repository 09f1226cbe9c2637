"""What *proved* means for an order: bounds in any scale, and reasons where there is no proof."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from analytic import optimize, predict
from analytic.machinery.bounds import BrokenBoundError
from analytic.machinery.phase_type import PhaseLaw
from analytic.routing import (
    SpacingCosts,
    access_costs,
    best_random_shares,
    best_word,
    certified_word,
    charges,
    linear_bound,
    loss_costs,
    two_servers,
)
from analytic.routing.bounds import convex_minorant, is_attained
from analytic.routing.certified import _graph, _solved, _TooLargeError
from analytic.routing.multimodularity import horizon_cost, violations
from analytic.routing.spacing import random_costs
from crawlsim.report import plot_word
from scenarios import Scenario, ScenarioError, scenario_from
from scenarios.processes import Poisson

IN_TWO = {"D0": [[-1.0, 0.0], [0.0, -2.0]], "D1": [[0.0, 1.0], [2.0, 0.0]]}
APART = {"D0": [[-1.0, 0.0], [0.0, -2.0]], "D1": [[1.0, 0.0], [0.0, 2.0]]}


def losses_at(rates: Any) -> SpacingCosts:
    return loss_costs(
        Poisson(rate=1.0), [PhaseLaw(np.ones(1), np.array([[-float(rate)]])) for rate in rates]
    )


def paid_by(word: Any, visit: Any) -> Any:
    """Equation (6), place by place."""
    total = Fraction(0)
    for place, server in enumerate(word):
        ahead = next(n for n in itertools.count(1) if word[(place + n) % len(word)] == server)
        total += visit(server, ahead)
    return total / len(word)


def exact_loss(word: Any, rates: Any) -> float:
    return float(paid_by(word, lambda m, n: Fraction(1, 1 + rates[m]) ** n))


def all_words(servers: int, longest: int) -> Any:
    return (w for n in range(1, longest + 1) for w in itertools.product(range(servers), repeat=n))


# --- size ----------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_pages_that_are_not_worth_a_visit_are_not_in_the_graph() -> None:
    """Four pages among 900 that hardly matter: their own best order, in their own graph."""
    rates = [0.2, 0.5, 1.0, 2.0]
    weights = [1.0, 2.0, 3.0, 1.0]
    some = access_costs(Poisson(rate=1.0), rates, weights)
    many = access_costs(Poisson(rate=1.0), rates + [0.05] * 900, weights + [1e-6] * 900)
    found = best_word(many)
    alone = best_word(some)
    least = min(
        float(paid_by(word, lambda m, n: Fraction(float(some.table[m, n - 1]))))
        for word in all_words(3, 6)  # the fourth page has the least weight per change
    )
    assert found.proved
    assert found.word == alone.word
    assert found.cost == pytest.approx(7.0 + 900e-6 + least, rel=1e-12)
    certified = certified_word(many)
    assert len(certified.servers) == 4  # three that are visited, the best of the others
    assert certified.states < 1000


def test_the_best_of_those_without_a_cap_is_in_the_graph() -> None:
    """A cap of 0 pays the limit of e: the least one bounds all orders."""
    costs = access_costs(Poisson(rate=1.0), [1.0, 2.0, 4.0], [1.0, 3.0, 2.0])
    found = _solved(costs, (4, 0, 0), 10**5)
    assert found.servers == (0, 1)
    # Always page 1, at its limit -3/2, while page 0 gains e(4) - e(5) = 1/32 per slot at its cap.
    assert found.bound == pytest.approx(6 - 3 / 2 - 1 / 32, rel=1e-12)
    assert found.word == (1,)


def test_more_servers_may_have_fewer_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytic.routing.certified._MOST_SERVERS", 4)
    costs = losses_at([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7])
    assert "more than 15 states together" in certified_word(costs, 30).stopped
    with pytest.raises(_TooLargeError):
        _graph([9] * 8, 4 * 30_000)
    ages, after = _graph([9] * 4, 4 * 30_000)
    assert ages.shape == after.shape
    assert 9 < len(ages) <= 9**4


def test_no_memory_is_a_reason_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("analytic.routing.kernels.explored", full)
    found = best_word(losses_at([0.4, 0.9, 1.3, 2.2]))
    assert not found.proved
    assert found.unproved.startswith("no memory for a graph")


def test_the_reason_is_in_the_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytic.routing.certified._MOST_CODES", 10)
    monkeypatch.setattr(
        "analytic.routing.search.certified_word", lambda costs, _: certified_word(costs, 12)
    )
    notes = optimize(servers([0.4, 0.9, 1.3, 2.2]), "routing").notes
    assert notes[0].startswith("not proved to be the best, at most ")
    assert notes[0].endswith(
        "the graphs of capped ages would have more than 12 states together; in Python "
        "best_word(costs, most_states=…) takes another limit"
    )


def test_blocks_that_are_too_long_to_be_written_out_are_told() -> None:
    found = optimize(servers([1e-6, 1e3]), "routing")
    block = two_servers(losses_at([1e-6, 1e3]))
    assert block.length is not None
    assert f"a block of {block.length:,} slots, of cost 0.000999000788 by" in found.notes[0]
    assert "not written out" in found.notes[0]
    g = 1 / 1001
    n = block.length
    closed = (math.exp(-n * math.log1p(1e-6)) + g**2 + (n - 2) * g) / n
    assert found.lower_bound == pytest.approx(closed, rel=1e-13)


# --- scale ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rates", [(1000, 2000, 3000), (10**5, 2 * 10**5, 10**6), (10**4, 3 * 10**4, 10**6)]
)
def test_tiny_losses_are_proved_in_their_own_scale(rates: Any) -> None:
    found = best_word(losses_at(rates))
    least = min(exact_loss(word, rates) for word in all_words(3, 6))
    assert found.proved
    assert found.cost == pytest.approx(least, rel=1e-10)
    assert found.bound == pytest.approx(least, rel=1e-10)


def test_a_loss_of_1e_20_is_not_that_of_another_word() -> None:
    """3.09e-20 was once *proved*, with a bound of 1.07e-20 below it."""
    rates = (300, 2 * 10**6, 3 * 10**6, 5 * 10**6)
    found = best_word(losses_at(rates))
    assert found.cost == pytest.approx(exact_loss(found.word, rates), rel=1e-10)
    assert found.cost < 2.88e-20
    assert found.proved
    assert found.cost - found.bound <= 1e-10 * found.cost


@pytest.mark.nightly
def test_a_slow_server_beside_very_fast_ones_takes_seconds_and_tells_its_gap() -> None:
    """Howard's rounds once went on for minutes."""
    rates = (Fraction(1, 100), 1000, 2000, 3000, 4000)
    costs = losses_at(rates)
    found = best_word(costs, most_states=600_000)
    assert found.cost == pytest.approx(exact_loss(found.word, rates), rel=1e-10)
    assert found.bound <= found.cost <= exact_loss((1, 2, 3, 4), rates) * (1 + 1e-10)
    assert found.gap < 1.0
    graph = _solved(costs, (2960, 6, 5, 5, 5), 8 * 600_000)
    assert graph.rounds < 60  # 636 where gains go from one age to the next in a round
    assert graph.bound == pytest.approx(2.6705310149e-13, rel=1e-9)


def test_proved_needs_both_scales_and_a_bound_above_the_cost_is_a_defect() -> None:
    costs = losses_at([1.0, 2.0])
    assert is_attained(costs, 0.2, 0.2 - 1e-14)
    assert not is_attained(costs, 0.2, 0.2 - 1e-11)
    assert not is_attained(costs, 3e-14, 1e-14)  # less than rounding of the dearest visit
    assert is_attained(costs, 3e-14, 3e-14 * (1 - 1e-12))
    assert is_attained(costs, 0.2, 0.2 * (1 + 1e-14))
    with pytest.raises(BrokenBoundError, match=r"above a cost of 0\.2"):
        is_attained(costs, 0.2, 0.2 * (1 + 1e-9))
    with pytest.raises(BrokenBoundError):
        is_attained(costs, 1e-14, 2e-14)


def test_a_wrong_bound_does_not_pass_for_a_proof() -> None:
    with pytest.raises(BrokenBoundError):
        best_word(losses_at([1.0, 2.0, 3.0]), floor=0.0500)  # the optimum is 0.04996


def test_widths_that_do_not_sum_to_1_are_not_charged_at_a_dear_slope() -> None:
    """Ten fast servers in turn, and a slow one of slope 1: the loss is 1e-60 for all that."""
    for fast in range(3, 11):
        costs = losses_at([10.0**6] * fast + [1e-3])
        assert linear_bound(costs).value <= exact_loss(range(fast), [10**6] * fast) * (1 + 1e-9)


# --- certificates --------------------------------------------------------------------------------


def test_the_certificate_is_a_bound_before_howard_has_converged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The dual value, not the mean of a cycle: far below it after one round."""
    costs = losses_at([0.1, 0.3, 0.5, 1.1])
    caps = certified_word(costs).caps
    best = certified_word(costs).cost
    monkeypatch.setattr("analytic.routing.certified._MOST_ROUNDS", 1)
    found = _solved(costs, caps, 10**6)
    assert found.rounds == 1
    assert found.bound < best - 1e-6


def test_the_linear_bound_of_costs_that_are_not_convex_is_that_of_mixtures() -> None:
    """``e = 1, 1, 0, 0, …``: distances 1 and 3 in turn attain it, 2 and 2 do not."""
    costs = SpacingCosts(np.array([[1.0, 1.0, 0.0, 0.0]] * 2), np.zeros(2))
    assert costs.of((0, 0, 1, 1)) == 0.5 < costs.of((0, 1))
    assert linear_bound(costs).value == pytest.approx(0.5, rel=1e-12)
    assert convex_minorant(costs)[0].tolist() == [1.0, 0.5, 0.0, 0.0]
    found = best_word(costs)
    assert (found.word, found.proved) == ((0, 0, 1, 1), True)


@pytest.mark.parametrize(
    ("table", "limits", "message"),
    [
        ([[1.0, 2.0, 3.0]] * 2, [3.0, 3.0], "server 0 costs 1 at distance 1 and 2 at 2"),
        ([[3.0, 2.0], [3.0, 1.0]], [0.0, 1.5], "server 1 costs 1 at distance 2 and 1.5 at any"),
        ([[3.0, math.nan]], [0.0], "must be finite"),
        ([3.0, 2.0], [0.0], "must be servers by distances"),
        ([[3.0, 2.0]], [0.0, 0.0], "must be one per server"),
    ],
)
def test_costs_of_which_nothing_could_be_proved_are_refused(
    table: Any, limits: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SpacingCosts(np.array(table), np.array(limits))


def test_charges_at_the_cap_are_the_least_mean_rise() -> None:
    costs = SpacingCosts(np.array([[9.0, 8.0, 8.0, 2.0, 2.0]]), np.array([2.0]))
    visit, waits = charges(costs, [2])
    assert visit[0, 1:].tolist() == [9.0, 8.0]
    assert waits.tolist() == [-3.0]  # from 8 to 2 in two slots
    visit, waits = charges(costs, [0])
    assert (visit[0, 1], waits[0]) == (2.0, 0.0)


@pytest.mark.by_day("1")
@pytest.mark.parametrize("seed", range(4))
def test_costs_of_any_shape_against_all_words(seed: int) -> None:
    """Never increasing tables in whole numbers; orders longer than eight slots may be better."""
    generator = np.random.default_rng(seed)
    for _ in range(8):
        table = -np.sort(-generator.integers(0, 12, (3, 5)), axis=1).astype(float)
        costs = SpacingCosts(table, table[:, -1].copy())
        least = min(costs.of(word) for word in all_words(3, 6))
        found = best_word(costs)
        assert linear_bound(costs).value <= least + 1e-12
        assert found.bound <= least + 1e-12
        assert found.cost <= least + 1e-12 or not found.proved


# --- conditions ----------------------------------------------------------------------------------


def servers(rates: Any, **entries: Any) -> Scenario:
    section = {"rates": list(rates), "arrivals": {"poisson": {"rate": 1.0}}, "routing": "optimal"}
    return scenario_from({"name": "servers", "servers": section | entries})


def pages(access: Any, policy: Any) -> Scenario:
    return scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": [1.0, 1.0]},
            "robots": {"available": 1, "access_time": access, "accessing": policy},
        }
    )


def bounds_of(scenario: Scenario) -> list[float]:
    rows = predict(scenario)[0]
    return [row.value for row in rows if row.source.endswith("linear bound")]


@pytest.mark.parametrize(("word", "locked"), [([0, 1], 1), ([0, 0, 1, 1], 1), ([0, 1, 1], 0)])
def test_a_period_of_two_locks_with_even_words(word: list[int], locked: int) -> None:
    """Neither the loss nor the linear bound, a mean over all starts, is that of one run."""
    routed = servers([1.0, 1.0], arrivals={"map": IN_TWO}, routing={"period": word})
    paged = pages({"map": IN_TWO}, {"policy": "cyclic", "template": word})
    for scenario, kind in ((routed, "a routing"), (paged, "a schedule")):
        rows, refused = predict(scenario)
        reasons = [each.reason for each in refused if "lock in step" in each.reason]
        assert bool(reasons) == bool(locked)
        assert all(f"of period 2 and {kind} of period" in each for each in reasons)
        assert bool(bounds_of(scenario)) != bool(locked)
        assert bool(rows) != bool(locked)


def test_a_best_order_that_locks_with_a_period_of_two_says_so() -> None:
    notes = optimize(servers([1.0, 1.0], arrivals={"map": IN_TWO}), "routing").notes
    assert any("arrivals of period 2 lock in step with a word of 2" in note for note in notes)


def test_a_schedule_that_is_still_to_be_found_has_a_bound() -> None:
    policy = {"policy": "golden-ratio", "frequencies": "optimal"}
    assert bounds_of(pages({"map": IN_TWO}, policy))


def test_access_times_that_remember_their_start_have_no_best_order() -> None:
    with pytest.raises(ScenarioError, match="access times have 2 closed classes"):
        optimize(pages({"map": APART}, {"policy": "round-robin"}), "template")


# --- multimodularity -----------------------------------------------------------------------------


def test_exact_costs_stay_exact() -> None:
    cost = horizon_cost(lambda m, n: Fraction(1, (m + 2) ** n))
    value = cost((0, 1, 1, 0))
    assert isinstance(value, Fraction)
    assert value == Fraction(1, 2) + Fraction(1, 9) + Fraction(1, 3) + Fraction(1, 8) + Fraction(
        1, 2
    ) + Fraction(1, 9)
    assert not violations(cost, 4, tolerance=0)


# --- rounding ------------------------------------------------------------------------------------

NEARLY_NOTHING = [6.401739016889687e-19, 6.117143356434797e-15]
"""Change rates of which costs are far below the rounding of a base of 2."""


def pages_at(rates: list[float], accessing: Any = None) -> Scenario:
    return scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": rates, "weights": [1.0] * len(rates)},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"rate": 1.0}},
                "accessing": accessing or {"policy": "round-robin"},
            },
        }
    )


def bounds_of_pages(scenario: Scenario) -> list[Any]:
    return [each for each in predict(scenario)[0] if "section 6, linear bound" in each.source]


def test_costs_far_below_the_base_keep_their_digits() -> None:
    """A block of 138 slots by fractions; 2 is paid without any access."""
    costs = access_costs(Poisson(rate=1.0), NEARLY_NOTHING, [1.0, 1.0])
    assert two_servers(costs).length == 138
    found = optimize(pages_at(NEARLY_NOTHING), "template")
    assert found.proved
    assert found.cost == pytest.approx(6.205962568373409e-15, rel=1e-14)
    (bound,) = bounds_of_pages(pages_at(NEARLY_NOTHING))
    assert bound.value == pytest.approx(found.cost, rel=1e-14)


def test_bounds_of_graphs_that_are_rounding_of_the_base_say_so() -> None:
    found = optimize(pages_at([1e-14, 3e-14, 5e-13, 7e-13]), "template")
    assert not found.proved
    assert found.lower_bound is not None
    assert found.cost is not None
    assert 0.96 * found.cost < found.lower_bound < found.cost
    assert "bounds of graphs are rounding of the base, 4 without any access" in found.notes[0]


def test_a_bound_of_the_long_run_is_not_set_beside_a_finite_one() -> None:
    """Copies are new when a plan starts; round-robin has a period, and the bound."""
    rates = [0.5, 1.0, 2.0]
    assert len(bounds_of_pages(pages_at(rates))) == 1
    planned = pages_at(rates, {"policy": "whittle"})
    assert not bounds_of_pages(planned)
    (reason,) = (
        each.reason for each in predict(planned)[1] if "section 6, linear bound" in each.source
    )
    assert "costed along a finite run" in reason


@pytest.mark.by_day(
    besides=(
        "rates0-5.5452-1e-09",
        "rates0-5.5452-1e-10",
        "rates1-39.39-0.0001",
        "rates1-39.39-1e-06",
        "rates1-39.39-1e-08",
        "rates1-39.39-1e-09",
        "rates1-39.39-1e-10",
    )
)
@pytest.mark.parametrize("scale", [1e-4, 1e-6, 1e-8, 1e-9, 1e-10])
@pytest.mark.parametrize(("rates", "above"), [([1.0, 0.01], 5.5452), ([3.0, 1.0, 0.3], 39.39)])
def test_the_best_order_at_random_does_not_depend_on_the_unit_of_time(
    scale: float, rates: list[float], above: float
) -> None:
    """With equal shares it is 76 and 67 % above the best one."""
    found = {row["order"][:9]: row for row in optimize(pages_of(scale, rates), "template").table}
    assert found["at random"]["above the best, %"] == pytest.approx(
        above, abs=0.02
    )  # 39.38 to 39.40


def pages_of(scale: float, rates: list[float]) -> Scenario:
    return pages_at([scale * rate for rate in rates])


@pytest.mark.parametrize("scale", [1e-4, 1e-7, 1e-9])
def test_shares_at_random_of_slow_changes_go_as_the_roots_of_the_rates(scale: float) -> None:
    """The sum of r/p is least there; one page so slow that the table ends far from its limit."""
    rates = np.array([1.0, 1e-4, 0.1, 3.0])
    costs = access_costs(Poisson(rate=1.0), scale * rates, np.ones(4))
    roots = np.sqrt(rates)
    shares = best_random_shares(costs)
    assert float((rates / shares).sum()) == pytest.approx(float(roots.sum() ** 2), rel=1e-4)
    assert shares == pytest.approx(roots / roots.sum(), rel=0.1)


@pytest.mark.parametrize("shares", [[0.5, 0.5], [1e-3, 0.999], [1e-7, 1 - 1e-7], [0.0, 1.0]])
def test_pages_drawn_at_random_beyond_the_table(shares: list[float]) -> None:
    """``c r / (r + p)`` in closed form, with access times of mean 1, and its derivative."""
    rates = np.array([1e-8, 3e-7])
    weights = np.array([1.0, 2.0])
    p = np.array(shares)
    costs = access_costs(Poisson(rate=1.0), rates, weights)
    paid, rises = random_costs(costs.table, costs.limits, p)
    assert weights + paid == pytest.approx(weights * rates / (rates + p), rel=1e-10, abs=1e-14)
    assert rises == pytest.approx(-weights * rates / (rates + p) ** 2, rel=1e-6)
    assert costs.at_random(p) == pytest.approx(float((weights + paid).sum()), abs=1e-14)


# --- what is said of it --------------------------------------------------------------------------


def test_the_gap_is_one_number_everywhere() -> None:
    """1.8e-07 % is told as 1e-06 %, in the notes, the figure, JSON and the search alike."""
    found = optimize(pages_of(1e-6, [3.0, 1.0, 0.3]), "template")
    assert (found.proved, found.gap, found.search.gap) == (False, 1e-6, 1e-6)
    assert 100 * (found.cost / found.lower_bound - 1) < 1e-6
    assert "at most 1e-06 % above it" in found.notes[0]
    assert "at most 1e-06 % above" in repr(found.search)
    assert "at most 1e-06 % above" in plot_word(found.search).get_title("left")


@pytest.mark.thorough
def test_a_long_search_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """500 pages with costs of 16,384 distances are told, 50 are not."""

    def said(pages: int) -> list[str]:
        caplog.clear()
        with caplog.at_level("INFO", logger="analytic.routing.search"):
            best_word(access_costs(Poisson(rate=1.0), [1e-3] * pages, [1.0] * pages))
        return [record.getMessage() for record in caplog.records]

    assert said(500) == ["500 pages, costs of 16,384 distances of each: about 4 s"]
    assert said(50) == []
