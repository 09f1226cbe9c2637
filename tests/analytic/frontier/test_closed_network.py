"""Pages that fall due: the closed network against a chain, exact arithmetic and simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import sim
from analytic import compare, overall, predict
from analytic.frontier import alone_obsolescence, closed_network_obsolescence, formulas
from analytic.frontier.closed_network import (
    Network,
    found_when_due,
    mean_waits,
    time_until_first,
    wait_quantile,
    with_other_accesses,
)
from analytic.frontier.formulas import closed_network_delays
from scenarios import Results, scenario_from
from scenarios.laws import Deterministic, Erlang, Exponential

INTERVALS = np.array([1.0, 2.0, 3.0, 1.5, 4.0])
CHANGES = np.array([0.5, 0.3, 0.2, 1.0, 0.1])

QUANTILE = "frontier_delay_quantile"

FRONTIER: dict[str, Any] = {
    "name": "frontier",
    "pages": {"change_rates": CHANGES.tolist(), "weights": "uniform"},
    "robots": {
        "available": 2,
        "access_time": {"exponential": {"mean": 1.0}},
        "accessing": {"policy": "due", "intervals": INTERVALS.tolist()},
    },
    "run": {"horizon": 4000.0, "warmup": 100.0, "replications": 20, "seed": 5},
}


def network_of(intervals: Any, robots: int, rate: float) -> tuple[Network, Any]:
    kinds, of_page, counts = np.unique(intervals, return_inverse=True, return_counts=True)
    return Network(kinds, counts, robots, rate), of_page


def waits_of(intervals: Any, robots: int, rate: float = 1.0) -> Any:
    network, of_page = network_of(intervals, robots, rate)
    return mean_waits(found_when_due(network))[of_page]


def test_the_waits_that_were_simulated() -> None:
    """From the issue, to its five digits: 45 numbers beside a simulation, largest |z| 2.2."""
    one = [1.90943, 2.14144, 2.27879, 2.04386, 2.37367]
    two = [0.25437, 0.32084, 0.36308, 0.29134, 0.39163]
    np.testing.assert_allclose(waits_of(INTERVALS, 1), one, atol=6e-6)
    np.testing.assert_allclose(waits_of(INTERVALS, 2), two, atol=6e-6)
    stale = closed_network_obsolescence(CHANGES, INTERVALS, 2, Exponential(mean=1.0))
    expected = [0.43727, 0.38607, 0.34467, 0.67476, 0.23414]
    np.testing.assert_allclose(stale, expected, atol=6e-6)


State = tuple[tuple[int, ...], tuple[int, ...]]
"""The pages at the robots in the order in which they fell due; the phase of each other page."""


Rates = dict[tuple[int, State], float]
"""Of a page, and the state that it leaves: how often it is delivered, or falls due."""


def chain_of_orders(
    intervals: Sequence[float], robots: int, rate: float, phases: int
) -> tuple[Rates, Rates]:
    """Deliveries of pages per unit time, of intervals with so many phases each, and falls due.

    From the words of the model: every page by itself, in a chain of all orders.
    """
    pages = len(intervals)
    index: dict[State, int] = {}
    states: list[State] = []

    def number(state: State) -> int:
        if state not in index:
            index[state] = len(states)
            states.append(state)
        return index[state]

    start = number(((), (0,) * pages))
    moves: list[tuple[int, int, float]] = []
    delivering: list[tuple[int, int, float]] = []
    joining: list[tuple[int, int, float]] = []
    for place, (line, phase) in enumerate(states):  # which grows meanwhile
        for served in line[:robots]:
            left = tuple(each for each in line if each != served)
            moves.append((place, number((left, phase)), rate))
            delivering.append((place, served, rate))
        for page in set(range(pages)) - set(line):
            speed = phases / intervals[page]
            following = (phase[page] + 1) % phases
            on = (*phase[:page], following, *phase[page + 1 :])
            joined = line if following else (*line, page)
            moves.append((place, number((joined, on)), speed))
            if not following:
                joining.append((place, page, speed))
    assert start == 0
    size = len(states)
    generator = np.zeros((size, size))
    for origin, target, speed in moves:
        generator[origin, target] += speed
    generator -= np.diag(generator.sum(axis=1))
    system = np.vstack([generator.T, np.ones(size)])
    law = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    delivered, due = (
        {(page, states[place]): speed * float(law[place]) for place, page, speed in events}
        for events in (delivering, joining)
    )
    return delivered, due


def rates_of_pages(*system: Any) -> Any:
    """Deliveries of each page per unit time."""
    found = np.zeros(len(system[0]))
    for (page, _), rate in chain_of_orders(*system)[0].items():
        found[page] += rate
    return found


@pytest.mark.parametrize(
    ("intervals", "robots", "rate", "phases"),
    [
        ([1.0, 2.0, 3.0], 1, 1.0, 1),
        ([1.0, 2.0, 3.0], 2, 0.6, 3),
        ([0.3, 0.3, 4.0, 1.1], 1, 1.7, 1),
        ([0.3, 0.9, 4.0, 1.1], 3, 0.5, 1),
    ],
)
def test_a_chain_of_all_orders_has_the_same_rates(
    intervals: list[float], robots: int, rate: float, phases: int
) -> None:
    """Intervals of one or several phases stand for constant ones: their law does not matter."""
    waits = waits_of(intervals, robots, rate)
    expected = rates_of_pages(intervals, robots, rate, phases)
    np.testing.assert_allclose(1.0 / (intervals + waits + 1.0 / rate), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("intervals", "robots", "rate", "phases"),
    [([0.5, 2.0, 0.7], 1, 1.0, 1), ([1.0, 2.0, 3.0], 2, 0.6, 3), ([0.3, 0.9, 4.0, 1.1], 1, 0.5, 1)],
)
def test_quantiles_are_those_of_the_chain_of_all_orders(
    intervals: list[float], robots: int, rate: float, phases: int
) -> None:
    """A page waits while robots end one access after another, all those before it but R - 1.

    The chain gives how many it finds, and a chain of its own how long they last.
    """
    due = chain_of_orders(intervals, robots, rate, phases)[1]
    most = len(intervals)
    leaving = robots * rate * (np.eye(most, k=-1) - np.eye(most))
    leaving[0] = 0.0
    shares = (0.3, 0.6, 0.9, 0.999)
    law = Exponential(mean=1.0 / rate)
    of_all, of_each = closed_network_delays(intervals, robots, law, shares)
    for pages, quantiles in (
        *[({page}, of_each[page]) for page in range(most)],
        (set(range(most)), of_all),
    ):
        ahead = np.zeros(most)
        for (page, (line, _)), often in due.items():
            ahead[max(len(line) - robots + 1, 0)] += often * (page in pages)
        ahead /= ahead.sum()
        for share, time in zip(shares, quantiles.tolist(), strict=True):
            over = float((ahead @ expm(leaving * time))[0])
            assert over == pytest.approx(share, abs=1e-9) if time else over >= share - 1e-9


@pytest.mark.thorough
def test_quantiles_of_the_waits_have_the_mean_that_is_known() -> None:
    """The mean is the integral of the quantiles over the shares."""
    shares = ((np.arange(4000) + 0.5) / 4000).tolist()
    _, of_each = closed_network_delays(INTERVALS, 1, Exponential(mean=1.0), shares)
    np.testing.assert_allclose(of_each.mean(axis=1), waits_of(INTERVALS, 1), rtol=1e-3)
    assert (np.diff(of_each, axis=1) >= 0.0).all()


def test_quantiles_of_many_pages_behind_few_robots() -> None:
    """A backlog of some thousands: nearly normal, and the scale of time does not matter."""
    intervals = np.repeat([10.0, 20.0, 30.0], 1000)
    law = Exponential(mean=1.0)
    of_all, of_each = closed_network_delays(intervals, 20, law, [0.5, 0.9])
    assert of_each[0, 0] == pytest.approx(waits_of(intervals, 20)[0], rel=1e-3)
    assert of_each[:, 0].min() <= of_all[0] <= of_each[:, 0].max()
    slower = closed_network_delays(intervals * 1e6, 20, Exponential(mean=1e6), [0.5, 0.9])
    np.testing.assert_allclose(slower[0], of_all * 1e6, rtol=1e-9)


def test_with_a_robot_for_each_page_nobody_ever_waits() -> None:
    changes = {"robots.available": 5, "robots.accessing.delay_quantiles": [0.5, 0.99]}
    changes["robots.access_time"] = {"uniform": {"low": 0.5, "high": 2.0}}
    predictions, _ = predict(scenario_from(FRONTIER).with_(changes))
    values = {row.subject: row.value for row in predictions if row.measure == QUANTILE}
    names = [f"{page} {share}" for page in range(5) for share in (0.5, 0.99)]
    assert values == dict.fromkeys(["0.5", "0.99", *names], 0.0)
    short = scenario_from(FRONTIER).with_(changes | {"run.horizon": 500.0})
    rows = compare(predictions, sim.run(short, engine="simpy"))
    assert {row.verdict for row in rows if row.measure == QUANTILE} == {"agrees"}


def test_of_other_access_times_no_quantile_is_known() -> None:
    changes = {"robots.access_time": {"deterministic": {"value": 1.0}}}
    changes["robots.accessing.delay_quantiles"] = [0.9]
    predictions, others = predict(scenario_from(FRONTIER).with_(changes))
    assert QUANTILE not in {row.measure for row in predictions}
    (said,) = [each for each in others if each.source == "frontier closed network, quantiles"]
    assert said.reasons == ("access times are not exponential",)


def exact_waits(intervals: Sequence[float], robots: int, rate: float) -> list[float]:
    """Mean wait of each page, with a hundred digits, without normalising anything."""
    with localcontext() as context:
        context.prec = 100
        nu, times = Decimal(rate), [Decimal(each) for each in intervals]
        weights = [Decimal(1)]
        for number in range(1, len(times) + 1):
            weights.append(weights[-1] * number / (nu * min(number, robots)))
        waits = []
        for page in range(len(times)):
            symmetric = [Decimal(1)]
            for time in times[:page] + times[page + 1 :]:
                shifted = [Decimal(0), *(time * each for each in symmetric)]
                symmetric = [
                    one + other
                    for one, other in zip([*symmetric, Decimal(0)], shifted, strict=True)
                ]
            found = [weights[k] * symmetric[len(times) - 1 - k] for k in range(len(times))]
            ahead = sum(each * max(k - robots + 1, 0) for k, each in enumerate(found))
            waits.append(float(ahead / sum(found) / (robots * nu)))
    return waits


@pytest.mark.parametrize("robots", [1, 7])
@pytest.mark.parametrize("rate", [0.02, 1.0, 60.0])
def test_forty_pages_in_exact_arithmetic(robots: int, rate: float) -> None:
    """From robots that hardly ever work to a backlog of nearly all pages."""
    intervals = [*np.geomspace(0.2, 300.0, 20).tolist(), *[7.0] * 20]
    expected = exact_waits(intervals, robots, rate)
    np.testing.assert_allclose(waits_of(intervals, robots, rate), expected, rtol=1e-10, atol=1e-18)


def test_what_waits_and_what_works_follow_from_the_waits_of_all() -> None:
    """Little's law for 20,000 pages, of which one robot in fifty too few makes a backlog."""
    kinds = np.linspace(1.0, 100.0, 50)
    network = Network(kinds, np.full(50, 400), 40, float((400 / kinds).sum() / 40 / 1.02))
    found = found_when_due(network)
    waits = mean_waits(found)
    rates = 400 / (kinds + waits + 1.0 / network.rate)
    assert found.waiting == pytest.approx(float(rates @ waits), rel=1e-10)
    assert found.busy == pytest.approx(float(rates.sum()) / network.rate, rel=1e-10)
    assert found.waiting > network.robots


