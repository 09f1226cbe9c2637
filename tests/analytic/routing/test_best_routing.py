"""The best orders of servers and pages: against all words of some length, and other ways."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from words import words_of_length

import sim
from analytic import compare, optimize, overall, predict, resolve
from analytic.machinery.arrival_process import gap_map
from analytic.machinery.phase_type import PhaseLaw, as_phase_type
from analytic.machinery.transforms import transform
from analytic.page_refresh import cyclic_obsolescence, schedule_bound
from analytic.routing import (
    SpacingCosts,
    access_costs,
    best_random_shares,
    best_word,
    block_length,
    certified_word,
    dependent_obsolescence,
    descended_word,
    index_word,
    linear_bound,
    loss_costs,
    map_loss,
    phase_type_loss,
    random_loss,
    template_costs,
    two_servers,
)
from analytic.routing.bounds import LinearBound, convex_minorant
from analytic.routing.certified import _first_caps, _solved, charges
from experiments.routing_experiments import smooth_bound
from scenarios import Scenario, ScenarioError, load, scenario_from
from scenarios.laws import Deterministic, Erlang, Exponential, Hyperexponential
from scenarios.model import gaps_of
from scenarios.processes import Map, Mmpp, Poisson, Renewal

MMPP2 = Mmpp(Q=((-0.2, 0.2), (0.3, -0.3)), rates=(0.5, 3.0))
MAP3 = Map(
    D0=((-4.0, 1.0, 0.0), (0.0, -2.0, 0.5), (0.1, 0.0, -0.6)),
    D1=((2.0, 0.5, 0.5), (1.0, 0.5, 0.0), (0.0, 0.3, 0.2)),
)
ARRIVALS = (Poisson(rate=1.0), MMPP2, MAP3)
IN_TURN = Map(  # three phases in a circle, an arrival at each step
    D0=((-1.0, 0.0, 0.0), (0.0, -2.0, 0.0), (0.0, 0.0, -4.0)),
    D1=((0.0, 1.0, 0.0), (0.0, 0.0, 2.0), (4.0, 0.0, 0.0)),
)


def exponential(rate: float) -> PhaseLaw:
    return PhaseLaw(np.ones(1), np.array([[-rate]]))


def losses_at(arrivals: Any, rates: Any) -> SpacingCosts:
    return loss_costs(arrivals, [exponential(float(rate)) for rate in rates])


# --- an oracle: every word up to some length ----------------------------------------------------


@cache
def distances_of_all_words(servers: int, longest: int) -> np.ndarray:
    """How often each distance of each server occurs per slot, one row per word."""
    words = [w for n in range(1, longest + 1) for w in words_of_length(n, servers)]
    counts = np.zeros((len(words), servers, longest))
    for row, word in enumerate(words):
        for place, server in enumerate(word):
            ahead = 1
            while word[(place + ahead) % len(word)] != server:
                ahead += 1
            counts[row, server, ahead - 1] += 1 / len(word)
    return counts.reshape(len(words), -1)


def least_cost(e: np.ndarray, longest: int) -> float:
    """The least cost of all words; e holds e_m(1), …, e_m(longest) in its rows."""
    each = distances_of_all_words(len(e), longest) @ e[:, :longest].ravel()
    return float(each.min())


@pytest.mark.parametrize(("length", "servers", "number"), [(1, 3, 3), (6, 2, 9), (12, 3, 44220)])
def test_the_number_of_words_is_that_of_necklaces(length: int, servers: int, number: int) -> None:
    """Moreau's formula: (1/n) sum over divisors d of mobius(d) k^(n/d)."""
    words = list(words_of_length(length, servers))
    assert len(set(words)) == len(words) == number
    assert all(w == min(w[i:] + w[:i] for i in range(length)) for w in words[:500])


# --- what a visit costs --------------------------------------------------------------------------


@pytest.mark.parametrize("arrivals", [*ARRIVALS, Renewal(Deterministic(value=1.3))], ids=str)
def test_costs_of_packets_are_the_losses(arrivals: Any) -> None:
    laws = [Exponential(rate=0.7), Erlang(shape=2, mean=1.0)]
    services = [law for each in laws if (law := as_phase_type(each)) is not None]
    costs = loss_costs(arrivals, services)
    n = np.arange(1, 31)
    for row, law in zip(costs.table, services, strict=True):
        assert row[:30] == pytest.approx(phase_type_loss(arrivals, law, n), rel=1e-10)


