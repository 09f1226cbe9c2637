"""The course of the copies in the index behind a buffer, against a chain that labels every page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.sparse import csr_array

import analytic.transient.transitions as transitions_
from analytic import course_of, predict
from analytic.transient import indexed
from analytic.transient.formulas import queue_of
from analytic.transient.indexed import IndexedPages, Jumps, Parts
from analytic.transient.transitions import ByJumps
from scenarios import Scenario, load, scenario_from
from scenarios.timeline import Piece, observation_times

RATES = [0.5, 0.1, 2.0]
SHARES = [0.4, 0.5, 0.1]
ACCESS, SERVICE, PATIENCE = 1.25, 0.8, 0.3
PLACES = 3
CHANGES = [
    {"at": 1.5, "until": 3.0, "service_speed": 0.0},
    {"at": 2.0, "until": 5.5, "robots": 1, "change_factor": 3.0},
    {"at": 4.0, "until": 4.5, "robot_speed": 0.2, "query_factor": 5.0},
]


def system(**changes: Any) -> Scenario:
    scenario = scenario_from(
        {
            "name": "path",
            "pages": {"change_rates": RATES},
            "robots": {
                "available": 2,
                "access_time": {"exponential": {"rate": ACCESS}},
                "accessing": {"policy": "randomized", "frequencies": SHARES},
            },
            "buffer": {
                "waiting_places": PLACES - 1,
                "service": {"exponential": {"rate": SERVICE}},
                "obsolescence": {"exponential": {"rate": PATIENCE}},
            },
            "clients": {"query_rate": 1.0},
            "interventions": CHANGES,
            "run": {"horizon": 8.0, "warmup": 2.5, "observe": 1.0},
        }
    )
    return scenario.with_(changes)


BATCHES = {
    "D": [[[-1.5, 0.2], [0.1, -0.6]], [[1.0, 0.0], [0.1, 0.2]], [[0.0, 0.3], [0.0, 0.2]]],
}

OTHER, OLD, NEW = range(3)
"""A copy that waits is of another page, or of this one and out of date, or up to date."""

State = tuple[tuple[int, ...], bool]
STATES: list[State] = [
    (queue, current)
    for level in range(PLACES + 1)
    for queue in product(range(3), repeat=level)
    for current in (False, True)
]


def moves(state: State, page: int, piece: Piece) -> Iterator[tuple[State, float]]:
    """What can happen next, and its rate, to the queue and to one page's copies."""
    queue, current = state
    robots = 2 if piece.robots is None else min(piece.robots, 2)
    rate = robots * ACCESS * piece.robot_speed
    if len(queue) < PLACES:
        yield ((*queue, NEW), current), rate * SHARES[page]
        yield ((*queue, OTHER), current), rate * (1 - SHARES[page])
    if queue:
        indexed = current if queue[0] == OTHER else queue[0] == NEW
        yield (queue[1:], indexed), SERVICE * piece.service_speed
    for place in range(1, len(queue)):
        yield (queue[:place] + queue[place + 1 :], current), PATIENCE
    changed = tuple(OLD if label == NEW else label for label in queue)
    yield (changed, False), RATES[page] * piece.change_factor


def labelled(scenario: Scenario, page: int, stops: list[float]) -> list[tuple[float, float]]:
    """Probability that the copy is out of date at the stops, and the time so since the last."""
    number = {state: place for place, state in enumerate(STATES)}
    stale = np.array([not current for _, current in STATES], dtype=float)
    row = np.zeros(len(STATES) + 1)
    row[number[(), True]] = 1.0
    found = []
    for piece in scenario.model.timeline.between(0.0, scenario.run.horizon):
        generator = np.zeros((len(row), len(row)))
        for state, place in number.items():
            for after, rate in moves(state, page, piece):
                generator[place, number[after]] += rate
                generator[place, place] -= rate
        generator[:-1, -1] = stale
        inside = [stop for stop in stops if piece.begin < stop < piece.end]
        for begin, end in zip([piece.begin, *inside], [*inside, piece.end], strict=True):
            row = row @ expm(generator * (end - begin))
            if end in stops:
                found.append((float(row[:-1] @ stale), float(row[-1])))
                row[-1] = 0.0
    return found