@pytest.mark.parametrize("interval", [1e-8, 1e-3, 1e3, 1e8])
def test_long_and_short_intervals_are_answered(interval: float) -> None:
    """Of pages that hardly ever fall due nobody waits; of those due at once all but one do."""
    (wait, *_) = waits_of([interval] * 5, 1)
    assert wait == pytest.approx(4.0 if interval < 1 else 0.0, abs=0.01)


@pytest.mark.parametrize("interval", [1e-300, 1e-20, 1e20, 1e99])
def test_others_are_refused_with_a_reason(interval: float) -> None:
    scenario = scenario_from(FRONTIER).with_("robots.accessing.intervals", interval)
    assert predict(scenario)[0] == []
    (said,) = [
        each.reasons for each in predict(scenario)[1] if each.source == "frontier closed network"
    ]
    assert "intervals and access times differ by more than 1e8 times" in said


def test_change_rates_of_any_size_and_other_units_lose_nothing() -> None:
    law = Exponential(mean=1e60)
    stale = closed_network_obsolescence([1e-90, 1e-60, 1e90], [2e60] * 3, 1, law)
    assert stale[2] == pytest.approx(1.0)
    assert 0 < stale[0] < 1e-28


def test_a_robot_for_each_page_is_the_limit() -> None:
    law = Exponential(mean=1.0)
    alone = alone_obsolescence(CHANGES, INTERVALS, law)
    np.testing.assert_allclose(
        closed_network_obsolescence(CHANGES, INTERVALS, 5, law), alone, rtol=1e-12
    )
    cycle = 1.0 + INTERVALS
    missed = np.exp(-CHANGES * INTERVALS) / (1.0 + CHANGES)
    np.testing.assert_allclose(alone, 1 - (1 - missed) / (CHANGES * cycle), rtol=1e-12)