@pytest.mark.parametrize("arrivals", ARRIVALS, ids=str)
def test_costs_of_pages_are_those_of_remark_6_1(arrivals: Any) -> None:
    """``c x E tau + (c/mu) (f(x) - 1)``, per access time, without its linear part."""
    rates = np.array([0.01, 0.3, 2.0])
    weights = np.array([1.0, 0.5, 3.0])
    costs = access_costs(arrivals, rates, weights)
    matrices = gap_map(gaps_of(arrivals))
    assert matrices is not None
    hidden, marked = matrices
    start = np.linalg.lstsq(  # law of the phase just after an arrival
        np.vstack([np.linalg.solve(-hidden, marked).T - np.eye(len(hidden)), np.ones(len(hidden))]),
        np.eye(len(hidden) + 1)[-1],
        rcond=None,
    )[0]
    mean = float(start @ np.linalg.inv(-hidden) @ np.ones(len(hidden)))
    n = np.arange(1, 40)
    for page, (mu, c) in enumerate(zip(rates, weights, strict=True)):
        printed = c / mu * (map_loss(hidden, marked, mu, n) - 1) / mean
        assert costs.table[page, :39] == pytest.approx(printed, rel=1e-10)
    assert costs.base == weights.sum()


@pytest.mark.parametrize(("some", "word"), [([0, 2], [0, 1, 1]), ([1], [0]), ([3, 1], [0, 0, 1])])
def test_costs_of_some_pages_hold_what_the_others_cost(some: list[int], word: list[int]) -> None:
    costs = access_costs(Poisson(rate=1.0), np.array([0.1, 0.3, 2.0, 0.7]), np.arange(1.0, 5.0))
    wanted = costs.of([some[each] for each in word])
    assert costs.of_some(some).of(word) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("law", [Exponential(mean=2.0), Deterministic(value=0.7)])
def test_pages_with_independent_accesses_are_those_of_coffman(law: Any) -> None:
    rates = [0.3, 0.0, 1.2, 0.4]
    word = [0, 2, 0, 1, 2, 2]
    found = dependent_obsolescence(Renewal(law), rates, word)
    assert found == pytest.approx(cyclic_obsolescence(rates, word, law), rel=1e-12)
    assert found[3] == 1.0


def test_erlang_accesses_as_an_arrival_process() -> None:
    """The phases of independent gaps, taken as those of a dependent process."""
    law = Erlang(shape=3, mean=1.5)
    rates = [0.2, 1e-9, 4.0]
    word = [0, 1, 2, 2]
    matrices = gap_map(law)
    assert matrices is not None
    hidden, marked = (tuple(map(tuple, each.tolist())) for each in matrices)
    found = dependent_obsolescence(Map(D0=hidden, D1=marked), rates, word)
    assert found == pytest.approx(cyclic_obsolescence(rates, word, law), rel=1e-7)


# --- two servers ---------------------------------------------------------------------------------


