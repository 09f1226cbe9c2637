"""Systems of textbooks against chains written down here, and numbers from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from analytic import predict
from analytic.indexing_queue.impatience import impatient_queue
from analytic.indexing_queue.matched_services import between_erlang_laws
from analytic.indexing_queue.one_robot import (
    quantiles_of_one_robot,
    quantiles_of_servers_at_accesses,
    rows_of_one_robot,
    rows_of_servers_at_accesses,
)
from scenarios import Scenario, scenario_from
from scenarios.arrays import Array
from scenarios.laws import PhaseType

LEVELS = "level_probability"
CONSTANT = {"deterministic": {"value": 0.35}}
UNIFORM = {"uniform": {"low": 0.1, "high": 0.6}}


def system(access: Any, servers: int, places: int, **buffer: Any) -> Scenario:
    """One robot, and services of mean 1 that are exponential unless said otherwise."""
    return scenario_from(
        {
            "name": "textbook",
            "robots": {"available": 1, "access_time": access},
            "buffer": {
                "waiting_places": places,
                "servers": servers,
                "service": {"exponential": {"rate": 1.0}},
                **buffer,
            },
            "run": {"horizon": 400.0, "warmup": 50.0, "replications": 4},
        }
    )


def exact(scenario: Scenario) -> dict[tuple[str, Any], float]:
    return {(row.measure, row.subject): row.value for row in predict(scenario)[0]}


# --- one robot, several servers -----------------------------------------------------------------


def at_accesses(
    times: Array, weights: Array, servers: int, capacity: int, timer: float
) -> tuple[Array, float]:
    """Levels and loss of GI/M/c/K+M: the law as points with weights, dense exponentials."""
    n = np.arange(capacity + 1)
    fall = np.minimum(n, servers) + timer * np.maximum(n - servers, 0)
    silent = np.diag(fall[1:].astype(float), -1) - np.diag(fall.astype(float))
    moved = np.eye(capacity + 1, k=1)
    moved[-1, -1] = 1.0
    reached = sum(w * expm(silent * x) for x, w in zip(times, weights, strict=True))
    system = np.vstack([(reached @ moved - np.eye(capacity + 1)).T, np.ones(capacity + 1)])
    after = np.linalg.lstsq(system, np.append(np.zeros(capacity + 1), 1.0), rcond=None)[0]
    nodes, shares = np.polynomial.legendre.leggauss(40)
    spent = np.zeros(capacity + 1)
    for x, w in zip(times, weights, strict=True):
        for node, share in zip(x * (nodes + 1) / 2, x * shares / 2, strict=True):
            spent += w * share * (after @ expm(silent * node))
    return spent / spent.sum(), float((after @ reached)[-1])


def points(access: dict[str, Any]) -> tuple[Array, Array]:
    """A constant, or a uniform law by Gauss's points."""
    if "deterministic" in access:
        return np.array([access["deterministic"]["value"]]), np.ones(1)
    low, high = access["uniform"]["low"], access["uniform"]["high"]
    nodes, weights = np.polynomial.legendre.leggauss(25)
    return low + (high - low) * (nodes + 1) / 2, weights / 2


@pytest.mark.parametrize(
    ("access", "mean", "timer"),
    [(CONSTANT, 5.164303, 0.0), (UNIFORM, 5.173206, 0.0), (UNIFORM, None, 0.4)],
    ids=["D/M/3/10", "U/M/3/10", "U/M/3/10+M"],
)
def test_one_robot_before_several_servers(access: Any, mean: float | None, timer: float) -> None:
    """The two means are from outside the project."""
    patience = {"obsolescence": {"exponential": {"rate": timer}}} if timer else {}
    found = exact(system(access, 3, 7, **patience))
    levels, lost = at_accesses(*points(access), 3, 10, timer)
    assert [found[LEVELS, n] for n in range(11)] == pytest.approx(levels, abs=1e-10)
    assert found["loss_probability", None] == pytest.approx(lost, abs=1e-10)
    if mean is not None:
        assert found["mean_in_system", None] == pytest.approx(mean, abs=5e-7)