@pytest.mark.parametrize("changes", [1e-9, 1e-4, 0.0099, 0.0101])
def test_slow_pages_lose_no_digits(changes: float) -> None:
    """Half the mean square of the cycle over its mean, times the change rate, and a little less."""
    waits = waits_of([2.0, 2.0, 2.0], 1)
    mu = np.full(3, changes / (3.0 + waits[0]))
    below = closed_network_obsolescence(mu, [2.0] * 3, 1, Exponential(mean=1.0))[0]
    # The cycle: 2, j exponentials with the probabilities of j that the law gives, one more.
    network, _ = network_of([2.0] * 3, 1, 1.0)
    found = found_when_due(network)
    stages = found.ahead + 1.0
    square = float(found.law[0] @ (4.0 + 4.0 * stages + stages * (stages + 1.0)))
    mean = float(found.law[0] @ (2.0 + stages))
    first = mu[0] * square / (2.0 * mean)
    assert below == pytest.approx(first, rel=changes)
    assert below < first
    assert closed_network_obsolescence(np.zeros(3), [2.0] * 3, 1, Exponential(mean=1.0))[0] == 0.0


def test_pages_that_are_never_due_stay_as_they_are() -> None:
    scenario = scenario_from(FRONTIER).with_(
        {"robots.accessing.intervals": [1.0, 2.0, math.inf, 1.5, 4.0]}
    )
    values = {(row.measure, row.subject): row.value for row in predict(scenario)[0]}
    assert values["obsolescence_rate", 2] == 1.0
    assert values["crawl_rate", 2] == 0.0
    assert ("frontier_delay", 2) not in values
    others = waits_of(np.delete(INTERVALS, 2), 2)
    assert values["frontier_delay", 3] == pytest.approx(others[2], rel=1e-12)