def instances(servers: int, count: int, seed: int) -> list[SpacingCosts]:
    """Poisson, MMPP and MAP arrivals in turn; packets and pages in turn."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(count):
        rates = np.exp(generator.uniform(-1.6, 1.6, servers))
        weights = generator.exponential(size=servers)
        arrivals = ARRIVALS[number % 3]
        pages = number // 3 % 2
        found.append(
            access_costs(arrivals, rates, weights) if pages else losses_at(arrivals, rates)
        )
    return found


@pytest.mark.nightly
def test_two_servers_against_all_words_up_to_length_14() -> None:
    """100 random instances; where the best block is longer, none of those words may be better."""
    lengths = set()
    for costs in instances(2, 100, seed=7):
        found = two_servers(costs)
        least = costs.base + least_cost(costs.table, 14)
        lengths.add(found.length)
        if len(found.word) <= 14:
            assert found.cost == pytest.approx(least, abs=1e-14, rel=1e-13)
        else:
            assert found.cost < least
        assert linear_bound(costs).value == pytest.approx(found.cost, rel=1e-12)
        assert certified_word(costs).cost == pytest.approx(found.cost, rel=1e-12)
    assert {None, 2, 3, 4} <= lengths


def test_a_wrong_block_rule_is_caught() -> None:
    """A block longer by one slot is dearer in every one of the instances that use both servers."""
    for costs in instances(2, 30, seed=7):
        found = two_servers(costs)
        if found.length is not None:
            longer = costs.of((*found.word, max(found.word, key=found.word.count)))
            assert longer > found.cost + 1e-9


@pytest.mark.parametrize(
    ("n", "rate"),
    [
        (2, 2.4142135624),
        (3, 4.8532998323),
        (4, 9.1407350340),
        (5, 16.7712393546),
        (6, 30.4919333848),
        (7, 55.3844153698),
        (8, 100.8975344568),
        (10, 339.8325987578),
        (12, 1168.7855004799),
    ],
)
def test_the_breakpoints_of_figure_1(n: int, rate: float) -> None:
    """Where the block rule goes from n to n + 1; Poisson arrivals, lambda = mu_1 = 1."""
    rare = 0.5 ** np.arange(1, 40)

    def length(mu: float) -> int | None:
        return block_length(rare, 0.0, [1 / (1 + mu), (1 / (1 + mu)) ** 2])

    low = rate * 0.9
    high = rate * 1.1
    while high - low > 1e-12 * rate:
        middle = (low + high) / 2
        low, high = (middle, high) if length(middle) == n else (low, middle)
    assert (length(rate - 1e-6), length(rate + 1e-6)) == (n, n + 1)
    assert low == pytest.approx(rate, abs=6e-11 + 1e-13 * rate)


def test_only_two_servers_with_convex_costs_have_blocks() -> None:
    with pytest.raises(ValueError, match="3 servers; must be of 2"):
        two_servers(losses_at(ARRIVALS[0], [1, 2, 3]))
    erlang = as_phase_type(Erlang(shape=2, mean=1.0))
    assert erlang is not None
    costs = loss_costs(Renewal(Deterministic(value=0.1)), [erlang, erlang])
    assert not costs.is_convex
    with pytest.raises(ValueError, match="not convex"):
        two_servers(costs)


@pytest.mark.parametrize("gap", [Exponential(mean=1.0), Deterministic(value=1.0)])
def test_a_page_is_left_out_when_its_weight_per_change_is_small(gap: Any) -> None:
    """Against the printed Remark 6.1: iff ``c_1/mu_1 <= (c_2/mu_2) (1 - h_2)²``."""
    mu = np.array([0.8, 1.5])
    edge = (2.0 / mu[1]) * (1 - float(transform(gap, mu[1]))) ** 2
    for factor, visited in ((0.999, {1}), (1.001, {0, 1}), (1000.0, {0})):
        weights = np.array([factor * edge * mu[0], 2.0])
        found = best_word(access_costs(Renewal(gap), mu, weights))
        assert found.proved
        assert set(found.word) == visited


# --- any number of servers -----------------------------------------------------------------------


@pytest.mark.nightly
def test_three_servers_against_all_words_up_to_length_12() -> None:
    """Equal where the optimum is that short; else never dearer."""
    short = 0
    for costs in instances(3, 40, seed=8):
        found = best_word(costs)
        least = costs.base + least_cost(costs.table, 12)
        assert found.proved
        assert found.bound == pytest.approx(found.cost, rel=1e-12, abs=1e-14)
        if len(found.word) <= 12:
            short += 1
            assert found.cost == pytest.approx(least, rel=1e-12, abs=1e-14)
        else:
            assert found.cost < least - 1e-12
    assert short >= 30


_P = (1 + math.sqrt(3 / 5)) / 2
GAPS: dict[str, Any] = {
    "exp": Exponential(mean=1.0),
    "det": Deterministic(value=1.0),
    "H2": Hyperexponential(probabilities=(_P, 1 - _P), rates=(2 * _P, 2 * (1 - _P))),
}


@pytest.mark.by_day(besides=("exp-rates4-0.04166667-0.04463735-0.04996142-1323",))
@pytest.mark.parametrize(
    ("gaps", "rates", "smooth", "linear", "optimum", "period"),
    [
        ("exp", (1, 2), 0.16666667, 0.18055556, 0.18055556, "12"),
        ("exp", (1, 4), 0.10000000, 0.12166667, 0.12166667, "122"),
        ("exp", (0.2, 1), 0.41666667, 0.43037551, 0.43037551, "12222"),
        ("exp", (1, 1, 2), 0.08333333, 0.08680556, 0.08680556, "1323"),
        ("exp", (1, 2, 3), 0.04166667, 0.04463735, 0.04996142, "1323"),
        ("exp", (0.1, 0.3, 1), 0.34965035, 0.36358628, 0.36408452, "132333233323"),
        ("exp", (1, 2, 3, 4), 0.00833333, 0.00905480, 0.01070779, "134234"),
        ("exp", (0.1, 0.2, 0.4, 0.8), 0.30062530, 0.30176694, 0.30551903, "143424342434"),
        ("exp", (0.05, 0.1, 0.5, 2), 0.19240019, 0.21189398, 0.21190397, 32),
        ("det", (1, 1, 2), 0.01831564, 0.01831564, 0.01831564, "1323"),
        ("det", (1, 2, 3), 0.00247875, 0.00247875, 0.00476102, "132323"),
        ("det", (0.1, 0.2, 0.4, 0.8), 0.22313016, 0.22566057, 0.22940747, 15),
        ("H2", (1, 2, 3), 0.08512496, 0.08849792, 0.09537450, "1323"),
    ],
)
def test_the_table_of_certified_optima(
    gaps: str, rates: Any, smooth: float, linear: float, optimum: float, period: Any
) -> None:
    """Eight digits of another program (docs/derivations.md); the word's own cost to 1e-12."""
    costs = losses_at(Renewal(GAPS[gaps]), rates)
    missed = [float(transform(GAPS[gaps], rate)) for rate in rates]
    found = best_word(costs)
    assert found.proved
    assert smooth_bound(missed) == pytest.approx(smooth, abs=6e-9)
    assert linear_bound(costs).value == pytest.approx(linear, abs=6e-9)
    assert found.cost == pytest.approx(optimum, abs=6e-9)
    assert found.bound == pytest.approx(found.cost, rel=1e-11)
    if isinstance(period, int):
        assert len(found.word) == period
        return
    word = [int(letter) - 1 for letter in period]
    assert found.cost == pytest.approx(by_fractions(word, missed), rel=1e-12)


