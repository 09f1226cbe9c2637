"""Lists and draws of pages before waiting pages with timers: against chains written down here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pipelines import BASE, HYPER, LISTED, ONE, TIMED

from analytic.index.accesses import time_per_access
from analytic.indexing_queue import chain_of, solve_chain
from analytic.indexing_queue.one_robot import queue_of_one_robot
from analytic.pipeline import exact_method
from analytic.pipeline.marked_copies import (
    _ageing,
    _changing,
    freshness_of_marked,
    freshness_of_shared_marked,
    marked_age,
    marked_queue,
    marked_rate,
    shared_marked,
    steps_of,
)
from analytic.pipeline.patience import counted_ages, counted_slopes, old_and_new
from analytic.pipeline.periodic_lists import fetching, freshness_of_one_robot
from scenarios import Scenario, scenario_from
from scenarios.laws import PhaseType

TIMERS = {
    "buffer.obsolescence": {"phase-type": {"alpha": [0.3, 0.7], "T": [[-3.0, 1.0], [0.0, -0.6]]}}
}
ERLANG = {"robots.access_time": {"erlang": {"shape": 2, "mean": 0.9}}}
SMALL = {"buffer.waiting_places": 3}


def changed(*changes: dict[str, Any]) -> Scenario:
    scenario = scenario_from(BASE)
    for each in changes:
        scenario = scenario.with_(each)
    return scenario


# --- a chain of fresh and stale copies, as they are -----------------------------------------------

State = tuple[int, int, int, tuple[tuple[int, int], ...], bool]
"""Next slot; phase of the access; what is served: -1 nothing, 0 another page, 1 a fresh copy; of
each waiting page whether it is a fresh copy, and the phase of its timer; whether the index is
fresh."""


class Chain:
    """One robot with Erlang accesses that follows a list; exponential services."""

    def __init__(self, slots: list[int], capacity: int, timer: PhaseType, change: float) -> None:
        self.slots = slots
        self.capacity = capacity
        self.timer = timer
        self.change = change
        self.phases = 2
        self.pace = self.phases / 0.9

    def moves(self, state: State) -> Iterator[tuple[float, State]]:
        slot, access, served, waiting, fresh = state
        T = np.array(self.timer.T)
        old = tuple((0, phase) for _, phase in waiting)
        yield self.change, (slot, access, min(served, 0), old, False)
        if served >= 0:
            now = fresh or served == 1
            following = waiting[0][0] if waiting else -1
            yield 1.0, (slot, access, following, waiting[1:], now)
        for place, (mark, phase) in enumerate(waiting):
            before, after = waiting[:place], waiting[place + 1 :]
            yield -float(T[phase].sum()), (slot, access, served, before + after, fresh)
            for other in {*range(len(T))} - {phase}:
                moved = (*before, (mark, other), *after)
                yield float(T[phase, other]), (slot, access, served, moved, fresh)
        if access + 1 < self.phases:
            yield self.pace, (slot, access + 1, served, waiting, fresh)
            return
        mark = self.slots[slot]
        slot = (slot + 1) % len(self.slots)
        if served < 0:
            yield self.pace, (slot, 0, mark, (), fresh)
        elif len(waiting) + 1 == self.capacity:
            yield self.pace, (slot, 0, served, waiting, fresh)
        else:
            for phase, share in enumerate(self.timer.alpha):
                yield self.pace * share, (slot, 0, served, (*waiting, (mark, phase)), fresh)

    def stale(self) -> float:
        """The share of time in which the index is out of date."""
        place: dict[State, int] = {(0, 0, -1, (), True): 0}
        new = list(place)
        rates = []
        for state in new:
            for rate, after in self.moves(state):
                if after not in place:
                    place[after] = len(place)
                    new.append(after)
                rates.append((place[state], place[after], rate))
        generator = np.zeros((len(place), len(place)))
        for row, column, rate in rates:
            generator[row, column] += rate
            generator[row, row] -= rate
        system = np.vstack([generator.T, np.ones(len(place))])
        p = np.linalg.lstsq(system, np.append(np.zeros(len(place)), 1.0), rcond=None)[0]
        return float(sum(p[number] for state, number in place.items() if not state[-1]))


@pytest.mark.by_day("1")
@pytest.mark.parametrize("waiting", [1, 2])
def test_every_copy_that_waits_fresh_or_stale(waiting: int) -> None:
    """The index is out of date as often as in the stationary chain of all labels."""
    timer = PhaseType(alpha=(0.3, 0.7), T=((-3.0, 1.0), (0.0, -0.6)))
    listed = {"robots.accessing": {"policy": "cyclic", "template": [0, 1, 0, 2, 3, 4]}}
    scenario = changed(ONE, ERLANG, listed, TIMERS, {"buffer.waiting_places": waiting})
    method = exact_method(scenario)
    assert method is not None
    assert method.name == "one robot, timers"
    found = method.rates(scenario)
    for page in (0, 2):
        slots = [int(each == page) for each in [0, 1, 0, 2, 3, 4]]
        chain = Chain(slots, waiting + 1, timer, BASE["pages"]["change_rates"][page])
        assert found[page] == pytest.approx(chain.stale(), rel=1e-10)


# --- against the other methods --------------------------------------------------------------------


@pytest.mark.parametrize("timers", [TIMED, TIMERS])
@pytest.mark.parametrize("access", [ONE, ONE | ERLANG])
def test_drawn_pages_are_those_of_old_and_new_ones(timers: Any, access: Any) -> None:
    """Pages counted as old and new, or followed with a mark each: rates and ages."""
    scenario = changed(access, timers, SMALL)
    counted = old_and_new(chain_of(scenario)), solve_chain(chain_of(scenario)).stationary
    pages = scenario.model.pages
    assert pages is not None
    shares = np.array(BASE["robots"]["accessing"]["frequencies"])
    found = freshness_of_marked(scenario)
    expected = counted_slopes(*counted, pages.change_rates, shares).rates
    assert found.rates() == pytest.approx(expected, rel=1e-10)
    assert found.ages() == pytest.approx(counted_ages(*counted, shares), rel=1e-10)


@pytest.mark.by_day("timers0")
@pytest.mark.parametrize("timers", [TIMED, TIMERS])
def test_a_list_is_followed_in_two_ways(timers: Any) -> None:
    """Exponential accesses: from access to access, and with the slot as a phase."""
    service = {"buffer.service": HYPER}
    scenario = changed(LISTED, ONE, timers, SMALL, service)
    one, shared = freshness_of_marked(scenario), freshness_of_shared_marked(scenario)
    assert one.rates() == pytest.approx(shared.rates(), rel=1e-10)
    assert one.ages()[:4] == pytest.approx(shared.ages()[:4], rel=1e-9)


@pytest.mark.by_day(besides=("rule1-pareto", "rule1-lognormal"))
@pytest.mark.parametrize(
    "access",
    [
        {"deterministic": {"value": 0.9}},
        {"gamma": {"shape": 0.5, "mean": 0.9}},
        {"lognormal": {"mean": 0.9, "sd": 2.0}},
        {"pareto": {"shape": 2.5, "mean": 0.9}},
    ],
    ids=lambda law: next(iter(law)),
)
@pytest.mark.parametrize("rule", [{"static": 1}, {"threshold": {"robots": [1, 0], "at": [1]}}])
def test_timers_that_never_end_are_none(access: Any, rule: Any) -> None:
    """The method without marks, whose transforms are other ones."""
    plain = changed(LISTED, ONE, SMALL, {"robots.access_time": access, "activation": rule})
    slow = plain.with_("buffer.obsolescence", {"exponential": {"rate": 1e-13}})
    known, found = freshness_of_one_robot(plain), freshness_of_marked(slow)
    assert found.rates() == pytest.approx(known.rates(), rel=1e-9)
    assert found.ages() == pytest.approx(known.ages(), rel=1e-7)


def test_a_robot_that_is_heard_up_to_a_level_and_whose_draws_fail() -> None:
    """Exponential accesses, of which some fail, are slower ones."""
    heard = {"activation": {"threshold": {"robots": [1, 0], "at": [1]}}}
    failing = {"robots.failure": {"probability": 0.25}}
    slower = {"robots.access_time": {"exponential": {"mean": 1.2}}}
    found = freshness_of_marked(changed(ONE, TIMED, SMALL, heard, failing)).rates()
    same = changed(ONE, TIMED, SMALL, heard, slower)
    assert found == pytest.approx(freshness_of_marked(same).rates(), rel=1e-10)
    counted = old_and_new(chain_of(same)), solve_chain(chain_of(same)).stationary
    shares = np.array(BASE["robots"]["accessing"]["frequencies"])
    changes = np.array(BASE["pages"]["change_rates"])
    assert found == pytest.approx(counted_slopes(*counted, changes, shares).rates, rel=1e-10)


def test_fewer_marks_give_bounds() -> None:
    """Of one page on a short list, of which up to five copies wait at once."""
    listed = {"robots.accessing": {"policy": "cyclic", "template": [3, 0, 3, 1, 2]}}
    scenario = changed(
        listed, ONE, TIMED, {"robots.access_time": {"deterministic": {"value": 0.5}}}
    )
    delivered = queue_of_one_robot(scenario)
    slots = np.array([1.0, 0.0, 1.0, 0.0, 0.0])
    found = []
    for marks in range(1, 6):
        queue = marked_queue(delivered.chain, marks)
        parts = delivered, queue, steps_of(queue), slots
        found.append([marked_rate(*parts, 0.4), marked_age(*parts)])
    lows, highs = np.moveaxis(np.array(found), 2, 0)
    assert highs[-1] == pytest.approx(lows[-1], rel=1e-12)
    assert np.all(np.diff(lows, axis=0) > 0)
    assert np.all(np.diff(highs, axis=0) < 0)


def test_fewer_marks_give_bounds_of_shared_lists() -> None:
    """Two robots, and again up to five copies of one page."""
    scenario = changed(TIMED, {"robots.available": 2, "activation": None})
    chain = chain_of(scenario)
    service, stationary = chain.service, solve_chain(chain).stationary
    shared = fetching(np.array([True, False, True, False]), 2)
    pace = 1.0 / time_per_access(scenario)
    found = []
    for marks in range(1, 6):
        of = marked_queue(chain, marks), stationary, shared, pace
        measures = _changing(service, 0.4), _ageing(service)
        found.append([shared_marked(*of, each) for each in measures])
    lows, highs = np.moveaxis(np.array(found), 2, 0)
    assert highs[-1] == pytest.approx(lows[-1], rel=1e-12)
    assert np.all(np.diff(lows, axis=0) > 0)
    assert np.all(np.diff(highs, axis=0) < 0)


@pytest.mark.thorough
def test_a_list_before_twenty_places() -> None:
    """The age of a page that is fetched seldom, nearly that of an unlimited buffer; few marks."""
    template = {"robots.accessing": {"policy": "round-robin"}}
    few = {"buffer.waiting_places": 7}
    many = {"buffer.waiting_places": 20}
    short, long = (changed(template, ONE, ERLANG, TIMED, each) for each in (few, many))
    values = [exact_method(each) for each in (short, long)]
    assert [method.name for method in values if method] == ["one robot, timers"] * 2
    rates = [
        method.rates(each) for method, each in zip(values, (short, long), strict=True) if method
    ]
    assert rates[0] == pytest.approx(rates[1], rel=1e-3)
    assert rates[0] != pytest.approx(rates[1], rel=1e-9)


def test_large_buffers_are_refused_by_their_number_of_states() -> None:
    large = changed(LISTED, ONE, TIMERS, {"buffer.waiting_places": 20})
    assert exact_method(large) is None
