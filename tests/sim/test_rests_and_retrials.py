"""An indexer that rests, and pages that come back: short runs, by hand, in both engines."""

from __future__ import annotations

import math
from typing import Any

import pytest

import sim
from scenarios import Scenario, scenario_from
from sim import compiled_engine, rules, simpy_engine
from sim.tally import ConservationError, OrbitTally, RestsTally, Tally

ENGINES = {"compiled": compiled_engine.simulate, "simpy": simpy_engine.simulate}

CLOCKWORK: dict[str, Any] = {
    "name": "clockwork",
    "robots": {"available": 1, "access_time": {"deterministic": {"value": 1.0}}},
    "buffer": {
        "waiting_places": 5,
        "service": {"deterministic": {"value": 0.5}},
        "vacation": {"resume_at": 1},
        "retrial": {"rate": 1.0},
    },
    "run": {"horizon": 12.4, "warmup": 0.0, "replications": 2},
}
"""Pages come at 1, 2, 3, …; where all find room nobody comes back."""


def clockwork(changes: dict[str, Any]) -> Scenario:
    return scenario_from(CLOCKWORK).with_(changes)


@pytest.fixture(params=[pytest.param("compiled", marks=pytest.mark.as_python), "simpy"])
def simulate(request: Any) -> Any:
    return lambda changes: ENGINES[request.param](clockwork(changes), 0, 1)


def counted(tally: Tally) -> tuple[int, float, float, int, float]:
    """Pages indexed, times in the system, busy time, times that it resumed, set-up time."""
    assert tally.buffer is not None
    assert tally.batches is not None
    assert tally.rests is not None
    times = sum(tally.buffer.sojourn)
    rests = tally.rests
    served = tally.buffer.ended[rules.SERVED]
    return served, times, tally.batches.busy_time, rests.resumed, rests.set_up_time


AWAY = {"deterministic": {"value": 1.5}}
READY = {"deterministic": {"value": 0.75}}


@pytest.mark.parametrize(
    ("changes", "served", "times", "busy", "resumed", "set_up"),
    [
        # each page at once
        ({"buffer.set_up": None}, 11, 11 * 0.5, 5.9, 12, 0.0),
        # idle until 3, 7, 11; a page that comes when a service ends comes after it
        ({"buffer.vacation.resume_at": 3}, 10, 2 * 7.0 + 4.5, 5.4, 3, 0.0),
        # away from 1.5 to 3, 4 to 5.5, 7 to 8.5, 10 to 11.5
        ({"buffer.vacation": {"time": AWAY}}, 10, 0.5 + 2.5 + 2 * 4.5 + 2.0, 5.4, 5, 0.0),
        # ready at 1.75, 3.75, …: pages take 1.25 and 0.75 in turn
        ({"buffer.set_up": READY}, 11, 6 * 1.25 + 5 * 0.75, 5.65, 6, 4.5),
        # idle until 2; then away from 3 to 6 and from 9 to 12
        (
            {"buffer.vacation": {"time": {"deterministic": {"value": 3.0}}, "resume_at": 2}},
            *(8, (1.5 + 1.0) + (3.5 + 3.0 + 2.5 + 2.0 + 1.5 + 1.0), 4.4, 3, 0.0),
        ),
        # idle until 4; from 7 on away again and again, until it finds 7 to 10 at 10.75
        (
            {"buffer.vacation": {"time": {"deterministic": {"value": 0.75}}, "resume_at": 4}},
            *(9, (3.5 + 3.0 + 2.5 + 2.0 + 1.5 + 1.0) + (4.25 + 3.75 + 3.25), 4.65, 2, 0.0),
        ),
    ],
    ids=["no-rest", "n-policy", "vacations", "set-up", "both", "in-vain"],
)
def test_clockwork(
    simulate: Any,
    changes: dict[str, Any],
    served: int,
    times: float,
    busy: float,
    resumed: int,
    set_up: float,
) -> None:
    found = counted(simulate(changes))
    assert found == pytest.approx((served, times, busy, resumed, set_up), rel=1e-12)


@pytest.mark.thorough
def test_a_set_up_is_work_of_the_indexer_and_a_vacation_is_not(simulate: Any) -> None:
    """Nothing is done from 1.25 to 1.5: ready at 2 in place of 1.75, and back from vacation all
    the same."""
    outage = {"interventions": [{"at": 1.25, "until": 1.5, "service_speed": 0.0}]}
    tally = simulate(outage | {"buffer.set_up": READY, "run.horizon": 2.6})
    assert counted(tally) == pytest.approx((1, 1.5, 0.6, 1, 1.0), rel=1e-9)
    away = {"buffer.vacation": {"time": AWAY}, "run.horizon": 3.1}
    tally = simulate({**outage, **away})  # page 1 from 1 to 1.75, page 2 from 3.25 on
    assert counted(tally) == pytest.approx((1, 0.75, 0.75, 1, 0.0), rel=1e-9)