def by_fractions(word: list[int], missed: list[float]) -> float:
    """Equation (6) in rational numbers."""
    total = Fraction(0)
    for place, server in enumerate(word):
        ahead = next(n for n in itertools.count(1) if word[(place + n) % len(word)] == server)
        total += Fraction(missed[server]) ** ahead
    return float(total / len(word))


def test_equal_servers_take_turns() -> None:
    """Round robin attains the product of the transforms exactly."""
    for servers in (2, 3, 5):
        found = best_word(losses_at(ARRIVALS[0], [1.7] * servers))
        assert found.proved
        assert found.cost == pytest.approx((1 / 2.7) ** servers, rel=1e-12)
        assert found.states == 0 or servers > 2


def test_low_caps_give_a_bound_and_no_proof() -> None:
    """The relaxation of capped ages: below the optimum, higher with higher caps, at last exact."""
    costs = losses_at(ARRIVALS[0], [0.2, 0.7, 1.5])
    optimum = best_word(costs)
    assert optimum.proved
    bounds = []
    for cap in (1, 2, 3, 5, 8, 12):
        found = _solved(costs, (cap, cap, cap), 10**6)
        bounds.append(found.bound)
        assert found.cost >= optimum.cost - 1e-13
    assert np.all(np.diff(bounds) >= -1e-15)  # rounding
    assert bounds[0] < optimum.cost - 1e-3
    assert bounds[-1] == pytest.approx(optimum.cost, rel=1e-12)