@pytest.mark.parametrize("servers", [1, 2])
def test_erlang_accesses_are_solved_both_ways(servers: int) -> None:
    """Embedded at accesses, and the chain with their phases: every measure, quantiles too."""
    phases = {"phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.0, -0.8]]}}
    buffer = {
        "service": phases,
        "obsolescence": {"exponential": {"mean": 4.0}},
        "sojourn_quantiles": [0.5, 0.95],
    }
    scenario = system({"erlang": {"shape": 3, "mean": 0.6}}, servers, 4, **buffer)
    chain = exact(scenario)
    rows_of = rows_of_one_robot if servers == 1 else rows_of_servers_at_accesses
    embedded = {row[:2]: row[2] for row in rows_of(scenario)}
    quantiles = quantiles_of_one_robot if servers == 1 else quantiles_of_servers_at_accesses
    for name, times in quantiles(scenario, (0.5, 0.95)).items():
        embedded["sojourn_quantile", f"{name} 0.5"] = times[0]
        embedded["sojourn_quantile", f"{name} 0.95"] = times[1]
    assert ("sojourn_quantile", "obsolete 0.95") in chain
    if servers == 1:
        del chain["idle_indexers", None]
    assert {key: embedded[key] for key in chain} == pytest.approx(chain, rel=1e-9, abs=1e-12)


def test_quantiles_of_constant_accesses() -> None:
    """D/M/1/K: a page that finds n waits for an Erlang time of n + 1 phases."""
    from scipy.stats import gamma

    found = exact(system(CONSTANT, 1, 5, sojourn_quantiles=[0.3, 0.9]))
    fall = np.diag(np.ones(6), -1) - np.diag(np.append(0.0, np.ones(6)))
    moved = np.eye(7, k=1)
    moved[-1, -1] = 1.0
    reached = expm(0.35 * fall)
    values, vectors = np.linalg.eig((moved @ reached).T)
    before = np.real(vectors[:, np.argmax(np.real(values))])
    entering = before[:-1] / before[:-1].sum()
    for share in (0.3, 0.9):
        time = found["sojourn_quantile", f"served {share}"]
        reached_by = sum(p * gamma.cdf(time, n + 1) for n, p in enumerate(entering))
        assert reached_by == pytest.approx(share, abs=1e-9)


# --- timers of any law --------------------------------------------------------------------------


State = tuple[int, ...]
"""Pages in service, and the phase of the timer of each waiting page, the oldest first."""


def moves(
    state: State, rates: list[float], servers: int, timer: PhaseType
) -> Iterator[tuple[float, State, bool]]:
    """Rates, states afterwards, and whether a page became obsolete."""
    busy, *phases = state
    T = np.array(timer.T)
    rate = rates[busy + len(phases)] if busy + len(phases) + 1 < len(rates) else 0.0
    if busy < servers:
        yield rate, (busy + 1,), False
    else:
        yield from ((rate * a, (*state, phase), False) for phase, a in enumerate(timer.alpha))
    yield float(busy), (busy, *phases[1:]) if phases else (busy - 1,), False
    for place, phase in enumerate(phases, 1):
        before, after = state[:place], state[place + 1 :]
        yield -T[phase].sum(), (*before, *after), True
        for other in {*range(len(T))} - {phase}:
            yield T[phase, other], (*before, other, *after), False


def with_every_timer(rates: list[float], servers: int, timer: PhaseType) -> tuple[Array, float]:
    """Levels and obsolete pages per unit time."""
    found = {(0,): [move for move in moves((0,), rates, servers, timer) if move[0] > 0]}
    new = list(found)
    for state in new:
        for _, after, _ in found[state]:
            if after not in found:
                found[after] = [m for m in moves(after, rates, servers, timer) if m[0] > 0]
                new.append(after)
    place = {state: number for number, state in enumerate(found)}
    generator = np.zeros((len(found), len(found)))
    gone = np.zeros(len(found))
    for state, onward in found.items():
        for rate, after, obsolete in onward:
            generator[place[state], place[after]] += rate
            gone[place[state]] += rate * obsolete
    generator -= np.diag(generator.sum(axis=1))
    system = np.vstack([generator.T, np.ones(len(found))])
    p = np.linalg.lstsq(system, np.append(np.zeros(len(found)), 1.0), rcond=None)[0]
    levels = np.zeros(len(rates))
    for state, share in zip(found, p, strict=True):
        levels[state[0] + len(state) - 1] += share
    return levels, float(p @ gone)


@pytest.mark.thorough
@pytest.mark.parametrize("servers", [1, 3])
def test_timers_with_phases_page_by_page(servers: int) -> None:
    """Deliveries that follow the level, to be slowed down and stopped; every timer is followed."""
    rates = [2.7, 2.7, 2.0, 2.0, 1.1, 1.1, 0.4, 0.4]
    timer = PhaseType(alpha=(0.3, 0.7), T=((-3.0, 1.0), (0.0, -0.6)))
    levels, gone = with_every_timer(rates, servers, timer)
    queue = impatient_queue(np.array(rates), 1.0, timer, servers)
    assert queue.levels == pytest.approx(levels, abs=1e-11)
    assert queue.waits[1, 0] == pytest.approx(gone, abs=1e-11)
    served = levels @ np.minimum(np.arange(8), servers)
    assert queue.at_once + queue.waits[0, 0] == pytest.approx(served, abs=1e-11)
    waiting = levels @ np.maximum(np.arange(8) - servers, 0)
    assert queue.waits[:, 1].sum() == pytest.approx(waiting, abs=1e-11)


def test_sojourn_times_under_timers_with_phases_are_those_of_the_chain() -> None:
    """Second moments, too; in a scenario that both formulas cover."""
    timer = {"erlang": {"shape": 2, "mean": 1.5}}
    rows = predict(system({"exponential": {"rate": 1.3}}, 1, 5, obsolescence=timer))[0]
    values: dict[tuple[str, Any], list[float]] = {}
    for row in rows:
        values.setdefault((row.measure, row.subject), []).append(row.value)
    twice = {key: both for key, both in values.items() if len(both) > 1}
    assert ("sojourn_time_second_moment", "obsolete") in twice
    assert len(twice) > 15
    for both in twice.values():
        assert both == pytest.approx([both[0]] * len(both), rel=1e-9)


@pytest.mark.parametrize(
    ("rate", "servers", "places", "timer", "mean"),
    [(0.9, 1, 19, 3.0, 1.948156), (2.7, 3, 17, 1.0, 3.296643)],
    ids=["M/M/1+D", "M/M/3+D"],
)
def test_constant_timers(rate: float, servers: int, places: int, timer: float, mean: float) -> None:
    """The means are from outside the project."""
    constant = {"deterministic": {"value": timer}}
    access = {"exponential": {"rate": rate}}
    found = exact(system(access, servers, places, obsolescence=constant))
    assert found["mean_in_system", None] == pytest.approx(mean, abs=2e-6)
    assert found["sojourn_time", "obsolete"] == pytest.approx(timer, rel=1e-12)


def test_timers_that_hardly_matter() -> None:
    """Where no page can wait, and where timers are long: M/M/3/3 and M/M/3/6."""
    constant = {"deterministic": {"value": 200.0}}
    access = {"exponential": {"rate": 2.0}}
    for places in (0, 3):
        without = exact(system(access, 3, places))
        found = exact(system(access, 3, places, obsolescence=constant))
        for level in range(3 + places + 1):
            assert found[LEVELS, level] == pytest.approx(without[LEVELS, level], rel=1e-12)


# --- no waiting places --------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [{"static": 4}, {"threshold": {"robots": [4, 1], "at": [2]}}])
def test_without_waiting_places_only_the_mean_service_matters(rule: dict[str, Any]) -> None:
    """The chain of services of two phases, every measure but second moments; a lognormal law."""
    two = {"hyperexponential": {"probabilities": [0.9, 0.1], "rates": [1.8, 0.2]}}
    robots = {"available": 4, "access_time": {"exponential": {"rate": 1.0}}}
    prices = {"loss": 1.0, "starvation": 2.0, "response": 0.5, "robots": 0.1}
    base = system(robots["access_time"], 5, 0, service=two)
    base = base.with_({"robots": robots, "activation": rule, "costs": prices})
    rows = predict(base)[0]
    for chain in (row for row in rows if row.source.startswith("avrachenkov2011")):
        (same,) = (
            row.value
            for row in rows
            if row.source == "kleinrock1975 section 3.5, Erlang B"
            and (row.measure, row.subject) == (chain.measure, chain.subject)
        )
        assert same == pytest.approx(chain.value, rel=1e-11)
    mean = 0.9 / 1.8 + 0.1 / 0.2
    other = exact(base.with_("buffer.service", {"lognormal": {"mean": mean, "sd": 3.0}}))
    levels = [row for row in rows if row.measure in (LEVELS, "control_cost", "loss_probability")]
    for row in levels:
        assert other[row.measure, row.subject] == pytest.approx(row.value, rel=1e-11)
    assert other["sojourn_time_second_moment", "served"] == pytest.approx(mean**2 + 9.0)


def test_five_servers_without_places() -> None:
    """The mean is from outside the project."""
    service = {"lognormal": {"mean": 1.0, "sd": 1.5}}
    found = exact(system({"exponential": {"rate": 4.0}}, 5, 0, service=service))
    assert found["mean_in_system", None] == pytest.approx(3.203733, abs=5e-7)


def test_quantiles_without_waiting_are_those_of_the_service() -> None:
    """Of phases as by the chain; of constants, and of a law with a known inverse."""
    two = {"hyperexponential": {"probabilities": [0.9, 0.1], "rates": [1.8, 0.2]}}
    asked = {"sojourn_quantiles": [0.02, 0.5, 0.95]}
    access = {"exponential": {"rate": 2.0}}
    values: dict[tuple[str, Any], list[float]] = {}
    for row in predict(system(access, 3, 0, service=two, **asked))[0]:
        values.setdefault((row.measure, row.subject), []).append(row.value)
    names = [key for key in values if key[0] == "sojourn_quantile"]
    assert len(names) == 9
    for name in names:
        assert len(values[name]) == 2
        assert values[name][0] == pytest.approx(values[name][1], rel=1e-10)
    uniform = exact(system(access, 3, 0, service=UNIFORM, **asked))
    assert uniform["sojourn_quantile", "served 0.95"] == pytest.approx(0.575, rel=1e-12)
    lost = uniform["loss_probability", None]
    among_all = 0.1 + 0.5 * (0.95 - lost) / (1.0 - lost)
    assert uniform["sojourn_quantile", "all 0.95"] == pytest.approx(among_all, rel=1e-12)
    assert uniform["sojourn_quantile", "all 0.02"] == 0.0
    constant = exact(system(access, 3, 0, service=CONSTANT, **asked))
    assert constant["sojourn_quantile", "accepted 0.5"] == pytest.approx(0.35, rel=1e-14)


# --- quantiles out of order ---------------------------------------------------------------------


def out_of_order(newest: bool, pushes: bool, capacity: int, timer: float) -> tuple[Array, Array]:
    """Generator of a page that waits, serves and ends, and where pages begin: M/M/1/K+M, load 0.9.

    States: older and newer pages; then its service; ends: served, obsolete, pushed out.
    """
    waiting = [(o, n) for o in range(capacity) for n in range(capacity) if o + n <= capacity - 2]
    place = {state: number for number, state in enumerate(waiting)}
    service = len(waiting)
    Q = np.zeros((service + 4, service + 4))
    Q[service, service + 1] = 1.0
    for (older, newer), here in place.items():
        full = older + newer == capacity - 2
        if not full:
            Q[here, place[older, newer + 1]] += 0.9
        elif pushes:
            Q[here, place[older - 1, newer + 1] if older else service + 3] += 0.9
        if newest and newer:
            Q[here, place[older, newer - 1]] += 1.0
        elif older and not newest:
            Q[here, place[older - 1, newer]] += 1.0
        else:
            Q[here, service] += 1.0
        if older:
            Q[here, place[older - 1, newer]] += timer * older
        if newer:
            Q[here, place[older, newer - 1]] += timer * newer
        Q[here, service + 2] += timer
    Q -= np.diag(Q.sum(axis=1))
    weights = np.cumprod([1.0, *(0.9 / (1.0 + timer * n) for n in range(capacity))])
    begins = np.zeros(len(Q))
    begins[service] = weights[0]
    for level in range(1, capacity):
        begins[place[level - 1, 0]] += weights[level]
    if pushes:
        begins[place[capacity - 2, 0]] += weights[capacity]
    return Q, begins / begins.sum()


@pytest.mark.parametrize(
    ("newest", "pushes", "timer"),
    [(True, False, 0.0), (True, True, 0.2), (False, True, 0.0), (True, False, 0.2)],
)
def test_quantiles_of_pages_out_of_order(newest: bool, pushes: bool, timer: float) -> None:
    """The distribution function, by matrix exponentials, at each quantile."""
    buffer: dict[str, Any] = {"sojourn_quantiles": [0.5, 0.95]}
    buffer |= {"discipline": "lifo"} if newest else {}
    buffer |= {"when_full": "push-out"} if pushes else {}
    buffer |= {"obsolescence": {"exponential": {"rate": timer}}} if timer else {}
    found = exact(system({"exponential": {"rate": 0.9}}, 1, 5, **buffer))
    Q, begins = out_of_order(newest, pushes, 6, timer)
    ends = expm(Q * 1e4)[:, -3:]
    for name, columns in (("served", [0]), ("obsolete", [1]), ("accepted", [0, 1, 2])):
        if name == "obsolete" and not timer:
            continue
        for share in (0.5, 0.95):
            time = found["sojourn_quantile", f"{name} {share}"]
            by_then = (begins @ expm(Q * time))[-3:][columns].sum()
            assert by_then / (begins @ ends)[columns].sum() == pytest.approx(share, abs=1e-9)


# --- several servers, services without phases ----------------------------------------------------


def test_a_polynomial_in_the_variation_is_met_and_what_does_not_settle_is_left_out() -> None:
    """By hand: 3 - 2 c² + c⁴ at c² = 0 and 0.4; a measure that jumps at the last law."""
    shapes = [1, 2, 3, 4]
    found = [
        {("a", None): 3.0 - 2.0 / k + 1.0 / k**2, ("jumps", None): 1.0 if k < 4 else 2.0}
        for k in shapes
    ]
    assert between_erlang_laws(0.0, shapes, found) == {("a", None): pytest.approx(3.0)}
    assert between_erlang_laws(0.4, shapes, found)["a", None] == pytest.approx(2.36)


@pytest.mark.thorough
def test_services_between_erlang_laws() -> None:
    """At an Erlang law exactly; constant services as in a simulation of 80 million time units."""
    access = {"exponential": {"rate": 2.7}}
    erlang = exact(system(access, 3, 7, service={"erlang": {"shape": 2, "mean": 1.0}}))
    rows = predict(system(access, 3, 7, service={"lognormal": {"mean": 1.0, "sd": 0.5**0.5}}))[0]
    assert {row.kind for row in rows} == {"approximation"}
    assert len(rows) > 20
    for row in rows:
        if row.value > 1e-12:
            assert row.value == pytest.approx(erlang[row.measure, row.subject], rel=1e-9)
    constant = exact(system(access, 3, 7, service={"deterministic": {"value": 1.0}}))
    assert constant["mean_in_system", None] == pytest.approx(4.52424, rel=1e-3)
    assert constant["loss_probability", None] == pytest.approx(0.02556, rel=0.015)


@pytest.mark.parametrize("sd", [1.5, 0.7])
def test_lognormal_services_at_three_servers(sd: float) -> None:
    """Two moments of three: against the loss system, whose law does not matter, as places go."""
    service = {"lognormal": {"mean": 1.0, "sd": sd}}
    found = exact(system({"exponential": {"rate": 2.0}}, 3, 1, service=service))
    least = exact(system({"exponential": {"rate": 2.0}}, 3, 0, service=service))
    most = exact(system({"exponential": {"rate": 2.0}}, 4, 0, service=service))
    name = ("loss_probability", None)
    assert most[name] < found[name] < least[name]
