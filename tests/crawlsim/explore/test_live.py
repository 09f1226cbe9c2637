"""After n replications a page shows what `crawlsim run` prints, whoever simulated them."""

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from analytic import resolve
from crawlsim.explore.lesson import Opened, library
from crawlsim.explore.live import Run, _cycle_time, ends_count, require_short, simulate_some
from crawlsim.explore.theory import theory_of
from scenarios import ScenarioError, load, scenario_from
from sim.event_rate import expected_events
from sim.replicate import run


class Late(Executor):
    """Answers nothing until it is allowed to, as a process that still compiles."""

    def __init__(self) -> None:
        self.tasks: list[tuple[Future[Any], Any]] = []

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        task: Future[Any] = Future()
        self.tasks.append((task, lambda: work(*arguments, **named)))
        return task

    def answer(self) -> None:
        for task, work in self.tasks:
            if not task.done():
                task.set_result(work())


def assert_same(live: Run, n: int) -> None:
    look = live.look(n)
    results = run(live.scenario, replications=n)
    assert look.keys[0][0] == live.own[0]
    for (measure, subject), values in zip(look.keys, look.values.T, strict=True):
        estimate = results.find(measure, subject)
        assert estimate is not None
        expected = [estimate.estimate, estimate.low, estimate.high]
        assert np.array_equal(values[:3], expected, equal_nan=True), (measure, subject)


@pytest.mark.by_day("one-queue", "break-exponential", "thresholds", "probing", "peeking")
@pytest.mark.parametrize("lesson", library(), ids=lambda each: each.key)
def test_the_estimates_are_those_of_run_across_the_change_of_engines(lesson: Opened) -> None:
    executor = Late()
    own = lesson.lesson.measure, lesson.lesson.subject
    live = Run(resolve(lesson.scenario), own, executor)
    assert_same(live, 3)
    executor.answer()
    assert_same(live, 5)
    executor.answer()
    assert_same(live, 14)
    assert len(executor.tasks) >= 2


def test_an_earlier_look_can_be_taken_again() -> None:
    lesson = library()[0]
    with ThreadPoolExecutor(1) as executor:
        live = Run(lesson.scenario, ("loss_probability", None), executor)
        first = live.look(12).values
        live.look(20)
        assert np.array_equal(live.look(12).values, first, equal_nan=True)
        assert np.isnan(live.look(5).values[3:]).all()
        assert (live.look(20).values[3] < live.look(20).values[1])[0]


def test_what_every_replication_counts_alike_lies_within_its_band() -> None:
    """Ten robots are always active; the formula says 10.000000000000002."""
    lesson = next(each for each in library() if each.key == "more-robots")
    own = "mean_active_robots", None
    look = Run(lesson.scenario, own, Late()).look(12)
    exact = theory_of(lesson.scenario).known[own].value
    _, low, high, always_low, always_high = look.values[:, 0]
    assert low == high != exact
    assert always_low < exact < always_high


def test_whole_cycles_have_no_ends() -> None:
    golden = load("golden-ratio-246")
    assert not ends_count(golden.with_({"run.warmup": 17711.0, "run.horizon": 35422.0}))
    assert ends_count(golden.with_({"run.warmup": 0.0, "run.horizon": 40000.0}))
    assert not ends_count(load("one-robot"))


def test_the_other_process_simulates_what_this_one_would() -> None:
    scenario = library()[0].scenario
    (tally,) = simulate_some(scenario, 1, [3])
    assert tally.window == scenario.run.horizon - scenario.run.warmup


def test_a_replication_that_nobody_would_see_the_end_of_is_refused() -> None:
    scenario = library()[0].scenario
    events = expected_events(scenario)
    longest = scenario.run.horizon * 2e6 / events
    require_short(scenario.with_("run.horizon", 0.999 * longest))
    with pytest.raises(ScenarioError) as error:
        require_short(scenario.with_("run.horizon", 2.0 * longest))
    assert (error.value.key, error.value.value) == ("run.horizon", 2.0 * longest)
    assert error.value.allowed == (
        "makes about 4e+06 events in each replication, more than 2e+06: choose a shorter one"
    )


@pytest.mark.parametrize(
    ("routing", "cycle"),
    [({"period": [0, 1, 1]}, 6.0), ({"period": [0, 1]}, 4.0), ({"random": [0.5, 0.5]}, 2.0)],
)
def test_packets_that_come_by_the_clock_begin_anew_with_each_period(
    routing: dict[str, Any], cycle: float
) -> None:
    tables = {
        "name": "by-the-clock",
        "servers": {
            "rates": [1.0, 2.0],
            "arrivals": {"renewal": {"deterministic": {"value": 2.0}}},
            "routing": routing,
        },
    }
    assert _cycle_time(scenario_from(tables)) == cycle


@pytest.mark.parametrize(("robots", "accesses"), [(1, 6), (2, 3), (4, 3), (6, 1)])
def test_accesses_by_the_clock_begin_anew_when_robots_and_pages_meet_again(
    robots: int, accesses: int
) -> None:
    """Six accesses of a cycle, shared by robots that access at the same times."""
    tables = {
        "name": "by-the-clock",
        "pages": {"change_rates": [0.1, 0.2, 0.3]},
        "robots": {
            "available": robots,
            "access_time": {"deterministic": {"value": 0.5}},
            "accessing": {"policy": "cyclic", "template": [0, 1, 0, 2, 0, 1]},
        },
    }
    assert _cycle_time(scenario_from(tables)) == 0.5 * accesses


def test_what_comparisons_need_of_an_estimate_is_that_of_its_subject() -> None:
    scenario = library()[0].scenario.with_({"run.horizon": 60.0, "run.warmup": 10.0})
    live = Run(scenario, ("loss_probability", None), Late())
    live.look(6)
    results = run(scenario, replications=5, engine="simpy")
    for key in (("loss_probability", None), ("sojourn_time", "all"), ("sojourn_time", "served")):
        estimate = results.find(*key)
        assert estimate is not None
        found = live.estimated(key, 5)
        assert found.estimate == estimate.estimate
        assert found.leave_one_out.tolist() == list(results.leave_one_out[key])