def test_the_certificate_can_be_checked_by_others() -> None:
    """Every edge of the graph by hand; a dual value that is changed proves less."""
    costs = losses_at(ARRIVALS[0], [0.3, 0.5, 0.8, 1.2])
    found = certified_word(costs)
    assert found.ages is not None
    assert found.values is not None
    assert found.servers == (0, 1, 2, 3)
    paid, waits = charges(costs, found.caps)
    number = {tuple(ages): place for place, ages in enumerate(found.ages.tolist())}

    def bound(values: np.ndarray) -> float:
        return min(
            sum(waits[m] for m, age in enumerate(ages) if m != visit and age == found.caps[m])
            + paid[visit, ages[visit]]
            + values[number[_after(ages, visit, found.caps)]]
            - values[place]
            for ages, place in number.items()
            for visit in range(4)
        )

    assert costs.base + bound(found.values) == pytest.approx(found.bound, abs=1e-14)
    assert found.bound == pytest.approx(found.cost, abs=1e-13)
    wrong = found.values.copy()
    wrong[len(wrong) // 2] += 0.5
    assert bound(wrong) < bound(found.values) - 1e-3


def _after(ages: tuple[int, ...], visit: int, caps: tuple[int, ...]) -> tuple[int, ...]:
    older = (min(age + 1, cap) for age, cap in zip(ages, caps, strict=True))
    return tuple(1 if m == visit else age for m, age in enumerate(older))


def test_a_large_graph_is_announced(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = losses_at(ARRIVALS[0], [0.3, 0.5, 0.8])
    caplog.set_level("INFO")
    certified_word(costs)
    assert "capped ages" not in caplog.text
    monkeypatch.setattr("analytic.routing.certified._PATIENCE", 0.0)
    found = certified_word(costs)
    assert f"{found.states:,} states of capped ages, about 0 s" in caplog.text


@settings(max_examples=examples(15))
@given(
    st.lists(st.floats(0.2, 4.0), min_size=3, max_size=4), st.lists(st.floats(0.1, 3), min_size=4)
)
def test_no_order_is_below_a_bound(rates: list[float], weights: list[float]) -> None:
    for costs in (
        losses_at(ARRIVALS[0], rates),
        access_costs(MMPP2, rates, weights[: len(rates)]),
    ):
        found = best_word(costs)
        bound = linear_bound(costs)
        assert found.proved
        assert bound.shares.sum() == pytest.approx(1.0)
        assert bound.value <= found.cost + 1e-12
        shares = np.array(weights[: len(rates)])
        for other in (index_word(costs), descended_word(costs), tuple(range(len(rates)))):
            assert costs.of(other) >= found.cost - 1e-12
        assert costs.at_random(shares / shares.sum()) >= found.cost


def test_services_that_are_not_exponential_are_certified_too() -> None:
    """Erlang losses, not convex in the distance: no block rule, but all short words."""
    erlang = as_phase_type(Erlang(shape=2, mean=1.0))
    one = exponential(0.6)
    assert erlang is not None
    for laws, longest in (([erlang, one], 14), ([erlang, one, exponential(2.0)], 12)):
        costs = loss_costs(Poisson(rate=8.0), laws)
        assert not costs.is_convex
        found = best_word(costs)
        assert found.proved
        assert len(found.word) <= longest
        assert found.cost == pytest.approx(least_cost(costs.table, longest), rel=1e-12)
        assert np.all(convex_minorant(costs) <= costs.table + 1e-15)


def test_what_is_too_large_is_not_proved_and_says_so() -> None:
    costs = losses_at(ARRIVALS[0], [0.4, 0.9, 1.3, 2.2, 3.1])
    proved = best_word(costs)
    bounded = best_word(costs, most_states=50)
    assert (proved.proved, bounded.proved) == (True, False)
    assert bounded.bound <= proved.bound <= proved.cost <= bounded.cost
    assert bounded.bound == pytest.approx(linear_bound(costs).value)
    assert bounded.gap == pytest.approx(100 * (bounded.cost / bounded.bound - 1))
    assert bounded.alternatives[0].order == "best found"


def test_pages_that_cost_nothing_are_left_out() -> None:
    found = best_word(access_costs(ARRIVALS[0], [0.0, 1.0, 2.0], [1.0, 1.0, 0.0]))
    assert found.word == (1,)
    assert found.cost == pytest.approx(1 - 1 / 2.0)  # mu E min(tau, S)
    nothing = best_word(access_costs(ARRIVALS[0], [0.0, 0.0], [1.0, 1.0]))
    assert (nothing.word, nothing.cost, nothing.proved) == ((0,), 0.0, True)


def test_the_linear_bound_is_never_below_that_of_coffman() -> None:
    generator = np.random.default_rng(5)
    for _ in range(10):
        rates, weights = generator.exponential(size=(2, 5))
        bound = linear_bound(access_costs(ARRIVALS[0], rates, weights)).value
        assert bound >= schedule_bound(rates, weights, Exponential(mean=1.0)) - 1e-12


def test_random_routing() -> None:
    """p proportional to 1/h - 1 for independent gaps; `random_loss` for others."""
    costs = losses_at(ARRIVALS[0], [1.0, 2.0, 5.0])
    assert best_random_shares(costs) == pytest.approx(np.array([1, 2, 5]) / 8, abs=1e-4)
    shares = [0.2, 0.3, 0.5]
    direct = sum(
        p * random_loss(MAP3, exponential(rate), p)
        for p, rate in zip(shares, (1.0, 2.0, 5.0), strict=True)
    )
    assert losses_at(MAP3, [1.0, 2.0, 5.0]).at_random(shares) == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize(
    ("rates", "optimum", "states"),
    [
        ((1, 2, 3, 4, 5), 0.0020767969583524, 1984),
        ((0.2, 0.4, 0.8, 1.2, 2), 0.056114940107631, 4091),
        ((0.2, 0.4, 0.8, 1.2, 2, 4), 0.0120503326847983, 101244),
    ],
)
def test_five_and_six_servers(rates: Any, optimum: float, states: int) -> None:
    """Our numbers, proved: an improvement of the search may only change the states."""
    found = best_word(losses_at(ARRIVALS[0], rates))
    assert found.proved
    assert found.cost == pytest.approx(optimum, abs=1e-13)
    assert found.states <= 2 * states


# --- what needs no graph -------------------------------------------------------------------------


@pytest.mark.parametrize("count", [8, 61])
def test_equal_servers_are_proved_without_a_graph_and_all_visited(count: int) -> None:
    """In turn attains the bound; the graph would have millions of states."""
    for costs in (
        losses_at(ARRIVALS[0], [1.0] * count),
        access_costs(ARRIVALS[0], [1.0] * count, [1.0] * count),
    ):
        found = best_word(costs)
        assert found.proved
        assert found.states == 0
        assert found.word == tuple(range(count))


@pytest.mark.parametrize(
    ("rates", "length"), [((1e-4, 1.0), 9613), ((1e-3, 1e3), 8468), ((1e-6, 1e3), 8463560)]
)
def test_two_of_very_different_rates(rates: tuple[float, float], length: int) -> None:
    """Beyond any table: ``(1 + n (1 - h)) h^n <= 2 g - g²`` for Poisson arrivals, least n."""
    costs = losses_at(ARRIVALS[0], rates)
    found = two_servers(costs)
    missed = 1 / (1 + rates[0])
    often = 1 / (1 + rates[1])

    def descent(n: int) -> float:
        return (1 + n * rates[0] * missed) * math.exp(-n * math.log1p(rates[0]))

    assert found.length is not None
    assert abs(found.length - length) <= 1e-6 * length  # far out D is known to some digits
    assert descent(found.length + 20) <= 2 * often - often**2 < descent(found.length - 20)
    exact = (math.exp(-length * math.log1p(rates[0])) + often**2 + (length - 2) * often) / length
    assert found.bound == pytest.approx(exact, rel=1e-13)
    assert linear_bound(costs).value <= found.bound * (1 + 1e-13)
    search = best_word(costs)
    assert search.bound == found.bound
    assert search.proved == (length <= 100_000) == (len(search.word) == length)
    assert search.gap < 1e-4


def test_a_page_that_hardly_changes_is_left_out_or_not_by_remark_6_1() -> None:
    """The threshold c_1/mu_1 = (c_2/mu_2)(1 - h_2)², where no table is long enough."""
    edge = (1 / 1.0) * (1 - 1 / (1 + 1.0)) ** 2
    lengths = []
    for factor in (0.999, 1.02):
        costs = access_costs(ARRIVALS[0], [1e-5, 1.0], [1e-5 * edge * factor, 1.0])
        lengths.append(two_servers(costs).length)
        assert best_word(costs).proved == (lengths[-1] is None or lengths[-1] <= 100_000)
    assert lengths[0] is None
    assert lengths[1] is not None
    assert lengths[1] > 2**14


@pytest.mark.thorough
def test_the_bound_of_solve_proves_the_golden_ratio_pages() -> None:
    """246 equal pages that change so slowly that no table ends near its limit."""
    scenario = load("golden-ratio-246")
    found = optimize(scenario, "template")
    rows = [r for r in predict(scenario)[0] if r.measure == "weighted_obsolescence"]
    shown = [
        r.value for r in rows if r.kind == "lower bound" and r.source.startswith("coffman1998")
    ]
    assert any(found.lower_bound == pytest.approx(each, rel=1e-12) for each in shown)
    assert found.proved
    assert linear_bound(template_costs(scenario)).value == pytest.approx(found.cost, rel=1e-12)


# --- scenarios -----------------------------------------------------------------------------------


def servers(**entries: Any) -> Scenario:
    section = {
        "rates": [1.0, 2.0, 3.0],
        "arrivals": {"poisson": {"rate": 1.0}},
        "routing": "optimal",
    }
    return scenario_from({"name": "servers", "servers": section | entries})


def pages(access: Any, rates: Any = (1.0, 2.0, 3.0), **more: Any) -> Scenario:
    return scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": list(rates), **more},
            "robots": {
                "available": 1,
                "access_time": access,
                "accessing": {"policy": "round-robin"},
            },
        }
    )


