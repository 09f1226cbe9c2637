"""Robots that are always heard together are counted: against the phase of each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from systems import queue

from analytic import predict
from analytic.indexing_queue import batches, chain_of, measures, priorities, unordered_sojourns
from analytic.machinery.active_robots import numbers_in_use
from analytic.machinery.arrival_process import delivery_modes, joint_order, start_phases
from analytic.transient import formulas
from analytic.transient import pages as pages_over_time
from analytic.transient import queue as queue_over_time
from scenarios import Scenario
from scenarios.model import fleet_under
from scenarios.sections import Robots

USERS = (measures, batches, priorities, unordered_sojourns, formulas, pages_over_time)
"""Modules that ask for the numbers in use, with `queue_over_time`."""

LAWS: tuple[dict[str, Any], ...] = (
    {"erlang": {"shape": 2, "mean": 3.0}},
    {"hyperexponential": {"probabilities": [0.9, 0.1], "rates": [1.0, 0.05]}},
    {"phase-type": {"alpha": [0.6, 0.3, 0.1], "T": [[-2, 1, 0], [0.2, -1, 0.3], [0, 0, -0.3]]}},
    {"map": {"D0": [[-1.5, 0.1], [0.2, -0.6]], "D1": [[1.4, 0.0], [0.0, 0.4]]}},
)


def system(seed: int) -> Scenario:
    """A random queue behind two to five robots."""
    random = np.random.default_rng(seed)
    robots = int(random.integers(2, 6))
    capacity = int(random.integers(1, 5))

    def some(*of: Any) -> Any:
        return of[int(random.integers(len(of)))]

    law = some(*LAWS) if robots < 5 else some(*LAWS[:2])
    changes: dict[str, Any] = {"robots": {"available": robots, "access_time": law}}
    if random.random() < 0.3:
        slow = int(random.integers(1, robots))
        laws = law, some(*LAWS[:2])
        each = zip((robots - slow, slow), laws, strict=True)
        classes = [{"available": number, "access_time": one} for number, one in each]
        changes["robots"] = {"classes": classes}
    elif random.random() < 0.4:
        changes["robots"]["failure"] = {"probability": 0.3}
    less = int(random.integers(robots))
    levels = np.sort(random.choice([robots, less], capacity + 2))[::-1].tolist()
    changes["activation"] = some(
        {"static": robots - less},
        {"threshold": {"robots": [robots, less], "at": [1]}},
        {"threshold": {"robots": [robots, less], "at": [1], "back": [0]}},
        {"levels": levels},
    )
    changes["buffer.waiting_places"] = capacity
    changes["buffer.servers"] = some(1, 1, 2)
    if changes["buffer.servers"] == 2:
        changes["buffer.waiting_places"] = capacity
        if "levels" in changes["activation"]:
            changes["activation"] = {"static": robots - less}
    changes["buffer.discipline"] = some("fifo", "lifo")
    changes["buffer.service"] = some({"exponential": {"rate": 1.0}}, LAWS[1])
    if random.random() < 0.3:
        limit = int(random.integers(robots + 1))
        changes["interventions"] = [
            {"at": 3.0, "until": 5.0, "robots": limit},
            {"at": 4.0, "until": 8.0, "robot_speed": 2.0},
        ]
        changes |= {"run.horizon": 12.0, "run.warmup": 1.0}
    return queue(changes)


def answers(scenario: Scenario) -> dict[tuple[Any, ...], float]:
    return {(row.measure, row.subject, row.source): row.value for row in predict(scenario)[0]}


def compared(seed: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the robots of a system are counted at all; their answers are those of each robot."""
    scenario = system(seed)
    found = answers(scenario)

    def every_number(given: Scenario) -> list[int]:
        return [*range(max(numbers_in_use(given)) + 1)]

    with monkeypatch.context() as patched:
        for module in (*USERS, queue_over_time):
            patched.setattr(module, "numbers_in_use", every_number)
        expected = answers(scenario.with_("name", "each-robot"))  # another name: nothing remembered
    assert found.keys() >= expected.keys()

    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-10, abs=1e-12, nan_ok=True), key
    fleet = scenario.model.fleet
    assert fleet is not None
    orders = [joint_order(fleet, each(scenario)) for each in (numbers_in_use, every_number)]
    return bool(expected) and orders[0] < orders[1]


@pytest.mark.parametrize("seed", range(6))
def test_counted_robots_are_those_robots(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compared(seed, monkeypatch)


@pytest.mark.nightly
def test_two_hundred_systems_of_counted_robots(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(compared(seed, monkeypatch) for seed in range(200)) > 100


def test_a_number_that_is_not_in_use_has_no_deliveries() -> None:
    fleet = fleet_under(Robots.model_validate({"available": 4, "access_time": LAWS[0]}))
    modes = delivery_modes(fleet, [2, 4])
    known = ~np.isnan(modes).any(axis=(1, 2, 3))
    assert known.tolist() == [True, False, True, False, True]
    assert np.isnan(modes[[1, 3]]).all()
    law = start_phases(fleet, [2, 4], modes, 0)
    assert law.tolist() == pytest.approx([1.0, *[0.0] * 8])


def test_thirty_eight_robots_start_with_an_access_each() -> None:
    """How many of them have begun a short access: binomial."""
    fleet = fleet_under(Robots.model_validate({"available": 38, "access_time": LAWS[1]}))
    law = start_phases(fleet, [38], delivery_modes(fleet, [38]), 38)
    short = np.arange(38, -1, -1)
    assert law.sum() == pytest.approx(1.0, rel=1e-12)
    assert float(law @ short) == pytest.approx(38 * 0.9, rel=1e-12)
    assert float(law @ short**2) == pytest.approx(38 * 0.09 + (38 * 0.9) ** 2, rel=1e-12)


def test_groups_of_robots_lie_between_the_numbers_in_use() -> None:
    changes = {"robots": {"available": 40, "access_time": LAWS[1]}}
    rule = {"activation.threshold": {"robots": [40, 20], "at": [2]}}
    assert chain_of(queue(changes | {"activation.static": 38})).order == 39
    assert chain_of(queue(changes | rule)).order == 21 * 21
