"""The course of pages without a buffer: differential equations, and delivery by delivery."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from profiles import examples
from scipy.integrate import quad, solve_ivp

from analytic import course_of, predict
from analytic.machinery.arrival_process import delivery_modes, start_phases
from scenarios import Scenario, scenario_from
from scenarios.timeline import Piece, observation_times

RATES = [0.5, 0.1, 0.0, 1.0]
WEIGHTS = [1.0, 2.0, 1.0, 3.0]
SHARES = [0.4, 0.3, 0.1, 0.2]
TEMPLATE = [0, 1, 0, 3, 2, 0, 1]
DRAWN = {"policy": "randomized", "frequencies": SHARES}
IN_ORDER = {"policy": "cyclic", "template": TEMPLATE}
EXPONENTIAL = {"exponential": {"mean": 1.5}}
CONSTANT = {"deterministic": {"value": 0.7}}

CHANGES = [
    {"at": 3.0, "until": 5.0, "robots": 1},
    {"at": 4.0, "until": 6.5, "robot_speed": 0.3, "change_factor": 2.0},
    {"at": 8.0, "until": 8.001, "change_factor": 0.0, "robot_speed": 0.0},
    {"at": 7.5, "until": 9.5, "query_factor": 0.0},
    {"at": 9.0, "robots": 0},
]


def system(access: Any, policy: Any, available: int = 3, **changes: Any) -> Scenario:
    return scenario_from(
        {
            "name": "changing",
            "pages": {"change_rates": RATES, "weights": WEIGHTS},
            "robots": {"available": available, "access_time": access, "accessing": policy},
            "clients": {"query_rate": 2.0},
            "interventions": CHANGES,
            "run": {"horizon": 12.0, "warmup": 2.25, "observe": 1.0},
            **changes,
        }
    )


def cuts(scenario: Scenario) -> list[tuple[Piece, float, float]]:
    """Intervals without a change and without a time of observation inside, with their settings."""
    run = scenario.run
    stops = {run.warmup, *observation_times(run).tolist()}
    found = []
    for piece in scenario.model.timeline.pieces:
        ends = sorted({piece.begin, piece.end, *(t for t in stops if piece.begin < t < piece.end)})
        found += [(piece, *each) for each in pairwise(ends)]
    return found


Cut = tuple[float, float, float, Any, Any, Any]


def assert_told(scenario: Scenario, intervals: list[Cut], accuracy: float = 1e-11) -> None:
    """The course and the averages over the window are those of intervals.

    Each is begin, end, query factor, staleness at its end, time out of date, deliveries.
    """
    told = course_of(scenario).course
    weights = np.array(WEIGHTS)

    def answers(given: list[Cut]) -> float:
        queries = sum(factor * (end - begin) for begin, end, factor, *_ in given)
        stale = sum(factor * float(weights @ time) for _, _, factor, _, time, _ in given)
        return stale / (queries * weights.sum()) if queries else math.nan

    for place, time in enumerate(told.times.tolist()):
        last = next(each for each in intervals if each[1] == time)
        over = [each for each in intervals if time - 1.0 <= each[0] and each[1] <= time]
        expected = {
            ("weighted_obsolescence", None): weights @ last[3],
            ("stale_answer_probability", None): answers(over),
        }
        for page in range(4):
            expected["obsolescence_rate", page] = last[3][page]
            expected["crawl_rate", page] = sum(each[5][page] for each in over)
        assert told.columns.keys() == expected.keys()
        for key, value in expected.items():
            assert_allclose(told.columns[key][place], value, atol=accuracy, err_msg=f"{key} {time}")
    run = scenario.run
    inside = [each for each in intervals if each[0] >= run.warmup]
    predicted = {(row.measure, row.subject): row.value for row in predict(scenario)[0]}
    window = run.horizon - run.warmup
    for page in range(4):
        stale = sum(each[4][page] for each in inside) / window
        assert_allclose(predicted["obsolescence_rate", page], stale, atol=accuracy)
        crawled = sum(each[5][page] for each in inside) / window
        assert_allclose(predicted["crawl_rate", page], crawled, atol=accuracy)
    assert_allclose(predicted["stale_answer_probability", None], answers(inside), atol=accuracy)


def integrated(scenario: Scenario) -> list[Cut]:
    """Intervals of the differential equations of phase and staleness, solved step by step."""
    fleet = scenario.model.fleet
    assert fleet is not None
    numbers = range(fleet.available + 1)
    modes = delivery_modes(fleet, numbers)
    row = start_phases(fleet, numbers, modes, fleet.available)
    order = len(row)
    missed = [[(1 - share) ** batch for batch in range(len(modes[0]))] for share in SHARES]
    state = np.concatenate([row, np.zeros(4 * order)])
    found = []
    for piece, begin, end in cuts(scenario):
        active = fleet.available if piece.robots is None else min(piece.robots, fleet.available)
        matrices = piece.robot_speed * modes[active]

        def change(_: float, now: Any, matrices: Any = matrices, piece: Piece = piece) -> Any:
            phases = now[:order]
            stale = now[order : 5 * order].reshape(4, order)
            moved = [
                sum(
                    miss * stale[page] @ matrix
                    for miss, matrix in zip(missed[page], matrices, strict=True)
                )
                + piece.change_factor * RATES[page] * (phases - stale[page])
                for page in range(4)
            ]
            pages = sum(size * (phases @ matrix).sum() for size, matrix in enumerate(matrices))
            return np.concatenate(
                [phases @ matrices.sum(axis=0), *moved, stale.sum(axis=1), [pages]]
            )

        start = np.concatenate([state, np.zeros(5)])
        end_state = solve_ivp(
            change, (begin, end), start, method="DOP853", rtol=1e-12, atol=1e-14
        ).y[:, -1]
        state = end_state[: 5 * order]
        stale = state[order:].reshape(4, order).sum(axis=1)
        crawled = np.array(SHARES) * end_state[-1]
        found.append((begin, end, piece.query_factor, stale, end_state[-5:-1], crawled))
    return found


@pytest.mark.parametrize(
    ("access", "available"),
    [
        (EXPONENTIAL, 3),
        ({"erlang": {"shape": 3, "mean": 1.5}}, 1),
        ({"mmpp": {"Q": [[-0.4, 0.4], [0.2, -0.2]], "rates": [0.0, 2.0]}}, 2),
    ],
    ids=["exponential", "one-erlang", "two-with-modulated-accesses"],
)
def test_pages_drawn_at_random(access: Any, available: int) -> None:
    scenario = system(access, DRAWN, available)
    assert_told(scenario, integrated(scenario))


def test_accesses_that_fail_are_fewer_ones() -> None:
    """As all deliveries of exponential robots at a rate that is lower by the failing ones."""
    failing = system(EXPONENTIAL, DRAWN).with_(
        "robots.failure", {"probability": 0.25, "retries": 1}
    )
    slower = system({"exponential": {"mean": 2.0}}, DRAWN)
    one, other = (course_of(each).course.columns for each in (failing, slower))
    for key in one:
        assert_allclose(one[key], other[key], atol=1e-13)


def delivered_in_order(scenario: Scenario, template: list[int], time: float) -> list[Any]:
    """Time and page of every delivery that counts, one after the other."""
    robots: Any = scenario.robots
    carried = [template[slot % len(template)] for slot in range(robots.available)]
    slot = robots.available
    worked, rounds, found = 0.0, 0, []
    for piece in scenario.model.timeline.pieces:
        length = piece.end - piece.begin
        while (
            piece.robot_speed and (rounds + 1) * time <= worked + length * piece.robot_speed + 1e-9
        ):
            rounds += 1
            when = min(piece.begin + (rounds * time - worked) / piece.robot_speed, piece.end)
            for robot in range(robots.available if piece.robots is None else piece.robots):
                found.append((when, carried[robot]))
                carried[robot] = template[slot % len(template)]
                slot += 1
        worked += length * piece.robot_speed
    return found


def followed(scenario: Scenario, delivered: list[Any]) -> list[Cut]:
    """Intervals of pages that are delivered at known times."""
    timeline = scenario.model.timeline.pieces

    def changes(begin: float, end: float) -> float:
        parts = (
            piece.change_factor * max(0.0, min(end, piece.end) - max(begin, piece.begin))
            for piece in timeline
        )
        return math.fsum(parts)

    def stale(page: int, time: float, last: float) -> float:
        return -math.expm1(-RATES[page] * changes(last, time))

    found = []
    for piece, begin, end in cuts(scenario):
        at_end, times, counts = [], [], []
        for page in range(4):
            own = [time for time, each in delivered if each == page]
            inside = [time for time in own if begin < time <= end]
            last = max((time for time in own if time <= begin), default=0.0)
            total = 0.0
            for one, other in zip([begin, *inside], [*inside, end], strict=True):
                part = quad(lambda t, page=page, last=last: stale(page, t, last), one, other)
                total += part[0]
                last = other
            at_end.append(stale(page, end, max([0.0, *(time for time in own if time <= end)])))
            times.append(total)
            counts.append(len(inside))
        found.append((begin, end, piece.query_factor, *map(np.array, (at_end, times, counts))))
    return found


@pytest.mark.parametrize("available", [1, 3])
def test_pages_in_a_fixed_order(available: int) -> None:
    """A robot that was off delivers the page that it had; the order goes on with the others."""
    scenario = system(CONSTANT, IN_ORDER, available).with_(
        "interventions.0.robots", 0 if available == 1 else 1
    )
    assert_told(scenario, followed(scenario, delivered_in_order(scenario, TEMPLATE, 0.7)))


@settings(max_examples=examples(20))
@given(
    st.lists(
        st.fixed_dictionaries(
            {"at": st.integers(0, 22).map(lambda n: n / 2), "until": st.just(11.5)},
            optional={
                "robots": st.integers(0, 3),
                "robot_speed": st.sampled_from([0.0, 0.5, 2.0]),
                "change_factor": st.sampled_from([0.0, 3.0]),
            },
        ).filter(lambda each: len(each) > 2),
        max_size=3,
    ),
    st.sampled_from([0.5, 0.7, 1.0, 0.1]),
)
def test_rounds_that_end_at_changes_and_observations(changes: list[Any], time: float) -> None:
    """What ends at a time belongs to the interval that ends then, whatever the rounding."""
    scenario = system({"deterministic": {"value": time}}, IN_ORDER, interventions=changes)
    delivered = delivered_in_order(scenario, TEMPLATE, time)
    delivered = [
        (near if abs(near - when) < 1e-9 else when, page)
        for when, page in delivered
        for near in [round(2 * when) / 2]
    ]
    told = course_of(scenario).course
    for page in range(4):
        counts = np.histogram(
            [-w for w, p in delivered if p == page], -np.append(told.times[::-1], 0)
        )
        assert told.columns["crawl_rate", page].tolist() == counts[0][::-1].tolist()


def test_rounds_with_pages_drawn_at_random() -> None:
    """Each of three robots in step brings the page with its share, at the end of each round."""
    scenario = system(
        CONSTANT, DRAWN, interventions=[], run={"horizon": 7.0, "warmup": 0.0, "observe": 7.0}
    )
    told = course_of(scenario).course.columns
    for page, (rate, share) in enumerate(zip(RATES, SHARES, strict=True)):
        stale = 0.0
        for _ in range(10):
            stale = (1 - (1 - stale) * math.exp(-0.7 * rate)) * (1 - share) ** 3
        assert_allclose(told["obsolescence_rate", page][-1], stale, atol=1e-14)
        assert_allclose(told["crawl_rate", page][-1], 3 * share / 0.7)


def test_rounds_with_pages_drawn_at_random_that_change_at_another_rate() -> None:
    """The same course, if all rates are so many times as large from the start."""
    run = {"horizon": 7.0, "warmup": 1.0, "observe": 1.75}
    changed = [{"at": 0.0, "change_factor": 2.5}]
    scenario = system(CONSTANT, DRAWN, interventions=changed, run=run)
    faster = {"change_rates": [2.5 * rate for rate in RATES], "weights": WEIGHTS}
    other = system(CONSTANT, DRAWN, interventions=[], run=run, pages=faster)
    found, expected = (course_of(each).course.columns for each in (scenario, other))
    for key in expected:
        assert_allclose(found[key][1:], expected[key][1:], atol=1e-14, err_msg=str(key))


def test_the_periodic_regime_is_where_a_long_course_ends() -> None:
    nightly = [
        {"at": 3.0, "until": 5.0, "every": 10.0, "robots": 1},
        {"at": 1.0, "until": 2.0, "every": 5.0, "change_factor": 3.0},
    ]
    run = {"horizon": 600.0, "warmup": 0.0, "observe": 2.5}
    erlang = {"erlang": {"shape": 2, "mean": 1.5}}
    for access, available in ((EXPONENTIAL, 3), (erlang, 2)):
        scenario = system(access, DRAWN, available, interventions=nightly, run=run)
        found = course_of(scenario)
        assert found.periodic is not None
        assert found.periodic.times.tolist() == [2.5, 5.0, 7.5, 10.0]
        for key, values in found.periodic.columns.items():
            assert_allclose(values, found.course.columns[key][-4:], atol=1e-12, err_msg=str(key))


def test_a_page_that_nobody_accesses_and_that_never_changes_is_up_to_date_every_day() -> None:
    nightly = [{"at": 3.0, "until": 5.0, "every": 10.0, "robots": 1}]
    pages = {"change_rates": [0.5, 0.0], "weights": [1.0, 1.0]}
    for access in (EXPONENTIAL, {"erlang": {"shape": 2, "mean": 1.5}}):
        policy = {"policy": "randomized", "frequencies": [1.0, 0.0]}
        scenario = system(access, policy, pages=pages, interventions=nightly)
        periodic = course_of(scenario).periodic
        assert periodic is not None
        assert not periodic.columns["obsolescence_rate", 1].any()
        assert 0 < periodic.columns["obsolescence_rate", 0].min() < 1


def test_what_is_not_known_says_why() -> None:
    in_order = course_of(system(EXPONENTIAL, IN_ORDER))
    assert "fixed order" in in_order.not_applicable[0].reason
    assert not in_order.course.columns
    constant = system(CONSTANT, DRAWN, interventions=[{**CHANGES[0], "every": 6.0}])
    assert "constant" in course_of(constant).not_applicable[0].reason


def test_deliveries_of_a_page_to_a_buffer_are_its_share() -> None:
    buffer = {"waiting_places": 2, "service": EXPONENTIAL, "discipline": "lifo"}
    scenario = system(EXPONENTIAL, DRAWN, buffer=buffer)
    told = course_of(scenario)
    for page, share in enumerate(SHARES):
        assert_allclose(
            told.course.columns["crawl_rate", page],
            share * told.course.columns["arrival_rate", None],
        )
    assert any("last come" in each.reason for each in told.not_applicable)
    predicted = {(row.measure, row.subject): row.value for row in predict(scenario)[0]}
    assert_allclose(predicted["crawl_rate", 1], 0.3 * predicted["arrival_rate", None], rtol=1e-12)


def test_robots_are_paid_for_as_long_as_they_are_active() -> None:
    """Three robots, but one from 3 to 5 and none from 9 on, up to 12."""
    scenario = system(EXPONENTIAL, DRAWN).with_({"costs.robots": 2.0})
    run = {"run.warmup": 2.0, "run.horizon": 12.0}
    changed = scenario.with_({**run, "interventions": [CHANGES[0], CHANGES[4]]})
    predictions, _ = predict(changed)
    (cost,) = [each.value for each in predictions if each.measure == "control_cost"]
    assert cost == pytest.approx(2.0 * (3 * (1 + 4) + 1 * 2) / 10.0)