def test_the_exact_link_of_pages_and_servers() -> None:
    """With c = mu and E tau = 1, C = sum mu - 1 + loss, and the same best words (section 1)."""
    routing = optimize(servers(), "routing")
    template = optimize(pages({"exponential": {"mean": 1.0}}), "template")
    assert routing.decision["period"] == template.decision["template"] == [0, 2, 1, 2]
    assert routing.cost == pytest.approx(0.04996141975308642, abs=1e-14)
    assert template.cost == pytest.approx(6 - 1 + routing.cost, rel=1e-13)
    assert (routing.measure, template.measure) == (
        "preemption_probability",
        "weighted_obsolescence",
    )


@pytest.mark.parametrize("arrivals", ["mmpp", "map"])
def test_the_cost_is_what_the_written_scenario_does(arrivals: str) -> None:
    process = {"mmpp": MMPP2, "map": MAP3}[arrivals]
    entry = {arrivals: process.model_dump(mode="json")}
    asked = {"routing": servers(arrivals=entry), "template": pages(entry, weights=[1.0, 1.0, 5.0])}
    for target, measure in (
        ("routing", "preemption_probability"),
        ("template", "weighted_obsolescence"),
    ):
        found = optimize(asked[target], target)
        rows = predict(asked[target].with_(found.changes))[0]
        exact = [r.value for r in rows if r.measure == measure and r.subject in ("all", None)]
        assert exact[0] == pytest.approx(found.cost, rel=1e-11)  # (6), or section 6
        assert exact[-1] <= found.cost + 1e-12  # the linear bound
        assert found.lower_bound == pytest.approx(found.cost, rel=1e-11)