def test_pages_delivered_together_bring_it_back_together(simulate: Any) -> None:
    """Three at once find it idle: it resumes for each delivery once, though two would do."""
    together = {
        "robots.deliveries.modes": [{"bmap": {"D": [[[-0.2]], [[0.0]], [[0.0]], [[0.2]]]}}],
        "buffer.vacation.resume_at": 2,
        "run.horizon": 400.0,
    }
    tally = simulate(together)
    assert tally.buffer.delivered >= 3 * tally.rests.resumed > 100


@pytest.mark.parametrize("most", [None, 100, 3])
def test_pages_come_back_until_there_is_room(simulate: Any, most: int | None) -> None:
    """At three times the load the orbit grows far beyond its first slots, or loses pages."""
    retrial = {"rate": 0.3} if most is None else {"rate": 0.3, "most": most}
    slow = {"deterministic": {"value": 3.0}}
    changes = {"buffer.retrial": retrial, "buffer.service": slow, "run.horizon": 400.5}
    tally = simulate(changes | {"buffer.waiting_places": 0})
    orbit, buffer = tally.orbit, tally.buffer
    assert buffer.delivered == 400
    indexed, lost = buffer.ended[rules.SERVED], buffer.refused
    assert orbit.joined - orbit.left == orbit.inside_at_end
    assert indexed + lost + buffer.inside_at_end + orbit.inside_at_end == 400
    assert orbit.inside_at_end == 400 - indexed - 1 > 250 if most is None else lost > 100
    assert most is None or orbit.inside_at_end <= most


@pytest.mark.thorough
def test_pages_in_orbit_are_not_in_the_system_of_a_course(simulate: Any) -> None:
    slow = {"buffer.service": {"deterministic": {"value": 3.0}}, "buffer.waiting_places": 0}
    tally = simulate({**slow, "run.horizon": 400.0, "run.observe": 10.0})
    assert tally.course.level.max() == 1
    counts = tally.course.counts.sum(axis=0)
    outside = counts[rules.DELIVERED] - counts[rules.INDEXED] - tally.course.level[-1]
    assert outside == tally.orbit.inside_at_end > 200


@pytest.mark.thorough
def test_a_page_comes_back_at_the_rate_of_the_file() -> None:
    """One page at a time in orbit, before an indexer that is free at once: 1 / rate on average."""
    changes = {
        "robots.access_time": {"deterministic": {"value": 50.0}},
        "robots.available": 2,  # both at once
        "buffer.waiting_places": 0,
        "buffer.service": {"deterministic": {"value": 1e-6}},
        "buffer.retrial": {"rate": 0.4},
        "run": {"horizon": 50_001.0, "warmup": 0.0, "replications": 20},
    }
    orbit = sim.run(clockwork(changes)).find("mean_in_orbit")
    error = 2.5 / 50.0 / math.sqrt(20_000)  # 20 000 exponential times
    assert orbit.standard_error == pytest.approx(error, rel=0.5)
    assert abs(orbit.estimate - 2.5 / 50.0) < 4 * error


def test_tallies_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ConservationError, match="in orbit are not there"):
        OrbitTally(3, 1, 1.0, 0, 1).check(10.0, 10.0)
    with pytest.raises(ConservationError, match="longer than the window"):
        OrbitTally(3, 1, 31.0, 0, 2).check(10.0, 10.0)
    with pytest.raises(ConservationError, match="set up longer"):
        RestsTally(3, 11.0).check(10.0, 10.0)


def test_the_log_says_who_comes_back() -> None:
    """Each page is in orbit before it comes back, and enters once."""
    changes = {"buffer.waiting_places": 0, "buffer.service": {"deterministic": {"value": 1.4}}}
    events = [event for _, _, event, *_ in log_of(clockwork(changes))]
    orbit, back = events.count("orbit"), events.count("retrial")
    assert 0 < back <= orbit
    assert events.count("delivery") + orbit == 12
    assert "loss" not in events


def log_of(scenario: Scenario) -> list[Any]:
    log: list[Any] = []
    simpy_engine.simulate(scenario, 0, 1, log=_Rows(log))  # type: ignore[arg-type]  # adds rows
    return log


class _Rows:
    def __init__(self, rows: list[Any]) -> None:
        self.add = rows.append


def test_rare_losses_keep_no_orbit() -> None:
    with pytest.raises(Exception, match=r"buffer\.retrial"):
        sim.rare_losses(clockwork({}))
