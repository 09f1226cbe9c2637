"""Nothing is lost or invented: exact identities of every replication."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from systems import EVERY_KIND, queue

import sim
from sim import rules
from sim.simpy_engine import simulate
from sim.tally import BufferTally, ConservationError, Tally


@pytest.mark.parametrize("name", EVERY_KIND)
def test_every_kind_of_system_conserves_pages_and_time(name: str) -> None:
    """`simulate` itself raises unless pages, level times and Little's law add up."""
    scenario = EVERY_KIND[name]
    tally = simulate(scenario, replication=0, seed=3)
    assert tally.buffer.delivered > 0 or name == "nothing-active"
    assert math.fsum(tally.buffer.level_time) == pytest.approx(tally.window, rel=1e-12)


@pytest.mark.parametrize("name", EVERY_KIND)
def test_the_same_seed_gives_the_same_path(name: str) -> None:
    scenario = EVERY_KIND[name]
    assert simulate(scenario, 1, seed=5) == simulate(scenario, 1, seed=5)
    if name != "deterministic" and name != "nothing-active":
        assert simulate(scenario, 1, seed=5) != simulate(scenario, 1, seed=6)
        assert simulate(scenario, 1, seed=5) != simulate(scenario, 2, seed=5)


def spoiled(tally: Tally, **changes: object) -> Tally:
    return replace(tally, buffer=replace(tally.buffer, **changes))


@pytest.fixture(scope="module")
def tally() -> Tally:
    return simulate(queue({"activation.static": 3}), 0, seed=1)


@pytest.mark.parametrize("field", ["delivered", "refused", "inside_at_start", "inside_at_end"])
def test_one_page_too_many_is_noticed(tally: Tally, field: str) -> None:
    wrong = spoiled(tally, **{field: getattr(tally.buffer, field) + 1})
    with pytest.raises(ConservationError, match="accounted for"):
        wrong.check(400.0, 3)


@pytest.mark.parametrize("fate", [rules.SERVED, rules.OBSOLETE])
def test_one_sojourn_that_is_off_by_a_millionth_is_noticed(tally: Tally, fate: int) -> None:
    sums = list(tally.buffer.sojourn)
    sums[fate] *= 1 + 1e-6
    with pytest.raises(ConservationError, match="Little"):
        spoiled(tally, sojourn=tuple(sums)).check(400.0, 3)


def test_level_times_that_do_not_fill_the_window_are_noticed(tally: Tally) -> None:
    times = list(tally.buffer.level_time)
    times[0] += 1e-3
    with pytest.raises(ConservationError, match="window"):
        spoiled(tally, level_time=tuple(times)).check(400.0, 3)


def test_more_active_robots_than_there_are_is_noticed(tally: Tally) -> None:
    with pytest.raises(ConservationError, match="robots"):
        replace(tally, robots_time=3.001 * tally.window).check(400.0, 3)


def test_active_robots_of_no_class_or_of_two_are_noticed(tally: Tally) -> None:
    time = tally.robots_time
    replace(tally, class_time=(0.25 * time, 0.75 * time)).check(400.0, 3)
    with pytest.raises(ConservationError, match="of no class"):
        replace(tally, class_time=(0.25 * time, 0.74 * time)).check(400.0, 3)
    with pytest.raises(ConservationError, match="negative"):
        replace(tally, class_time=(-0.25 * time, 1.25 * time)).check(400.0, 3)


def test_the_window_counts_what_ends_in_it() -> None:
    """Windows that follow one another count every page once, and the time between them."""
    whole = simulate(queue({"run.warmup": 0.0, "run.horizon": 300.0}), 0, seed=2)
    first = simulate(queue({"run.warmup": 0.0, "run.horizon": 120.0}), 0, seed=2)
    second = simulate(queue({"run.warmup": 120.0, "run.horizon": 300.0}), 0, seed=2)
    assert first.buffer.delivered + second.buffer.delivered == whole.buffer.delivered
    for fate in range(4):
        both = first.buffer.ended[fate] + second.buffer.ended[fate]
        assert both == whole.buffer.ended[fate]
    assert first.buffer.inside_at_end == second.buffer.inside_at_start
    for level, time in enumerate(whole.buffer.level_time):
        parts = first.buffer.level_time[level] + second.buffer.level_time[level]
        assert parts == pytest.approx(time, rel=1e-12, abs=1e-9)


def test_events_at_the_warmup_come_before_the_cut_and_those_at_the_horizon_are_processed() -> None:
    """Deliveries at 2, 4, …; service 1: with the window (4, 8] the deliveries at 6 and 8 count."""
    regular = queue(
        {
            "robots.available": 1,
            "activation.static": 1,
            "robots.access_time.deterministic.value": 2.0,
            "buffer.service.deterministic.value": 1.0,
            "buffer.obsolescence": "never",
            "run.warmup": 4.0,
            "run.horizon": 8.0,
        }
    )
    counted = simulate(regular, 0, seed=1).buffer
    assert (counted.delivered, counted.inside_at_start, counted.inside_at_end) == (2, 1, 1)
    assert counted.ended == (2, 0, 0, 0)
    assert counted.level_time[:2] == (2.0, 2.0)