def test_optimal_in_a_file_is_resolved() -> None:
    scenario = servers()
    assert resolve(scenario) == scenario.with_("servers.routing", {"period": [0, 2, 1, 2]})
    given = scenario.with_("servers.routing", {"period": [0, 1, 2]})
    assert resolve(given) == given


@pytest.mark.parametrize(
    ("scenario", "target", "reason"),
    [
        ("one-robot", "routing", "there are no [servers]"),
        ("one-robot", "template", "there are no [pages]"),
        ("routing-busy-signal", "routing", "a packet that finds its server busy is lost, and"),
        ("pipeline-light", "template", "deliveries wait in a [buffer]"),
    ],
)
def test_what_has_no_best_order_says_why(scenario: str, target: str, reason: str) -> None:
    with pytest.raises(ScenarioError, match="has no exact answer") as error:
        optimize(load(scenario), target)
    assert reason in str(error.value)


def test_more_reasons() -> None:
    two = pages({"exponential": {"mean": 1.0}}).with_("robots.available", 2)
    cases = {
        "2 robots share": (two, "template"),
        "not of phase type": (
            servers(service=[{"deterministic": {"value": 1.0}}], rates=None),
            "routing",
        ),
        "1001 pages": (pages({"exponential": {"mean": 1.0}}, [1.0] * 1001), "template"),
        "1001 servers": (servers(rates=[1.0] * 1001), "routing"),
    }
    for reason, (scenario, target) in cases.items():
        with pytest.raises(ScenarioError, match=reason):
            optimize(scenario, target)


def test_words_that_lock_in_step_are_averaged_and_said_so() -> None:
    """A word of length 3 and arrivals of period 3; cost (6) is the mean over the three starts."""
    entry = {"map": IN_TURN.model_dump(mode="json")}
    found = optimize(servers(rates=[1.0, 2.5], arrivals=entry), "routing")
    assert len(found.decision["period"]) == 3
    assert any("lock in step with a word of 3" in note for note in found.notes)
    paged = optimize(pages(entry, [1.0, 1.0, 1.0]), "template")
    assert any(note.startswith("access times of period 3 lock") for note in paged.notes)
    other = optimize(servers(rates=[1.0, 1.0], arrivals=entry), "routing")
    assert len(other.decision["period"]) == 2
    assert not any("lock in step" in note for note in other.notes)


def test_a_locked_schedule_of_pages_is_refused() -> None:
    entry = {"map": IN_TURN.model_dump(mode="json")}
    scenario = pages(entry).with_("robots.accessing", {"policy": "cyclic", "template": [0, 1, 2]})
    reasons = [each.reason for each in predict(scenario)[1] if "section 6" in each.source]
    assert "access times of period 3 and a schedule of period 3 lock in step: one run" in reasons[0]


# --- the command line ----------------------------------------------------------------------------


