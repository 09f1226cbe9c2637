"""Warm-ups that are too short for what is known of a system, and the warnings about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from systems import queue

import sim
from analytic import (
    Prediction,
    check_scenario,
    compare,
    overall,
    predict,
    relaxation_time_of,
    resolve,
    start_up_times,
    suggested_warmup,
)
from analytic.indexing_queue import empty_probability, stays_of
from analytic.machinery.phase_type import as_phase_type, phase_count
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import survival
from analytic.transient.queue import QueueOverTime
from analytic.transient.queue_start import _squared_variation, idle_starts, rates_at_levels
from analytic.transient.recovery import settling_time
from analytic.transient.start_up import (
    IN_STEP,
    StartShifts,
    _warm_up_needs,
    remembered_starts,
)
from scenarios import Scenario, dumps, library_names, load, scenario_from
from scenarios.accessing.golden_ratio import GoldenRatio
from scenarios.deliveries import as_modes, joint_size
from scenarios.laws import Gamma, Pareto
from scenarios.model import present

CYCLE = "the cycle of the pages"
GAMMA = {"shape": 2.5, "mean": 1.0}
LAWS = {
    "exponential": {"exponential": {"mean": 1.0}},
    "erlang": {"erlang": {"shape": 3, "mean": 1.0}},
    "hyperexponential": {"hyperexponential": {"probabilities": [0.5, 0.5], "rates": [1.0, 2.0]}},
    "phase-type": {"phase-type": {"alpha": [1.0, 0.0], "T": [[-1.0, 1.0], [0.0, -2.0]]}},
}
MMPP = {"mmpp": {"Q": [[-0.01, 0.01], [0.03, -0.03]], "rates": [1.0, 2.0]}}


IN_BATCHES = {
    "name": "batches",
    "robots": {"available": 40, "access_time": {"exponential": {"mean": 0.8}}},
    "run": {"horizon": 4000.0, "warmup": 400.0, "replications": 4},
}


def pages(accessing: dict[str, Any], **changes: Any) -> Scenario:
    """Four pages and two robots; an access takes 10."""
    base = scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": [1.0, 0.001, 0.01, 0.0]},
            "robots": {
                "available": 2,
                "access_time": {"exponential": {"mean": 10.0}},
                "accessing": accessing,
            },
        }
    )
    return base.with_(changes) if changes else base


def test_the_cycle_of_a_periodic_policy_by_hand() -> None:
    assert start_up_times(pages({"policy": "round-robin"})) == [(CYCLE, 20.0)]
    assert start_up_times(pages({"policy": "round-robin"}, **{"activation.static": 1})) == [
        (CYCLE, 40.0)
    ]


def test_a_page_that_is_never_visited_waits_for_its_first_change() -> None:
    """Pages 1, 2 and 3 are never accessed; page 3 never changes."""
    times = start_up_times(pages({"policy": "cyclic", "template": [0, 0]}))
    first = "the mean time to the first change of page 1, which is never accessed"
    assert times == [(CYCLE, 10.0), (first, pytest.approx(1000.0))]


def test_the_rarest_page_of_random_choices_by_hand() -> None:
    shares = [0.5, 0.0, 0.49, 0.01]
    (visit, change) = start_up_times(pages({"policy": "randomized", "frequencies": shares}))
    assert visit == ("the mean time between accesses of page 3", pytest.approx(500.0))
    assert change[1] == pytest.approx(1000.0)


def test_a_phase_of_the_access_times_by_hand() -> None:
    """Phases change at 0.01 and 0.03: relaxation 1 / 0.04; 1.25 accesses per time of a robot."""
    scenario = pages({"policy": "round-robin"}, **{"robots.access_time": MMPP})
    assert start_up_times(scenario) == [
        ("the relaxation time of the access times", pytest.approx(25.0)),
        (CYCLE, pytest.approx(4 / 2.5)),
    ]


def test_a_phase_of_the_arrivals_of_packets_by_hand() -> None:
    scenario = load("routing-two-servers").with_("servers.arrivals", MMPP)
    assert start_up_times(scenario) == [
        ("the relaxation time of the arrivals", pytest.approx(25.0))
    ]


def test_where_nothing_is_known_nothing_is_said() -> None:
    """No robot works; deliveries are a joint process; a phase that never changes."""
    stuck = {"map": {"D0": [[-1.0, 0.0], [0.0, -2.0]], "D1": [[1.0, 0.0], [0.0, 2.0]]}}
    joint = {"modes": [{"poisson": {"rate": 1.0}}, {"poisson": {"rate": 2.0}}]}
    for change in (
        {"activation.static": 0},
        {"robots.deliveries": joint},
        {"robots.access_time": stuck},
    ):
        assert start_up_times(pages({"policy": "round-robin"}, **change)) == []
    optimal = pages({"policy": "randomized", "frequencies": "optimal"})
    assert start_up_times(optimal) == []


APART = "the time until pages that are first due at once have come apart"


@pytest.mark.parametrize(
    ("access", "accesses"),
    [
        # A cycle lasts 8 + 10; the mean square around the mean is 12, 100, and 2 × 324.
        ({"uniform": {"low": 4.0, "high": 16.0}}, 18.0**2 / (2 * 12.0)),
        ({"exponential": {"mean": 10.0}}, 18.0**2 / (2 * 100.0)),
        ({"gamma": {"mean": 10.0, "sd": 18.0 * 2**0.5}}, 1.0),
        ({"deterministic": {"value": 10.0}}, None),
    ],
)
def test_pages_that_are_due_at_once_come_apart_by_the_spread_of_accesses(
    access: dict[str, Any], accesses: float | None
) -> None:
    due = {"policy": "due", "intervals": [3.0, 8.0, float("inf"), 5.0], "first": "at-once"}
    scenario = pages(due, **{"robots.access_time": access})
    times = dict(start_up_times(scenario))
    assert times.get(APART) == (accesses and pytest.approx(18.0 * accesses, rel=1e-12))
    spread = scenario.with_("robots.accessing.first", "spread")
    assert APART not in dict(start_up_times(spread))
    never = scenario.with_("robots.accessing.intervals", float("inf"))
    assert APART not in dict(start_up_times(never))


def test_batches_whose_services_grow_with_their_pages_fall_out_of_step_by_both_spreads() -> None:
    """20 pages of 0.05 ± 0.01 on top of 0.25 ± 0.03: 1.25, and a variance of 0.0009 + 20 × 0.0001.

    The mean square of a batch around its mean is what the squares of both parts leave.
    """
    uniform = {"uniform": {"mean": 0.25, "sd": 0.03}}
    base = in_batches(uniform, **{"robots.available": 400, "run.horizon": 1e6})
    batch = {"most": 20, "per_page": {"uniform": {"mean": 0.05, "sd": 0.01}}}
    scenario = base.with_("buffer.batch", batch)
    times = dict(start_up_times(scenario))
    name = "the time until the indexers have fallen out of step"
    spread = (0.03**2 + 20 * 0.01**2) / 1.25**2
    assert times[name] == pytest.approx(1.25 / (2 * spread), rel=1e-9)


def test_what_does_not_settle_has_its_relaxation_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytic.transient.recovery._MOST_DOUBLINGS", 1)
    scenario = queue({"run.seed": 5})  # not remembered
    with pytest.raises(NoAnswerError, match=r"^the queue does not settle$"):
        settling_time(QueueOverTime(scenario), 0.001)
    assert start_up_times(scenario) == [
        ("the relaxation time of the queue", relaxation_time_of(scenario))
    ]


def test_of_a_large_process_no_relaxation_time_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytic.transient.start_up._LARGEST_ORDER", 2)
    scenario = pages({"policy": "round-robin"}, **{"robots.access_time": MMPP})
    assert len(start_up_times(scenario)) == 2
    monkeypatch.setattr("analytic.transient.start_up._LARGEST_ORDER", 1)
    assert start_up_times(scenario) == [(CYCLE, pytest.approx(4 / 2.5))]


# The stand-in of a queue


def test_the_rates_of_a_stand_in_by_hand() -> None:
    """Three robots of 0.7 below level 3, one from there on; two servers, and impatient pages."""
    scenario = queue({"buffer.servers": 2, "buffer.waiting_places": 2})
    births, deaths = rates_at_levels(scenario)
    assert births == pytest.approx([2.1, 2.1, 2.1, 0.7])
    assert deaths == pytest.approx([1.0, 2.0, 2.0 + 1 / 4, 2.0 + 2 / 4])
    failing, _ = rates_at_levels(scenario.with_("robots.failure", {"probability": 0.25}))
    assert failing == pytest.approx(0.75 * births)


def test_the_pages_of_a_batch_are_served_on_top_of_it() -> None:
    """Four pages of 0.5 each and 2 for the batch: each page departs alone at a quarter."""
    batch = {"most": 4, "per_page": {"deterministic": {"value": 0.5}}}
    service = {"exponential": {"mean": 2.0}}
    scenario = in_batches(service, **{"buffer.batch": batch, "buffer.waiting_places": 10})
    _, deaths = rates_at_levels(scenario)
    servers = len(deaths) - 10
    busy = np.minimum(np.arange(1, len(deaths) + 1), servers)
    assert deaths == pytest.approx(busy / 4.0)


def test_robots_that_are_switched_one_by_one_stand_for_those_that_are_aimed_at() -> None:
    targets = [[3, 3, 2, 1, 0], [3, 2, 2, 1, 1]]
    by_phase = {"phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.0, -0.8]]}}
    changes = {"activation": {"switching": {"targets": targets}}, "buffer.service": by_phase}
    births, _ = rates_at_levels(queue(changes))
    assert births == pytest.approx(0.7 * np.array([3, 3, 2, 1]))


CHOICES = {
    "robots": {"classes": [{"available": 1, "access_time": {"exponential": {"mean": 1.0}}}]},
    "activation": {"switching": {"choices": [[0, -1]] * 5}},
}
SPACED = {
    "pages": {"change_rates": [1.0, 2.0], "hosts": [0, 1]},
    "robots": {
        "available": 1,
        "access_time": {"exponential": {"mean": 1.0}},
        "host_spacing": 1.0,
        "accessing": {"policy": "round-robin"},
    },
    "activation": None,
    "buffer.obsolescence": "never",
}
STUCK = {"bmap": {"D": [[[-1.0, 0.0], [0.0, -2.0]], [[1.0, 0.0], [0.0, 2.0]]]}}
JOINTLY = {
    "robots": {"available": 1, "deliveries": {"modes": [STUCK]}},
    "activation": None,
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (SPACED, "how often robots deliver depends on the spacing of hosts"),
        (CHOICES, "which robots are active depends on their classes"),
        (JOINTLY, "the phase of the deliveries depends on where it started"),
    ],
    ids=["spaced", "choices", "stuck"],
)
def test_where_rates_are_not_known_nobody_finds_an_idle_indexer(
    changes: dict[str, Any], said: str
) -> None:
    scenario = queue(changes)
    with pytest.raises(NoAnswerError) as caught:
        rates_at_levels(scenario)
    assert str(caught.value) == said
    assert idle_starts(scenario) == 0.0


def test_deliveries_that_find_an_idle_indexer_are_those_of_a_markovian_queue() -> None:
    """Poisson deliveries to the two servers of M/M/2/4, whose law is a product."""
    changes = {
        "robots.available": 1,
        "activation": None,
        "buffer": {"servers": 2, "waiting_places": 2, "service": {"exponential": {"rate": 1.0}}},
    }
    scenario = queue(changes)
    weights = np.array([1.0, 0.7, 0.7**2 / 2, 0.7**3 / 4, 0.7**4 / 8])
    assert idle_starts(scenario) == pytest.approx(0.7 * weights[:2].sum() / weights.sum())
    assert idle_starts(scenario.with_("activation", {"static": 0})) == 0.0


@pytest.mark.parametrize("places", [0, 1])
def test_a_page_has_left_at_the_end_of_a_busy_period(places: int) -> None:
    """Without waiting places that is the service; with one, by the two equations of M/M/1/2."""
    changes = {"buffer.waiting_places": places, "buffer.service": {"exponential": {"mean": 0.5}}}
    queue = load("one-robot", changes)
    arrivals = 0.8
    longest = 0.5 if places == 0 else (2.0 + arrivals) / 2.0**2
    assert present(stays_of(queue)).longest == pytest.approx(longest, rel=1e-12)


def test_a_large_queue_has_its_relaxation_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytic.transient.start_up._FOLLOWED_AT_ONCE", 1)
    scenario = queue({"run.seed": 3})  # not remembered
    assert start_up_times(scenario) == [
        ("the relaxation time of the queue", relaxation_time_of(scenario))
    ]


@pytest.mark.by_day(
    every=3,
    besides=(
        "bursty-robots",
        "marked-robots",
        "optimal-switching-by-phase",
        "optimal-switching-response",
        "optimal-thresholds-variable-patience",
        "pipeline-bigger-buffer",
        "shops-at-dawn",
        "talim-optimal-switching",
        "talim-switching",
    ),
)
@pytest.mark.parametrize("name", library_names())
def test_no_ready_scenario_has_a_short_warmup(name: str) -> None:
    scenario = resolve(load(name))
    assert remembered_starts(scenario) == []


def test_a_golden_cycle_that_is_too_short_by_hand() -> None:
    """3 slots at 0.6, 0.2, 0.2 are 1.8, 0.6, 0.6 slots: 2, 1 and none; 0 wants none."""
    shares = np.array([0.6, 0.2, 0.2, 0.0])
    assert GoldenRatio(policy="golden-ratio", cycle=3).without_slot(shares) == 1
    assert GoldenRatio(policy="golden-ratio", cycle=1).without_slot(shares) == 2
    assert GoldenRatio(policy="golden-ratio", cycle=5).without_slot(shares) == 0
    assert GoldenRatio(policy="golden-ratio").without_slot(shares) == 0


def test_each_short_warmup_has_one_line(crawlsim: Any, tmp_path: Path) -> None:
    accessing = {"policy": "golden-ratio", "frequencies": [0.6, 0.2, 0.2, 0.0], "cycle": 1}
    short = {"run.warmup": 1.0, "run.horizon": 200.0, "run.replications": 2}
    file = tmp_path / "pages.toml"
    file.write_text(dumps(pages(accessing, **short)))
    said = crawlsim("run", str(file), "--json")[2].splitlines()
    lines = [line for line in said if "compiling the engine" not in line]
    doubted = "it may bias obsolescence_rate, index_age, weighted_obsolescence, "
    doubted += "stale_answer_probability, time_to_refresh, control_cost"
    assert [line.partition("pages: ")[2] for line in lines] == [
        f"the warm-up (1 time unit) is shorter than 1.01 times the cycle of the pages (5 time "
        f"units); {doubted}",
        "the warm-up (1 time unit) is shorter than 10 times the mean time to the first change of "
        f"page 1, which is never accessed (1000 time units); {doubted}",
        "the golden cycle of length 1 never accesses 2 pages with a positive frequency",
    ]


HUGE = {"erlang": {"shape": 1_000_000, "mean": 1.0}}


@pytest.mark.parametrize("place", ["buffer.service", "buffer.obsolescence", "robots.access_time"])
def test_a_law_of_a_million_phases_is_known_before_it_is_built(place: str) -> None:
    """Its matrix would take 7 TiB, for a hint."""
    scenario = queue({place: HUGE})
    ((name, time),) = start_up_times(scenario)
    assert name == "the time in which the queue forgets that it was empty"
    assert 5.0 < time < 60.0
    assert relaxation_time_of(scenario) is None
    predictions, others = predict(scenario)
    solved_without_phases = place != "robots.access_time"
    assert any(row.kind == "exact" for row in predictions) == solved_without_phases
    assert any("have 1000000 phases; at most 4096 are solved" in each.reason for each in others)


def test_a_renewal_process_of_a_million_phases_is_known_before_it_is_built() -> None:
    scenario = pages({"policy": "round-robin"}, **{"robots.access_time": {"renewal": HUGE}})
    assert start_up_times(scenario) == [(CYCLE, pytest.approx(2.0))]
    predict(scenario)


def test_timers_with_phases_in_a_huge_buffer_are_known_before_their_states_are_counted() -> None:
    """A number of 300,000 digits for each of a million levels."""
    timers = {"erlang": {"shape": 2, "mean": 1.0}}
    scenario = queue({"buffer.obsolescence": timers, "buffer.waiting_places": 1_000_000})
    assert relaxation_time_of(scenario) is None


def test_how_rare_the_empty_queue_is_needs_the_chain_alone() -> None:
    scenario = queue()
    rows, _ = predict(scenario)
    (starved, *_) = [row.value for row in rows if row.measure == "starvation_probability"]
    assert empty_probability(scenario) == pytest.approx(starved, rel=1e-12)


@pytest.mark.parametrize("law", [*LAWS, "gamma"])
def test_phases_are_counted_without_being_built(law: str) -> None:
    scenario = queue({"buffer.service": {**LAWS, "gamma": {"gamma": GAMMA}}[law]})
    assert scenario.buffer is not None
    built = as_phase_type(scenario.buffer.service)
    count = phase_count(scenario.buffer.service)
    assert count == (None if built is None else len(built.start))


POISSON = {"poisson": {"rate": 1.0}}
BATCHES = {"bmap": {"D": [[[-3.0]], [[1.0]], [[2.0]]]}}
TWO_PHASES = {"mmpp": {"Q": [[-1.0, 1.0], [1.0, -1.0]], "rates": [1.0, 2.0]}}
MARKED = {"D0": [[-3.0]], "robots": [[[[1.0]]], [[[1.0]], [[1.0]]]]}
JOINT = {
    "modes": {"modes": [POISSON, BATCHES]},
    "independent": {"independent": [TWO_PHASES, TWO_PHASES]},
    "thinned": {"thinned": {"process": BATCHES, "keep": [0.5, 1.0]}},
    "marked": {"marked": MARKED},
}


@pytest.mark.parametrize("kind", JOINT)
def test_the_shape_of_joint_deliveries_is_known_without_their_matrices(kind: str) -> None:
    robots = queue(
        {"robots.deliveries": JOINT[kind], "robots.available": 2, "activation": None}
    ).robots
    assert robots is not None
    assert robots.deliveries is not None
    shape = as_modes(robots.deliveries).shape
    assert joint_size(robots.deliveries) == (shape[2], shape[1] - 1)


def test_robots_that_are_switched_off_one_by_one_take_their_time() -> None:
    """Three robots start active and at most one is ever switched on again: what remembers the
    start is the slowest of their accesses (mean 20), not the queue, which settles in 0.5."""
    scenario = queue(
        {
            "robots.access_time": {"exponential": {"mean": 20.0}},
            "activation": {"switching": {"targets": [3, 0]}},
            "buffer": {"waiting_places": 0, "service": {"exponential": {"mean": 0.5}}},
        }
    )
    time = relaxation_time_of(scenario)
    assert time is not None
    assert time > 20.0 / 3
    warmup, _ = suggested_warmup(scenario.with_("run.horizon", 1e6))
    assert warmup > 10 * time


def exact(measure: str, value: float, subject: Any = None) -> Prediction:
    return Prediction(measure, subject, value, "exact", "made up")


def test_what_a_short_warm_up_can_make_is_its_missing_part_of_the_window() -> None:
    """Starvation may have been certain then, losses impossible, and nothing is lost more often."""
    base = queue({"run.horizon": 5000.0, "run.warmup": 0.0})
    needed, _ = suggested_warmup(base)
    share = needed / 5000.0
    shifts = StartShifts(base)
    assert shifts.of(exact("starvation_probability", 0.2), 0.3) == pytest.approx(0.8 * share)
    assert shifts.of(exact("starvation_probability", 0.2), 0.1) == pytest.approx(0.2 * share)
    assert shifts.of(exact("loss_probability", 0.001), 0.0005) == pytest.approx(0.001 * share)
    assert shifts.of(exact("loss_probability", 0.001), 0.002) == 0.0
    half = StartShifts(base.with_("run.warmup", needed / 2))
    rest = needed / 2 / (5000.0 - needed / 2)
    assert half.of(exact("mean_in_system", 2.0), 1.5) == pytest.approx(2.0 * rest)
    long = StartShifts(base.with_("run.warmup", needed))
    assert long.of(exact("starvation_probability", 0.2), 0.3) == 0.0


def test_a_page_that_is_seldom_visited_excuses_no_other_page() -> None:
    accessing = {"policy": "randomized", "frequencies": [0.6, 0.2, 0.1999, 0.0001]}
    shifts = StartShifts(pages(accessing, **{"run.horizon": 20_000.0, "run.warmup": 300.0}))
    assert shifts.of(exact("obsolescence_rate", 0.9, 3), 0.5) == pytest.approx(0.9)
    for page in range(3):
        assert shifts.of(exact("obsolescence_rate", 0.9, page), 0.5) == 0.0
    together = shifts.of(exact("weighted_obsolescence", 0.5), 0.4)
    assert together == 0.0, "the weight of the page is its change rate, which is 0"
    by_page = pages(accessing, **{"run.horizon": 20_000.0, "run.warmup": 300.0})
    equal = StartShifts(by_page.with_("pages.weights", [0.5, 0.2, 0.2, 0.1]))
    assert equal.of(exact("weighted_obsolescence", 0.5), 0.4) == pytest.approx(0.1)


def test_what_is_searched_remembers_the_start_for_a_commit_longer() -> None:
    accessing = {"policy": "randomized", "frequencies": [0.6, 0.2, 0.195, 0.005]}
    plain = pages(accessing, **{"run.horizon": 50_300.0, "run.warmup": 300.0})
    later = {"index": {"commit_interval": 1000.0}, "run.warmup": 1300.0, "run.horizon": 51_300.0}
    by_page = [StartShifts(each)._by_page[3] for each in (plain, plain.with_(later))]
    assert 0.1 < by_page[0] < 0.9
    assert by_page[1] == pytest.approx(by_page[0], rel=1e-12)


def test_a_start_that_was_warned_of_refutes_nothing() -> None:
    """From an empty buffer without a warm-up: the time that it starves is far too long."""
    heavy = queue(
        {
            "robots": {"available": 1, "access_time": {"exponential": {"rate": 0.98}}},
            "activation.static": 1,
            "buffer": {"waiting_places": 59, "service": {"exponential": {"rate": 1.0}}},
            "run": {"horizon": 2000.0, "warmup": 0.0, "replications": 400},
        }
    )
    predictions, _ = predict(heavy)
    results = sim.run(heavy)
    plain = {row.measure: row.verdict for row in compare(predictions, results)}
    assert plain["starvation_probability"] == "disagrees"
    rows = check_scenario(heavy, predictions, results)
    assert overall(rows) == "inconclusive"
    assert any(row.warmup_too_short for row in rows)


def test_the_variation_of_a_heavy_tail_is_that_of_times_that_matter() -> None:
    pareto, longest = Pareto(shape=2.5, mean=1.0), 100.0

    def beyond(time: float) -> float:
        return float(survival(pareto, time))

    below = quad(lambda time: time * beyond(time), 0.0, longest, points=[0.5, 1.0, 5.0])[0]
    above = quad(beyond, longest, np.inf)[0]
    found = _squared_variation(pareto, longest)
    assert found == pytest.approx(2.0 * (below + longest * above) - 1.0, rel=1e-4)
    assert _squared_variation(Gamma(shape=4.0, mean=3.0), 100.0) == pytest.approx(0.25)


def in_batches(service: dict[str, Any], **changes: Any) -> Scenario:
    """Three indexers that take twenty pages each, and are offered 4 % more than they can serve."""
    buffer = {"waiting_places": 100, "servers": 3, "batch": 20, "service": service}
    scenario = scenario_from({**IN_BATCHES, "buffer": buffer})
    return scenario.with_(changes) if changes else scenario


def constant_and_narrow() -> tuple[Scenario, Scenario]:
    return (
        in_batches({"deterministic": {"value": 1.25}}),
        in_batches({"uniform": {"low": 1.2, "high": 1.3}}, **{"run.warmup": 1200.0}),
    )


def test_indexers_with_constant_times_stay_in_step() -> None:
    """A wide law says nothing, as does a queue that empties."""
    constant, narrow = constant_and_narrow()
    assert [each.name for each in remembered_starts(constant)] == [IN_STEP]
    assert remembered_starts(narrow) == []
    assert [each.name for each in remembered_starts(narrow.with_("run.warmup", 400.0))]
    wide = in_batches({"uniform": {"low": 0.25, "high": 2.25}})
    assert remembered_starts(wide) == []
    half = in_batches({"deterministic": {"value": 0.6}})
    assert remembered_starts(half) == []


@pytest.mark.thorough
def test_it_matters_that_they_stay_in_step() -> None:
    """Sojourn times by five in a hundred."""
    constant, narrow = constant_and_narrow()
    times = [sim.run(each).find("sojourn_time", "served").estimate for each in (constant, narrow)]
    assert times[0] < 0.95 * times[1]
    served = Prediction("sojourn_time", "served", times[1], "exact", "mine")
    assert StartShifts(constant).of(served, times[0]) == np.inf


def test_services_by_the_order_of_the_pages_are_not_said_to_fall_out_of_step() -> None:
    """Pages in a fixed order may keep two indexers in step for good, or never have them in it."""
    tables = {
        "name": "by-size",
        "pages": {"change_rates": [0.1, 0.1], "sizes": [2.0, 2.4]},
        "robots": {
            "available": 1,
            "deliveries": {"modes": [{"poisson": {"rate": 20.0}}]},
            "accessing": {"policy": "cyclic", "template": [0, 1]},
        },
        "buffer": {
            "waiting_places": 4,
            "servers": 2,
            "service": {"page-size": {"time_per_unit": 0.3}},
        },
        "run": {"horizon": 1e4},
    }
    ordered = scenario_from(tables)
    drawn = ordered.with_("robots.accessing", {"policy": "randomized", "frequencies": "uniform"})
    name = "the time until the indexers have fallen out of step"
    assert name in [each.name for each in _warm_up_needs(drawn)]
    known = [each.name for each in _warm_up_needs(ordered)]
    assert not {name, IN_STEP} & set(known)
    assert 0 < suggested_warmup(ordered)[0] < 1e4
    results = sim.run(ordered, engine="simpy", replications=2)
    assert results.find("loss_probability").estimate > 0.5