@pytest.mark.parametrize("patience", [True, False], ids=["timers", "no-timers"])
def test_every_page_of_a_small_queue(patience: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = system()
    if not patience:
        monkeypatch.setitem(globals(), "PATIENCE", 0.0)
        scenario = scenario.with_("buffer.obsolescence", "never")
    told = course_of(scenario)
    times = observation_times(scenario.run).tolist()
    stops = sorted({*times, scenario.run.warmup})
    predicted = {(row.measure, row.subject): row.value for row in predict(scenario)[0]}
    for page in range(3):
        chain = labelled(scenario, page, stops)
        at = [stale for stop, (stale, _) in zip(stops, chain, strict=True) if stop in times]
        assert_allclose(told.course.columns["obsolescence_rate", page], at, atol=1e-12)
        window = sum(time for stop, (_, time) in zip(stops, chain, strict=True) if stop > 2.5)
        assert_allclose(predicted["obsolescence_rate", page], window / 5.5, atol=1e-12)
    arrivals = told.course.columns["arrival_rate", None]
    for page, share in enumerate(SHARES):
        assert_allclose(told.course.columns["crawl_rate", page], share * arrivals, atol=1e-13)


@pytest.mark.parametrize(
    "changes",
    [
        {"robots.deliveries": {"thinned": {"process": {"bmap": BATCHES}, "keep": [0.5, 1.0]}}},
        {"buffer.service": {"erlang": {"shape": 2, "mean": 1.0}}},
        {"activation": {"threshold": {"robots": [2, 1], "at": [1]}}},
    ],
    ids=["batches", "erlang-service", "threshold"],
)
def test_a_long_course_ends_at_the_long_run(changes: dict[str, Any]) -> None:
    """The stationary formula looks back from an instant; this one goes forward to it."""
    entries = {"buffer.obsolescence": "never", "interventions": [], **changes}
    if "robots.deliveries" in changes:
        entries["robots.access_time"] = None
    scenario = system(**entries).with_({"run.horizon": 800.0, "run.observe": 800.0})
    told = course_of(scenario).course.columns
    for row in predict(scenario)[0]:
        if row.kind == "exact" and row.measure in ("obsolescence_rate", "weighted_obsolescence"):
            assert_allclose(told[row.measure, row.subject], row.value, atol=1e-12)


def test_the_library_s_path_ends_at_its_long_run() -> None:
    scenario = load("pipeline-more-robots").with_(
        {"run.horizon": 3000.0, "run.warmup": 0.0, "run.observe": 3000.0}
    )
    told = course_of(scenario).course.columns
    exact = {(row.measure, row.subject): row.value for row in predict(scenario)[0]}
    for page in range(20):
        key = "obsolescence_rate", page
        assert_allclose(told[key], exact[key], atol=1e-12)


@pytest.mark.by_day(besides=("Jumps-weighted_obsolescence",))
@pytest.mark.parametrize(
    ("counting", "measure"), [(Jumps, "weighted_obsolescence"), (ByJumps, "mean_in_system")]
)
def test_what_has_settled_costs_nothing_more(
    counting: type, measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at often or rarely: what hardly changes, and is hardly accessed, is followed on."""
    followed = []
    count = counting._count

    def counted(self: Any, *numbers: Any) -> Any:
        followed.append(self)
        return count(self, *numbers)

    monkeypatch.setattr(counting, "_count", counted)
    monkeypatch.setattr(transitions_, "LARGEST_DENSE", 0)
    slowly = {"pages.change_rates": [0.5, 0.1, 0.006]}
    shares = {"robots.accessing.frequencies": [0.5, 0.499, 0.001]}
    scenario = system(interventions=[], **slowly, **shares)
    courses = []
    for observe in (10.0, 4000.0):
        watched = scenario.with_({"run.horizon": 20000.0, "run.observe": observe})
        courses.append(course_of(watched).course.columns[measure, None])
    often, rarely = courses
    assert_allclose(often[399::400], rarely, rtol=0, atol=1e-13)
    assert len(followed) < 1500  # of 2000 intervals of 10 and 5 of 4000


def test_of_many_pages_few_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each share those whose rates say what the others are; what never changes by itself."""
    rates = np.append(np.geomspace(0.01, 3.0, 400), [0.0, 0.0])
    shares = np.where(np.arange(402) % 2 == 0, 0.002, 0.002 * 199 / 201 * 1.005)
    accessing = {"policy": "randomized", "frequencies": (shares / shares.sum()).tolist()}
    many = {"pages.change_rates": rates.tolist(), "robots.accessing": accessing}
    scenario = system().with_(many)
    queue = queue_of(scenario)
    few = IndexedPages(queue)
    assert few.start().shape[1] < 150
    monkeypatch.setattr(indexed, "nodes_of", lambda rates: rates)
    every = IndexedPages(queue)
    assert every.start().shape[1] == 402
    stops = [2.5, 8.0]
    timeline = scenario.model.timeline.pieces
    for one, other in zip(few.follow(timeline, stops), every.follow(timeline, stops), strict=True):
        for found, expected in zip(one, other, strict=True):
            assert_allclose(found, expected, rtol=0, atol=1e-13)
    assert one.stale.max() > 0.5
    assert one.stale[[400, 401]].tolist() == pytest.approx([0.0, 0.0], abs=1e-13)


def test_pages_that_are_all_alike_are_one_kind() -> None:
    """They go as pages that differ by a billionth."""
    shares = {"robots.accessing.frequencies": [1 / 3] * 3}
    alike, nearly = (
        IndexedPages(queue_of(system().with_(shares | {"pages.change_rates": rates})))
        for rates in ([0.5] * 3, [0.5, 0.5 * (1 + 1e-9), 0.5 * (1 - 1e-9)])
    )
    assert alike.start().shape[1] == 1
    timeline = system().model.timeline.pieces
    pairs = zip(alike.follow(timeline, [8.0]), nearly.follow(timeline, [8.0]), strict=True)
    for one, other in pairs:
        for found, expected in zip(one, other, strict=True):
            assert_allclose(found, expected, rtol=0, atol=1e-8)
    assert 0.2 < one.stale.min() == one.stale.max()


@pytest.mark.parametrize("time", [0.5, 30.0, 1e3, 1e5])
def test_a_copy_is_renewed_and_becomes_stale_at_its_rates(time: float) -> None:
    """A queue of one state: ``u' = f - c u`` from 0, and its integral; long after it settled."""
    f, c = 0.3, 0.5
    parts = Parts(1, 40.0, csr_array((2, 2)), csr_array([[1.0, 0.0]]))
    after, during = Jumps(parts, np.array([f]), np.array([c])).move(np.array([[1.0], [0.0]]), time)
    assert_allclose(after[:, 0], [1.0, f / c * -np.expm1(-c * time)], rtol=1e-12)
    spent = f / c * (time + np.expm1(-c * time) / c)
    assert_allclose(during[:, 0], [time, spent], rtol=1e-12)


@pytest.mark.parametrize("time", [0.5, 30.0, 1e3, 1e5])
def test_two_states_by_jumps_and_their_integral(time: float) -> None:
    """Rates 30 and 10: a quarter in the first in the end, reached at rate 40."""
    moved = ByJumps(csr_array([[-30.0, 30.0], [10.0, -10.0]])).move(np.array([1.0, 0.0]), time)
    assert_allclose(moved.after[0], 0.25 + 0.75 * np.exp(-40.0 * time), rtol=1e-12)
    first = 0.25 * time - 0.75 * np.expm1(-40.0 * time) / 40.0
    assert_allclose(moved.during, [first, time - first], rtol=1e-12)


def test_the_periodic_regime_is_where_a_long_course_ends() -> None:
    nightly = [{"at": 1.0, "until": 3.0, "every": 8.0, "robots": 1, "change_factor": 2.0}]
    scenario = system(interventions=nightly).with_({"run.horizon": 800.0, "run.observe": 4.0})
    found = course_of(scenario)
    assert found.periodic is not None
    for key, values in found.periodic.columns.items():
        assert_allclose(values, found.course.columns[key][-2:], atol=1e-11, err_msg=str(key))
    assert ("obsolescence_rate", 2) in found.periodic.columns


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"buffer.discipline": "lifo"}, "last come first served"),
        ({"buffer.when_full": "push-out"}, "pushes out"),
        ({"buffer.servers": 2}, "servers"),
        ({"robots.accessing": {"policy": "round-robin"}}, "drawn"),
    ],
)
def test_what_is_not_followed_says_why(change: dict[str, Any], reason: str) -> None:
    told = course_of(system(**change))
    assert ("mean_in_system", None) in told.course.columns
    assert ("obsolescence_rate", 0) not in told.course.columns
    assert any(reason in each.reason for each in told.not_applicable)


def test_the_cost_of_a_window_has_staleness_in_it() -> None:
    """Each price alone is its measure; together they add."""
    prices = {"loss": 3.0, "obsolescence": 2.0, "starvation": 5.0, "robots": 0.5, "staleness": 7.0}
    rows = {(row.measure, row.subject): row.value for row in predict(system(costs=prices))[0]}
    lost_and_obsolete = [
        rows[f"{fate}_probability", None]
        * (rows["throughput", None])
        / rows["success_probability", None]
        for fate in ("loss", "obsolescence")
    ]
    others = ["starvation_probability", "mean_active_robots", "weighted_obsolescence"]
    measured = [*lost_and_obsolete, *(rows[name, None] for name in others)]
    expected = float(np.dot(list(prices.values()), measured))
    assert rows["control_cost", None] == pytest.approx(expected, rel=1e-12)
