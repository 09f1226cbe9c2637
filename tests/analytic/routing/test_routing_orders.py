"""Orders as a user meets them: the table, its notes, the figure, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from analytic import optimize
from analytic.machinery.phase_type import PhaseLaw
from analytic.page_refresh import schedule_bound
from analytic.routing import (
    SpacingCosts,
    access_costs,
    average_loss,
    best_random_shares,
    best_word,
    loss_costs,
    map_loss,
)
from analytic.routing.multimodularity import base, horizon_cost, local_minimum, violations
from analytic.routing.words import are_rotations
from crawlsim.report import plot_word
from experiments.routing_experiments import smooth_bound
from scenarios import Scenario, load, scenario_from
from scenarios.laws import Deterministic
from scenarios.processes import Poisson, Renewal

ABOVE = "above the best, %"
ONE = Renewal(Deterministic(value=1.0))


def exponential(rate: float) -> PhaseLaw:
    return PhaseLaw(np.ones(1), np.array([[-rate]]))


def losses_at(*rates: float) -> SpacingCosts:
    return loss_costs(Poisson(rate=1.0), [exponential(rate) for rate in rates])


def servers(rates: list[float], routing: Any = "optimal", gap: Any = None) -> Scenario:
    arrivals = {"renewal": gap} if gap else {"poisson": {"rate": 1.0}}
    section = {"rates": rates, "arrivals": arrivals, "routing": routing}
    return scenario_from({"name": "servers", "servers": section})


def rows_of(scenario: Scenario, target: str = "routing") -> dict[str, Any]:
    return {row["order"].split(":")[0]: row for row in optimize(scenario, target).table}


# --- the table -----------------------------------------------------------------------------------


def test_the_order_of_the_file_stands_beside_the_best_one() -> None:
    found = rows_of(servers([1.0, 2.0, 3.0], {"period": [0, 1, 2]}))
    own = found["as in the file"]
    assert (own["period"], own["cost"]) == ([0, 1, 2], found["in turn"]["cost"])
    assert own[ABOVE] == pytest.approx(100 * (own["cost"] / found["optimum"]["cost"] - 1))
    assert found["optimum"]["cost"] <= found["improved words"]["cost"] < own["cost"]
    assert "as in the file" not in rows_of(servers([1.0, 2.0, 3.0]))
    drawn = rows_of(servers([1.0, 3.0], {"random": [0.5, 0.5]}))["as in the file"]
    assert drawn["period"] is None
    assert drawn["cost"] == pytest.approx(sum(p * p / (p + r) for p, r in ((0.5, 1), (0.5, 3))))


@pytest.mark.parametrize(
    ("policy", "cost"),
    [
        ({"policy": "cyclic", "template": [0, 1, 0, 2, 0, 3]}, (0, 1, 0, 2, 0, 3)),
        ({"policy": "round-robin"}, (0, 1, 2, 3)),
        ({"policy": "randomized", "frequencies": [0.4, 0.3, 0.2, 0.1]}, None),
        ({"policy": "whittle"}, "no order"),
        ({"policy": "randomized", "frequencies": "optimal"}, "no order"),
    ],
)
def test_pages_have_an_order_of_their_own_or_none(policy: Any, cost: Any) -> None:
    scenario = load("cyclic-constant").with_("robots.accessing", policy)
    own = rows_of(scenario, "template").get("as in the file")
    rates = [0.6, 0.2, 0.15, 0.1]
    costs = access_costs(ONE, rates, rates)
    if cost == "no order":
        assert own is None
        return
    assert own is not None
    expected = costs.at_random(policy["frequencies"]) if cost is None else costs.of(cost)
    assert own["cost"] == pytest.approx(expected, rel=1e-13)


def test_an_order_that_is_as_good_is_said_to_be() -> None:
    """At the breakpoint 1 + sqrt 2 (Figure 1) the words 0 1 and 0 1 1 cost the same."""
    edge = 1 + math.sqrt(2)

    def notes(rate: float, word: list[int]) -> str:
        return "; ".join(optimize(servers([1.0, rate], {"period": word}), "routing").notes)

    texts = [notes(edge, word) for word in ([0, 1], [0, 1, 1])]
    assert sum("as good to 1e-12: the order of the file" in text for text in texts) == 1
    assert sum("the file has this order already" in text for text in texts) == 1
    assert "as good" not in notes(edge - 1e-6, [0, 1, 1])
    assert "the file has this order already" in notes(edge - 1e-6, [1, 0, 1, 0])


def test_words_that_are_rotations() -> None:
    assert are_rotations((0, 1, 1), (1, 0, 1, 1, 0, 1))
    assert not are_rotations((0, 1, 1), (0, 0, 1))
    assert not are_rotations((1, 10), (11, 0))


def test_a_better_order_of_the_file_is_kept() -> None:
    costs = losses_at(0.4, 0.9, 1.3, 2.2, 3.1)
    optimum = best_word(costs)
    rough = best_word(costs, most_states=50)
    assert rough.cost > optimum.cost * (1 + 1e-9)
    kept = best_word(costs, most_states=50, known=[(0, 1), optimum.word])
    assert (kept.word, kept.cost, kept.proved) == (optimum.word, optimum.cost, False)


def test_nothing_is_so_many_per_cent_of_a_cost_of_0() -> None:
    gap = {"uniform": {"low": 1.0, "high": 2.0}}
    found = optimize(servers([0.5, 0.7, 800.0], {"period": [0, 1]}, gap), "routing")
    assert [row[ABOVE] for row in found.table] == [0.0, None]
    assert "the best order costs 0: percentages above it are undefined" in found.notes
    assert "never used: 0, 1" in found.notes


def test_shares_and_differences_of_rounding_are_0() -> None:
    costs = access_costs(ONE, [1.0, 1.0], [1000.0, 1.0])
    assert best_random_shares(costs).tolist() == [1.0, 0.0]
    scenario = load("cyclic-constant").with_(
        {
            "pages.change_rates": [1.0, 1.0],
            "pages.weights": [1000.0, 1.0],
            "robots.accessing.template": [0, 1],
        }
    )
    assert rows_of(scenario, "template")["at random"][ABOVE] == 0.0


def test_the_bound_of_coffman_is_told_for_independent_accesses() -> None:
    found = optimize(load("cyclic-constant"), "template")
    rates = [0.6, 0.2, 0.15, 0.1]
    bound = schedule_bound(rates, rates, Deterministic(value=1.0))
    above = 100 * (found.cost / bound - 1) if found.cost else 0.0
    assert (
        f"bound of Coffman 1998, eq. 7: {bound:.6g}, the cost is {above:.3g} % above it"
        in found.notes
    )
    dependent = optimize(load("template-dependent-access"), "template")
    assert not any("coffman" in note for note in dependent.notes)


@pytest.mark.parametrize(
    ("weight", "word"), [(0.39, (1,)), (0.41, (0, 1, 1, 1, 1, 1)), (1000.0, (0,))]
)
def test_the_counterexample_to_remark_6_1(weight: float, word: tuple[int, ...]) -> None:
    """Threshold (1 - e^-1)² = 0.39958; every word up to six slots is dearer, by enumeration."""
    found = best_word(access_costs(ONE, [1.0, 1.0], [weight, 1.0]))
    assert (found.proved, found.word) == (True, word)
    assert (weight <= (1 - math.exp(-1)) ** 2) == (0 not in word)
    others = [[n >> slot & 1 for slot in range(length)] for length in (2, 3, 6) for n in range(64)]
    assert found.cost <= min(map(found.costs.of, others)) + 1e-14


# --- the search ----------------------------------------------------------------------------------


def test_simple_orders_are_looked_for_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> Any:
        raise AssertionError("not needed for the search")

    for name in ("best_random_shares", "descended_word"):
        monkeypatch.setattr(f"analytic.routing.orders.{name}", refused)
    monkeypatch.setattr("analytic.routing.search.descended_word", refused)
    found = best_word(losses_at(0.2, 0.4, 0.8, 1.2))
    assert found.proved
    with pytest.raises(AssertionError, match="not needed"):
        _ = found.alternatives


def test_the_limit_that_stopped_a_search_is_the_one_that_was_given() -> None:
    """The first graph fits, the next one does not fit into what is left."""
    costs = losses_at(0.05, 10.0, 20.0, 30.0)
    found = best_word(costs, most_states=10_000)
    assert not found.proved
    assert found.states > 0
    assert "would have more than 10,000 states together" in found.unproved
    assert "best_word(costs, most_states=…)" in found.unproved


# --- the figure ----------------------------------------------------------------------------------


def drawn(costs: SpacingCosts) -> tuple[Any, list[str]]:
    ax = plot_word(best_word(costs))
    legend = ax.get_legend()
    return ax, [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_a_figure_says_which_slots_it_shows() -> None:
    """103 equal pages in turn: 43 of them come later, none is never visited."""
    ax, legend = drawn(access_costs(ONE, [0.01] * 103, [1.0] * 103))
    assert ax.get_xlabel() == "slot (first 60 of 103 slots)"
    assert ax.get_title("left").startswith("period of 103, first 60 slots drawn\n")
    assert (ax.get_ylabel(), legend) == ("page", ["not before slot 60"])
    assert (ax.get_yticks()[0], ax.get_yticks()[-1]) == (0, 102)
    assert (ax.get_xticks()[0], ax.get_xticks()[-1]) == (0, 56), "slots 0 … 59, every eighth"
    later = next(line for line in ax.lines if line.get_label() == legend[0])
    assert later.get_ydata().tolist() == list(range(60, 103))


def test_a_figure_tells_what_is_never_visited() -> None:
    ax, legend = drawn(access_costs(ONE, [1.0, 1.0], [0.3, 1.0]))
    assert (ax.get_xlabel(), ax.get_ylabel(), legend) == ("slot", "page", ["never accessed"])
    ax, legend = drawn(losses_at(1e-9, 1e6, 2e6))
    assert (ax.get_ylabel(), legend) == ("server", ["never used"])
    slots = ax.get_xticks().tolist()
    assert (slots[0], slots[-1]) == (0, 3), "no slot -1 where the crosses are, none after the last"
    ax, legend = drawn(losses_at(1.0, 2.0, 3.0))
    assert (legend, ax.get_yticks().tolist()) == ([], [0, 1, 2])


# --- what is refused -----------------------------------------------------------------------------


COSTS = losses_at(1.0, 2.0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: COSTS.entry(0, 0), "distance 0: must be a whole number >= 1"),
        (lambda: COSTS.entry(2, 1), "server 2: must be a whole number in 0 … 1"),
        (lambda: COSTS.of(()), "the word is empty"),
        (lambda: COSTS.of((0, 7)), "server 7: must be a whole number in 0 … 1"),
        (lambda: COSTS.of((0, -1)), "server -1: must be"),
        (lambda: access_costs(ONE, [1.0], [1.0]).of((1,)), "page 1: must be"),
        (lambda: average_loss((), COSTS.entry), "the word is empty"),
        (lambda: loss_costs(Poisson(rate=1.0), []), "services are missing"),
        (lambda: best_word(losses_at(1.0, 0.0, 2.0)), "server 1 has the rates 0: all must be > 0"),
        (lambda: access_costs(ONE, [1.0, 2.0], [1.0]), "must be one of each per page"),
        (lambda: access_costs(ONE, [], []), "at least one page"),
        (lambda: access_costs(ONE, [-1.0], [1.0]), "a rate of -1: must be >= 0"),
        (lambda: access_costs(ONE, [1.0], [math.nan]), "a weight of nan: must be >= 0"),
        (lambda: local_minimum(horizon_cost(COSTS.entry), (0, 2)), "letters in 0 … 1"),
        (lambda: violations(len, 0), "words of 0 letters"),
        (lambda: base(0), "words of 0 letters"),
        (lambda: smooth_bound([]), "transforms are missing"),
        (lambda: smooth_bound([0.5, 1.5]), "a transform of 1.5: must be in"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ValueError, match=r"must|missing|empty") as error:
        call()
    assert says in str(error.value)


def test_an_entry_is_the_loss_at_a_distance() -> None:
    expected = map_loss([[-1.0]], [[1.0]], 2.0, [1, 2, 100])
    assert [COSTS.entry(1, n) for n in (1, 2, 100)] == pytest.approx(expected.tolist())


def test_a_refusal_quotes_what_the_file_says(crawlsim: Any) -> None:
    change = ("--set", 'servers.routing="optimal"')
    code, _, err = crawlsim("check", "routing-busy-signal", *change)
    assert code == 2
    assert 'servers.routing = "optimal"' in err
    assert "has no exact answer: a packet that finds its server busy is lost" in err
    code, _, err = crawlsim("optimize", "routing-busy-signal", "--target", "routing", *change)
    assert '--target = "routing"' in err


def test_fewer_servers_than_the_period_names_hint_at_the_search(crawlsim: Any) -> None:
    words = ("optimize", "routing-two-servers", "--target", "routing", "--set")
    code, _, err = crawlsim(*words, "servers.rates=[1.0]")
    assert code == 2
    assert 'routing = "optimal" finds the best order of these' in err
    code, out, _ = crawlsim(
        *words, "servers.rates=[1.0]", "--set", 'servers.routing="optimal"', "--json"
    )
    assert (code, json.loads(out)[0]["decision"]) == (0, {"period": [0]})