def test_a_service_that_ends_at_the_time_of_a_delivery_makes_room_for_it() -> None:
    """Delivery every unit, service one unit, no waiting place: nothing is ever lost."""
    tight = queue(
        {
            "robots.available": 1,
            "activation.static": 1,
            "robots.access_time.deterministic.value": 1.0,
            "buffer.service.deterministic.value": 1.0,
            "buffer.obsolescence": "never",
            "buffer.waiting_places": 0,
        }
    )
    counted = simulate(tight, 0, seed=1).buffer
    assert counted.refused == 0
    assert counted.level_time[0] == 0.0


def test_a_service_end_comes_before_the_obsolescence_of_the_next_page() -> None:
    """Pages at 1, 1 (two robots); service 1, timer 1: at 2 the waiting page is picked up first."""
    tie = queue(
        {
            "robots.available": 2,
            "activation.static": 2,
            "robots.access_time.deterministic.value": 1.0,
            "buffer.service.deterministic.value": 1.0,
            "buffer.obsolescence.deterministic.value": 1.0,
            "buffer.waiting_places": 5,
            "run.warmup": 0.0,
            "run.horizon": 2.0,
        }
    )
    counted = simulate(tie, 0, seed=1).buffer
    assert counted.ended[rules.SERVED] == 1
    assert counted.ended[rules.OBSOLETE] == 0


def test_a_robot_switched_off_by_a_threshold_keeps_running() -> None:
    """Trips of 1 by two robots, one active above level 0: at time 1 robot 0's page is in."""
    paced = queue(
        {
            "robots.available": 2,
            "activation.threshold": {"robots": [2, 1], "at": [0]},
            "robots.access_time.deterministic.value": 1.0,
            "buffer.service.deterministic.value": 1.5,
            "buffer.obsolescence": "never",
            "run.warmup": 0.0,
            "run.horizon": 3.25,
        }
    )
    # Robot 0 delivers at 1, 2, 3. Robot 1's trips end at 1, 2, 3 as well, always above level 0.
    assert simulate(paced, 0, seed=1).buffer.delivered == 3


@pytest.mark.thorough
def test_run_gives_the_same_results_on_any_executor() -> None:
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from multiprocessing import get_context

    scenario = queue()
    alone = sim.run(scenario)
    with ThreadPoolExecutor(2) as threads:
        assert sim.run(scenario, executor=threads) == alone
    with ProcessPoolExecutor(3, get_context("spawn")) as processes:
        assert sim.run(scenario, executor=processes) == alone


def scripted(changes: dict[str, object]) -> BufferTally:
    """One robot delivers at 1, 2, 3, …; pages never go stale."""
    regular = queue(
        {
            "robots.available": 1,
            "activation.static": 1,
            "robots.access_time.deterministic.value": 1.0,
            "buffer.obsolescence": "never",
            "run.warmup": 0.0,
            **changes,
        }
    )
    counted = simulate(regular, 0, seed=1).buffer
    assert counted is not None
    return counted


@pytest.mark.parametrize(("discipline", "second"), [("fifo", 6.0 - 2.0), ("lifo", 6.0 - 3.0)])
def test_the_discipline_says_which_waiting_page_is_next(discipline: str, second: float) -> None:
    """Service 2.5: at 3.5 the pages of 2 and 3 wait; one of them is served until 6."""
    changes = {"buffer.discipline": discipline, "run.horizon": 6.25}
    counted = scripted(changes | {"buffer.service.deterministic.value": 2.5})
    assert counted.ended[rules.SERVED] == 2
    assert counted.sojourn[rules.SERVED] == 2.5 + second


def test_push_out_loses_the_page_that_has_waited_longest() -> None:
    """Two places, nobody served: at 4 the page of 2 goes, at 5 that of 3, after 2 each."""
    changes = {"buffer.waiting_places": 2, "buffer.when_full": "push-out", "run.horizon": 5.5}
    counted = scripted(changes | {"buffer.service.deterministic.value": 50.0})
    assert counted.ended[rules.PUSHED_OUT] == counted.lost == 2
    assert counted.sojourn[rules.PUSHED_OUT] == 4.0
    assert counted.refused == 0


def test_a_full_buffer_without_push_out_refuses_the_new_page() -> None:
    changes = {"buffer.waiting_places": 2, "run.horizon": 5.5}
    counted = scripted(changes | {"buffer.service.deterministic.value": 50.0})
    assert (counted.refused, counted.lost, counted.inside_at_end) == (2, 2, 3)


@pytest.mark.parametrize(("unit", "deliveries"), [(1.0, 40), (0.125, 40), (0.1, 39)])
def test_times_are_the_same_if_they_are_equal_as_numbers(unit: float, deliveries: int) -> None:
    """The 40th access ends at the horizon; forty times 0.1 added up is more than 4.0."""
    scenario = queue(
        {
            "robots": {"available": 1, "access_time": {"deterministic": {"value": unit}}},
            "activation": {"static": 1},
            "run": {"horizon": 40 * unit, "warmup": 0.0, "replications": 1},
        }
    )
    assert simulate(scenario, 0, seed=1).buffer.delivered == deliveries