def test_optimize_routing_as_a_user_meets_it(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("optimize", "routing-three-servers", "--target", "routing")
    code, out, err = crawlsim(*words, "--out", "best.toml", "--figure", "word.svg")
    assert code == 0
    assert "written: best.toml" in err
    assert out.startswith(
        "routing-three-servers: routing: period = [0, 2, 1, 2], preemption_probability 0.385003, "
    )
    assert "proved: no open-loop order costs less (32 states" in " ".join(out.split())
    assert load("best.toml").servers == load("routing-three-servers").servers
    assert Path("word.svg").read_text().startswith("<?xml")
    _, out, _ = crawlsim(*words, "--json")
    (found,) = json.loads(out)
    assert found["decision"] == {"period": [0, 2, 1, 2]}
    assert found["lower_bound"] == pytest.approx(found["cost"], rel=1e-12)
    assert (found["proved"], found["gap"]) == (True, 0.0)
    *orders, drawn = (row["order"] for row in found["table"])
    assert orders == ["optimum", "as in the file", "improved words", "index policy", "in turn"]
    shares = [float(share) for share in drawn.removeprefix("at random: ").split(", ")]
    assert sum(shares) == pytest.approx(1.0, abs=2e-3)
    assert all(row["above the best, %"] >= 0 for row in found["table"])


def test_large_percentages_are_numbers_too() -> None:
    found = optimize(servers(rates=[1.0] * 8), "routing")
    *_, drawn = found.table
    assert drawn["cost"] > 11 * found.cost
    assert drawn["above the best, %"] == pytest.approx(100 * (drawn["cost"] / found.cost - 1))
    assert found.table[0]["above the best, %"] == 0.0


def test_a_search_in_one_line() -> None:
    assert repr(best_word(losses_at(ARRIVALS[0], [1, 2, 3]))) == (
        "WordSearch(4 slots of 3 servers, cost=0.04996141975, proved)"
    )


def test_optimize_template_as_a_user_meets_it(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("optimize", "cyclic-constant", "--target", "template")
    code, out, _ = crawlsim(
        *words, "--out", "best.toml", "--set", "robots.accessing.policy=whittle"
    )
    assert code == 0
    assert "template = [0, 1, 0, 2, 0, 1, 0, 3], weighted_obsolescence 0.406745" in out
    _, out, _ = crawlsim("solve", "best.toml", "--json")
    rows = [r for r in json.loads(out)[0]["predictions"] if r["measure"] == "weighted_obsolescence"]
    exact = [row["value"] for row in rows if row["kind"] == "exact"]
    assert exact == pytest.approx([0.406744744], abs=1e-9)
    assert all(row["value"] <= exact[0] for row in rows)


def test_every_command_says_which_routing_it_took(crawlsim: Any) -> None:
    words = ("solve", "routing-three-servers", "--set", 'servers.routing="optimal"')
    code, out, err = crawlsim(*words)
    assert code == 0
    assert 'servers.routing = "optimal" is period = [0, 2, 1, 2]' in err
    assert "lower bound" in out


def test_a_sweep_says_which_routing_each_point_took(crawlsim: Any, tmp_path: Path) -> None:
    words = ["sweep", "routing-two-servers", "--set", 'servers.routing="optimal"']
    words += ["--vary", "servers.rates=[1.0,2.0],[1.0,3.0],[1.0,9.5]", "--replications", "2"]
    code, _, _ = crawlsim(*words, "--set", "run.horizon=2000.0", "--out", str(tmp_path / "out"))
    assert code == 0
    text = (tmp_path / "out" / "sweep.csv").read_text()
    for period in ("[0, 1]", "[0, 1, 1]", "[0, 1, 1, 1, 1]"):
        assert f"period = {period}" in text


# --- simulated -----------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.statistical
def test_dependent_access_times_agree_and_independent_ones_would_not() -> None:
    """The false-alarm rate is 1e-3; a template with two pages exchanged is refuted."""
    entry = {"mmpp": {"Q": [[-0.1, 0.1], [0.2, -0.2]], "rates": [0.5, 4.0]}}
    scenario = pages(entry, [0.1, 0.2, 0.6]).with_(
        {
            "robots.accessing": {"policy": "cyclic", "template": [0, 2, 1, 2]},
            "run": {"horizon": 80000.0, "warmup": 100.0, "replications": 40, "seed": 5},
        }
    )
    found = sim.run(scenario)
    assert overall(compare(predict(scenario)[0], found)) == "agrees"
    for error in (
        {"robots.accessing.template": [2, 0, 1, 0]},
        {"robots.access_time": {"exponential": {"rate": 5 / 3}}},  # the same mean
    ):
        wrong = predict(scenario.with_(error))[0]
        assert overall(compare(wrong, found)) == "disagrees"


@pytest.mark.parametrize(
    ("rates", "gap", "best"),
    [
        ([0.1, 800.0, 900.0], {"deterministic": {"value": 1.0}}, 1),
        ([0.5, 800.0, 0.7], {"deterministic": {"value": 1.0}}, 1),
        ([0.5, 0.7, 800.0], {"uniform": {"low": 1.0, "high": 2.0}}, 2),
    ],
)
def test_a_server_that_loses_nothing_to_the_last_bit_takes_all_packets(
    rates: list[float], gap: dict[str, Any], best: int
) -> None:
    scenario = scenario_from(
        {
            "name": "fast",
            "servers": {"rates": rates, "arrivals": {"renewal": gap}, "routing": "optimal"},
        }
    )
    found = optimize(scenario, "routing")
    assert found.decision == {"period": [best]}
    assert (found.cost, found.lower_bound) == (0.0, 0.0)


def test_caps_do_not_depend_on_errors_of_rounding() -> None:
    shares = 1.0 / np.arange(1, 30)
    for near in (shares, np.nextafter(shares, 0.0), np.nextafter(shares, 1.0)):
        caps = _first_caps(LinearBound(0.0, near, 0.0), 100)
        assert caps == tuple(range(2, 31))