REASONS = {
    "a page is due again at once": {"robots.accessing.intervals": [0.0, 1.0, 1.0, 1.0, 1.0]},
    "intervals count from the start of an access": {"robots.accessing.from": "start"},
    "accesses may fail": {"robots.failure": {"probability": 0.0, "timeout": 1.0}},
    "robots may wait for hosts": {"pages.hosts": [0] * 5, "robots.host_spacing": 0.5},
    'due pages are taken in the order "most-overdue"': {"robots.accessing.order": "most-overdue"},
    "deliveries wait in a [buffer]": {
        "buffer": {"waiting_places": 1, "service": {"exponential": {"mean": 0.1}}}
    },
    "no robot is active": {"activation.static": 0},
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_not_covered_has_its_reason(reason: str) -> None:
    predictions, others = predict(scenario_from(FRONTIER).with_(REASONS[reason]))
    assert not [row for row in predictions if row.source == "frontier closed network"]
    (said,) = [each.reasons for each in others if each.source == "frontier closed network"]
    assert reason in said


def test_formulas_of_robots_that_never_rest_do_not_apply() -> None:
    scenario = scenario_from(FRONTIER).with_(REASONS["deliveries wait in a [buffer]"])
    predictions, others = predict(scenario)
    assert predictions == []
    assert any("robots rest while no page is due" in each.reasons for each in others)


ASKED = {"robots.accessing.delay_quantiles": [0.9, 0.99]}


@pytest.fixture(scope="module")
def simulated() -> Results:
    """What most tests compare with formulas, of this system or of another."""
    return sim.run(scenario_from(FRONTIER).with_(ASKED), engine="simpy")


@pytest.mark.statistical
@pytest.mark.thorough
@pytest.mark.parametrize("robots", [1, 3])
def test_the_simulation_agrees(robots: int) -> None:
    """False alarms: 1 in 1000. An error of 3 % in a wait would be seen."""
    scenario = scenario_from(FRONTIER).with_("robots.available", robots)
    rows = compare(predict(scenario)[0], sim.run(scenario, engine="simpy"))
    assert overall(rows) != "disagrees"
    assert {"frontier_delay", "frontier_length", "busy_robots"} <= {row.measure for row in rows}


PLANTED: dict[str, tuple[dict[str, Any], str]] = {
    "one robot more": ({"robots.available": 3}, "frontier_delay"),
    "an interval": ({"robots.accessing.intervals": [1.0, 2.0, 3.3, 1.5, 4.0]}, "crawl_rate"),
    "access times": ({"robots.access_time.exponential.mean": 0.97}, "busy_robots"),
    "a change rate": ({"pages.change_rates": [0.6, 0.3, 0.2, 1.0, 0.1]}, "obsolescence_rate"),
}


@pytest.mark.statistical
@pytest.mark.by_day(besides=("one robot more",))
@pytest.mark.parametrize("error", PLANTED)
def test_planted_errors_are_caught(error: str, simulated: Results) -> None:
    changes, measure = PLANTED[error]
    rows = compare(predict(scenario_from(FRONTIER).with_(changes))[0], simulated)
    assert measure in {row.measure for row in rows if row.verdict == "disagrees"}


@pytest.mark.statistical
def test_a_page_that_found_itself_among_the_others_would_be_caught(
    monkeypatch: pytest.MonkeyPatch, simulated: Results
) -> None:
    """The planted error: a page that falls due sees the law of all pages at an arbitrary time."""
    from analytic.frontier import closed_network

    def of_all(network: Network, _first: int, law: Any) -> Any:
        return np.tile(law, (len(network.counts), 1))

    monkeypatch.setattr(closed_network, "_seen_by_each", of_all)
    assert overall(compare(predict(scenario_from(FRONTIER))[0], simulated)) == "disagrees"


def quantiles_beside(simulated: Results) -> list[Any]:
    rows = compare(predict(scenario_from(FRONTIER).with_(ASKED))[0], simulated)
    return [row for row in rows if row.measure == QUANTILE]


@pytest.mark.statistical
def test_the_simulated_quantiles_agree(simulated: Results) -> None:
    rows = quantiles_beside(simulated)
    assert len(rows) == 12
    assert overall(rows) != "disagrees"
    assert max(row.detectable for row in rows) < 0.2


@pytest.mark.statistical
def test_a_page_that_waited_for_an_access_too_few_would_be_caught(
    monkeypatch: pytest.MonkeyPatch, simulated: Results
) -> None:
    """The planted error: k - R accesses must end before its own, of k others at R robots."""

    def one_less(law: Any, step: float, share: float) -> float:
        return wait_quantile(np.append(law[0] + law[1], law[2:]), step, share)

    monkeypatch.setattr(formulas, "wait_quantile", one_less)
    assert overall(quantiles_beside(simulated)) == "disagrees"


@pytest.mark.parametrize("law", [Deterministic(value=1.0), Erlang(shape=2, mean=1.0)])
def test_other_access_times_are_an_approximation(law: Any) -> None:
    scenario = scenario_from(FRONTIER).with_("robots.access_time", {law.key: law.model_dump()})
    kinds = {row.kind for row in predict(scenario)[0]}
    assert kinds == {"approximation"}


@pytest.mark.parametrize("robots", [1, 3])
def test_until_the_first_of_several_accesses_ends(robots: int) -> None:
    """Uniform remainders of constant accesses, exponential ones of exponential accesses."""
    exponential = time_until_first(Exponential(mean=2.0), robots)
    constant = time_until_first(Deterministic(value=2.0), robots)
    assert exponential == pytest.approx(2.0 / robots, rel=1e-4)
    assert constant == pytest.approx(2.0 / (robots + 1), rel=1e-3)


def test_mean_values_of_exponential_accesses_are_the_exact_ones() -> None:
    network, _ = network_of(INTERVALS, 2, 1.0)
    found = found_when_due(network)
    again = with_other_accesses(found, network, 1.0 / network.capacity)
    np.testing.assert_allclose(mean_waits(again), mean_waits(found), rtol=1e-6)


@pytest.mark.statistical
@pytest.mark.thorough
@pytest.mark.parametrize("key", ["deterministic", "gamma"])
def test_obsolescence_rates_are_near_whatever_the_access_times(key: str) -> None:
    """Within 3 %, as docs/theory/frontier.md says; the run itself errs by 0.3 %."""
    law = {"deterministic": {"value": 1.0}, "gamma": {"shape": 0.25, "mean": 1.0}}[key]
    scenario = scenario_from(FRONTIER).with_("robots.access_time", {key: law})
    stale = sim.run(scenario, engine="simpy").find("weighted_obsolescence").estimate
    (said,) = [row for row in predict(scenario)[0] if row.measure == "weighted_obsolescence"]
    assert said.value == pytest.approx(stale, rel=0.03)


@pytest.mark.parametrize("robots", [1, 2])
def test_the_same_system_in_other_units(robots: int) -> None:
    """Hours or seconds: waits scale with the unit, obsolescence rates do not change."""
    scale = 3600.0
    np.testing.assert_allclose(
        waits_of(INTERVALS * scale, robots, 1.0 / scale), waits_of(INTERVALS, robots) * scale
    )
    one = closed_network_obsolescence(CHANGES, INTERVALS, robots, Exponential(mean=1.0))
    law = Exponential(mean=scale)
    other = closed_network_obsolescence(CHANGES / scale, INTERVALS * scale, robots, law)
    np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(("interval", "pages"), [(2.0, 6), (9.5, 20), (8.0, 20), (1.0, 20)])
def test_constant_accesses_at_one_interval_take_turns(interval: float, pages: int) -> None:
    """Once the beginning is forgotten, whichever page was due first."""
    scenario = scenario_from(
        {
            "name": "in-step",
            "pages": {"change_rates": [0.2] * pages, "weights": "uniform"},
            "robots": {
                "available": 2,
                "access_time": {"deterministic": {"value": 1.0}},
                "accessing": {"policy": "due", "intervals": interval},
            },
            "run": {"horizon": 700.0, "warmup": 300.0, "replications": 3, "seed": 2},
        }
    )
    said = {(row.measure, row.subject): row for row in predict(scenario)[0]}
    found = sim.run(scenario, engine="simpy").find("frontier_delay")
    assert found is not None
    wait = said["frontier_delay", None]
    assert (wait.kind, wait.value) == ("approximation", max(0.0, pages / 2 - interval - 1.0))
    assert wait.value == pytest.approx(found.estimate, abs=1e-9)
    cycle = 1.0 + interval + wait.value
    stale = 1 - (1 - math.exp(-0.2 * cycle)) / (0.2 * cycle)
    assert said["obsolescence_rate", 0].value == pytest.approx(stale, rel=1e-12)
