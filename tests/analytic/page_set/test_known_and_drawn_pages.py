"""Pages that come and go: the formulas against chains written out in full, limits, and runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from scipy.integrate import quad

import sim
from analytic import predict
from analytic.machinery.refusal import NoAnswerError
from analytic.page_set import (
    becoming_known,
    drawn_pages,
    known_share,
    list_relaxation,
    many_pages,
    only_grows,
)
from analytic.verdicts.crosscheck import compare, overall
from scenarios import Scenario, load, scenario_from
from scenarios.laws import Deterministic, Erlang, Exponential, Uniform

State = tuple[int, int, str, int, bool]
"""Living and vanished pages on the list, what the robot is at work on, copies that are up to date
of the living pages apart from that one, and whether its own is."""

MOST = 7


def after(state: State, rates: tuple[float, float, float, float]) -> Iterator[tuple[State, float]]:
    """Where a list of few pages goes from a state, and how fast: the rules, one by one."""
    known, death, change, access = rates
    live, dead, target, fresh, own = state
    others = live - (target == "live")
    if live < MOST:
        yield (live + 1, dead, target, fresh, own), known
    if dead < MOST and live > 0:
        yield (live - 1, dead + 1, target, fresh - 1, own), death * fresh
        yield (live - 1, dead + 1, target, fresh, own), death * (others - fresh)
        if target == "live":
            yield (live - 1, dead + 1, "dead", fresh, False), death
    yield (live, dead, target, fresh - 1, own), change * fresh
    yield (live, dead, target, fresh, False), change * own
    fetched, removed = target == "live", target == "dead"
    for next_state, share in drawn(live, dead - removed, fresh + fetched):
        yield next_state, access * share


def drawn(live: int, dead: int, fresh: int) -> Iterator[tuple[State, float]]:
    """The robot draws one of the listed pages."""
    listed = live + dead
    if not listed:
        yield (0, 0, "none", 0, False), 1.0
        return
    yield (live, dead, "live", fresh - 1, True), fresh / listed
    yield (live, dead, "live", fresh, False), (live - fresh) / listed
    yield (live, dead, "dead", fresh, False), dead / listed


def written_out(*rates: float) -> dict[str, float]:
    """Means of the chain with every state written out, solved as a dense system."""
    number: dict[State, int] = {(0, 0, "none", 0, False): 0}
    moves = []
    waiting = list(number)
    while waiting:
        state = waiting.pop()
        for end, rate in after(state, rates):  # type: ignore[arg-type]
            if rate > 0:
                if end not in number:
                    number[end] = len(number)
                    waiting.append(end)
                moves.append((number[state], number[end], rate))
    generator = np.zeros((len(number), len(number)))
    for begin, end, rate in moves:
        generator[begin, end] += rate
        generator[begin, begin] -= rate
    system = np.vstack([generator.T, np.ones(len(number))])
    p = np.linalg.lstsq(system, np.append(np.zeros(len(number)), 1.0), rcond=None)[0]

    def mean(value: Any) -> float:
        return float(sum(p[n] * value(state) for state, n in number.items()))

    to_page = mean(lambda s: s[2] != "none")
    return {
        "live": mean(lambda s: s[0]),
        "dead": mean(lambda s: s[1]),
        "fresh": mean(lambda s: s[3] + s[4]),
        "wasted": mean(lambda s: s[2] == "dead") / to_page,
    }


@pytest.mark.by_day(besides=("rates1", "rates2"))
@pytest.mark.parametrize("rates", [(0.1, 0.6, 0.3, 2.0), (0.15, 0.9, 0.0, 1.1), (0.2, 1.0, 4.0, 3)])
def test_the_chain_is_that_of_all_states_written_out(rates: tuple[float, ...]) -> None:
    """Of so few pages that more than seven are as good as impossible."""
    expected = written_out(*rates)
    found = drawn_pages(*rates)
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, rel=2e-5), name
    without_changes = written_out(rates[0], rates[1], 0.0, rates[3])
    assert found.indexed == pytest.approx(without_changes["fresh"], rel=2e-5)


@settings(max_examples=examples(15))
@given(st.floats(0.05, 0.8), st.floats(0.05, 2.0), st.floats(0.0, 3.0), st.floats(1.0, 5.0))
def test_copies_are_fewer_than_pages_and_pages_found_gone_are_those_that_came(
    known: float, death: float, change: float, access: float
) -> None:
    found = drawn_pages(known, death, change, access)
    assert found.live == pytest.approx(known / death, rel=1e-8)
    assert 0 < found.fresh <= found.indexed <= found.live
    if change == 0:
        assert found.fresh == pytest.approx(found.indexed, rel=1e-9)
    assert found.wasted * access >= known * (1 - 1e-8)  # some accesses are to no page


def test_shares_of_many_pages_come_near_their_limit_at_the_rate_of_one_over_their_number() -> None:
    off = []
    for size in (5.0, 10.0, 20.0):
        found = drawn_pages(0.05 * size, 0.05, 0.1, 0.15 * size)
        limit = many_pages(0.05 * size, 0.05, 0.1, 0.15 * size)
        off.append([found.fresh / limit.fresh - 1, found.dead / limit.dead - 1])
    first, second, third = np.abs(off)
    assert np.all((second / first > 0.4) & (second / first < 0.6))
    assert np.all((third / second > 0.4) & (third / second < 0.6))


def test_what_the_robots_cannot_keep_up_with_or_nobody_can_solve_is_refused() -> None:
    with pytest.raises(NoAnswerError, match="the list only grows"):
        drawn_pages(1.0, 0.1, 0.1, 1.0)
    with pytest.raises(NoAnswerError, match="the list only grows"):
        many_pages(0.6, 0.1, 0.1, 1.0, at_once=True)
    with pytest.raises(NoAnswerError, match=r"about \d+ states; at most 100000"):
        drawn_pages(10.0, 0.01, 0.1, 20.0)


@pytest.mark.parametrize(
    ("lifetime", "delay"),
    [
        (Exponential(mean=8.0), Erlang(shape=3, mean=5.0)),
        (Exponential(mean=8.0), Uniform(low=1.0, high=6.0)),
        (Erlang(shape=2, mean=8.0), Exponential(mean=5.0)),
        (Uniform(low=2.0, high=9.0), Exponential(mean=5.0)),
        (Exponential(mean=8.0), Exponential(mean=5.0)),
    ],
)
def test_pages_that_become_known_by_integration(lifetime: Any, delay: Any) -> None:
    """P(T < X) and E (X - T)+ as integrals over the survival functions."""
    survival = {law: _survival(law) for law in (lifetime, delay)}
    until = 400.0
    known = 1 - _integral(lambda t: _density(lifetime, t) * survival[delay](t), until)
    time = _integral(lambda t: survival[lifetime](t) * (1 - survival[delay](t)), until)
    mean = _integral(survival[lifetime], until)
    assert becoming_known(2.0, lifetime, delay) == pytest.approx(2.0 * known, rel=1e-6)
    assert known_share(lifetime, delay) == pytest.approx(time / mean, rel=1e-6)


def _integral(function: Any, until: float) -> float:
    edges = [0.0, 1.0, 2.0, 6.0, 9.0, 30.0, 100.0, until]
    parts = (quad(function, a, b, limit=200)[0] for a, b in itertools.pairwise(edges))
    return float(sum(parts))


def _survival(law: Any) -> Any:
    if isinstance(law, Exponential):
        return lambda t: np.exp(-t / law.mean)
    if isinstance(law, Uniform):
        return lambda t: float(np.clip((law.high - t) / (law.high - law.low), 0.0, 1.0))
    rate = law.shape / law.mean
    terms = range(law.shape)
    return lambda t: np.exp(-rate * t) * sum(_power(rate * t, n) for n in terms)


def _power(x: float, n: int) -> float:
    return float(x**n / np.prod(np.arange(1, n + 1)))


def _density(law: Any, t: float) -> float:
    if isinstance(law, Exponential):
        return float(np.exp(-t / law.mean) / law.mean)
    if isinstance(law, Uniform):
        return float((law.low <= t <= law.high) / (law.high - law.low))
    rate = law.shape / law.mean
    return float(rate * np.exp(-rate * t) * _power(rate * t, law.shape - 1))


# --- conditions, and runs -----------------------------------------------------------------------


def page_set(changes: dict[str, Any] | None = None) -> Scenario:
    """Few pages, so that the chain is small and far from its limit."""
    base = scenario_from(
        {
            "name": "few",
            "page_set": {
                "birth_rate": 0.5,
                "lifetime": {"exponential": {"mean": 10.0}},
                "change_rate": 0.1,
                "discovery": {"exponential": {"mean": 4.0}},
            },
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0}},
                "accessing": {"policy": "randomized"},
            },
            "run": {"horizon": 20000.0, "warmup": 500.0, "replications": 20},
        }
    )
    return base.with_(changes) if changes else base


@pytest.mark.parametrize(
    ("changes", "number", "reason"),
    [
        ({"robots.available": 2}, "drawn pages", "2 robots share the sequence of pages"),
        ({"robots.accessing.policy": "round-robin"}, "drawn pages", "in turn, not drawn"),
        ({"page_set.lifetime.erlang": {"shape": 2, "mean": 10.0}}, "drawn pages", "not exponen"),
        ({"robots.access_time.deterministic.value": 1.0}, "drawn pages", "access times are not"),
        ({"page_set.first_access": "at-once"}, "drawn pages", "new pages are fetched at once"),
        ({"page_set.first_access": "in-turn"}, "many pages, first accesses at once", "their turn"),
        ({"page_set.birth_rate": 2.0}, "pages found gone", "the list only grows"),
        (
            {
                "page_set.lifetime.erlang": {"shape": 2, "mean": 10.0},
                "page_set.discovery.deterministic.value": 4.0,
            },
            "known pages",
            "neither lifetimes nor the delays until pages are known are exponential",
        ),
    ],
)
def test_what_a_formula_does_not_cover_it_says(
    changes: dict[str, Any], number: str, reason: str
) -> None:
    _, others = predict(page_set(changes))
    (said,) = [each.reason for each in others if each.source == f"page-sets {number}"]
    assert reason in said


def test_a_list_that_only_grows_is_known_as_such() -> None:
    assert not only_grows(page_set())
    assert only_grows(page_set({"page_set.birth_rate": 2.0}))
    assert list_relaxation(page_set({"page_set.birth_rate": 2.0})) is None
    load_ = 0.5 / 1.4
    expected = 10.0 * load_ / (1 - load_) ** 2
    assert list_relaxation(page_set()) == pytest.approx(expected, rel=1e-9)


CORRECT = {
    "drawn": {},
    "drawn, constant delays": {"page_set.discovery": {"deterministic": {"value": 5.0}}},
    "drawn, known at birth": {"page_set.discovery": "at-birth", "page_set.birth_rate": 0.3},
    "in turn": {"robots.accessing.policy": "round-robin"},
    "in turn, at once": {
        "robots.accessing.policy": "round-robin",
        "page_set.first_access": "at-once",
    },
    "lifetimes that vary less": {
        "page_set.lifetime": {"erlang": {"shape": 3, "mean": 10.0}},
        "robots.access_time": {"deterministic": {"value": 1.0}},
        "robots.accessing.policy": "round-robin",
    },
}


@pytest.mark.statistical
@pytest.mark.parametrize("changes", CORRECT.values(), ids=CORRECT)
def test_simulation_and_formulas_agree(changes: dict[str, Any]) -> None:
    """One false alarm in a thousand for each system; errors of 3 % would be seen in every share."""
    scenario = page_set(changes)
    rows = [
        row
        for row in compare(predict(scenario)[0], sim.run(scenario))
        if row.verdict != "not judged"
    ]
    assert {"known_share", "wasted_rate", "existing_pages"} <= {row.measure for row in rows}
    assert overall(rows) != "disagrees"
    assert max(row.detectable or 0.0 for row in rows) < 0.03


WRONG = {
    "births": {"page_set.birth_rate": 0.53},
    "lifetimes": {"page_set.lifetime.exponential.mean": 10.6},
    "changes": {"page_set.change_rate": 0.11},
    "delays": {"page_set.discovery.exponential.mean": 4.4},
    "accesses": {"robots.access_time.exponential.mean": 1.06},
    "order": {"robots.accessing.policy": "round-robin"},
    "first accesses": {"page_set.first_access": "at-once"},
    "law of the accesses": {"robots.access_time": {"deterministic": {"value": 1.0}}},
}


@pytest.mark.statistical
@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_another_system_is_told_apart(changes: dict[str, Any]) -> None:
    """Predictions of one system, a run of another: each of these errors is seen."""
    rows = compare(predict(page_set())[0], sim.run(page_set(changes)))
    assert overall(rows) == "disagrees"


def test_the_library_says_that_first_accesses_at_once_pay() -> None:
    """Without noise worth mentioning: 35 % fresh in turn, 55 % at once."""
    scenario = load("template-per-cycle").with_("run.replications", 4)
    fresh = {
        first: sim.run(scenario.with_("page_set.first_access", first)).find("fresh_share").estimate
        for first in ("in-turn", "at-once")
    }
    assert fresh["in-turn"] == pytest.approx(0.348, abs=0.01)
    assert fresh["at-once"] == pytest.approx(0.549, abs=0.01)


def test_a_constant_lifetime_is_covered_where_delays_are_exponential() -> None:
    lifetime, delay = Deterministic(value=10.0), Exponential(mean=4.0)
    assert becoming_known(1.0, lifetime, delay) == pytest.approx(1 - np.exp(-2.5))
