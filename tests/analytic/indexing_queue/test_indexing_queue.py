"""The finite indexing queue: against an enumeration of states, identities, limits, exact sums.

Every system is small enough to be walked state by state. Both sides avoid subtraction, so that
1e-10 is a wide margin: differences beyond 1e-13 would be a fault.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples

from analytic import indexing_queue, predict, relaxation_time_of, robot_control
from analytic.index import conditions
from analytic.indexing_queue import (
    accuracy_of,
    chain,
    chain_of,
    controlled_chain,
    solution,
)
from analytic.indexing_queue.chain import dense_generator
from analytic.indexing_queue.measures import queue_measures
from analytic.indexing_queue.solution import mean_profile
from analytic.machinery.markov import stationary
from analytic.machinery.phase_type import PhaseLaw, as_phase_type, moment
from papers import queue_by_events
from scenarios import Scenario, ScenarioError, scenario_from

Values = dict[tuple[str, int | str | None], float]

RELATIVE = 1e-10

H2 = {"hyperexponential": {"probabilities": [0.7, 0.3], "rates": [1.5, 0.2]}}
ERLANG = {"erlang": {"shape": 2, "mean": 1.3}}
PHASES = {"phase-type": {"alpha": [0.4, 0.6], "T": [[-2.0, 1.0], [0.0, -1.5]]}}
THREE = {
    "phase-type": {
        "alpha": [0.2, 0.3, 0.5],
        "T": [[-1.0, 0.6, 0.0], [0.1, -0.7, 0.2], [0.0, 0.0, -0.3]],
    }
}
MAP = {"map": {"D0": [[-1.5, 0.1], [0.2, -0.6]], "D1": [[1.2, 0.2], [0.0, 0.4]]}}
MMPP = {"mmpp": {"Q": [[-0.1, 0.1], [0.3, -0.3]], "rates": [0.2, 2.0]}}
BATCHES = {
    "bmap": {
        "D": [
            [[-1.1, 0.1], [0.05, -0.35]],
            [[0.5, 0.0], [0.05, 0.1]],
            [[0.3, 0.0], [0.0, 0.05]],
            [[0.15, 0.05], [0.0, 0.1]],
        ]
    }
}
PAIRS = {"bmap": {"D": [[[-0.8]], [[0.0]], [[0.8]]]}}
ONE_WAY = {"bmap": {"D": [[[-1.0, 0.3], [0.0, -0.5]], [[0.7, 0.0], [0.0, 0.5]]]}}
THINNED = {"thinned": {"process": BATCHES, "keep": [0.3, 0.6, 1.0]}}
INDEPENDENT = {"independent": [BATCHES, MAP, {"poisson": {"rate": 0.4}}]}
MARKED = {
    "marked": {
        "D0": [[-1.0, 0.2], [0.1, -0.6]],
        "robots": [
            [[[0.3, 0.0], [0.0, 0.1]]],
            [[[0.2, 0.0], [0.0, 0.1]], [[0.1, 0.0], [0.1, 0.0]]],
            [[[0.2, 0.0], [0.0, 0.2]]],
        ],
    }
}
MODES = {"modes": [MAP, MMPP, BATCHES]}


def queue(changes: dict[str, Any] | None = None) -> Scenario:
    """Three robots with exponential trips and three waiting places, nothing obsolete."""
    base = scenario_from(
        {
            "name": "queue",
            "robots": {"available": 3, "access_time": {"exponential": {"rate": 0.4}}},
            "buffer": {"waiting_places": 3, "service": {"exponential": {"rate": 1.0}}},
        }
    )
    return base.with_(changes) if changes else base


def threshold(robots: list[int], at: list[int]) -> dict[str, Any]:
    return {"activation.threshold": {"robots": robots, "at": at}}


def stale(law: dict[str, Any]) -> dict[str, Any]:
    return {"buffer.obsolescence": law}


STALE = stale({"exponential": {"mean": 2.5}})

SYSTEMS: dict[str, Scenario] = {
    name: queue(changes)
    for name, changes in {
        "m/m/1/4": {},
        "exponential-timers": STALE,
        "heavy-load": {"robots.access_time.exponential.rate": 200.0} | STALE,
        "no-robot": {"activation.static": 0} | STALE,
        "no-place": {"buffer.waiting_places": 0} | stale(H2),
        "three-modes": threshold([3, 2, 1], [0, 2]) | STALE,
        "mode-never-used": threshold([3, 2, 1], [1, 1]) | STALE,
        "threshold-to-none": threshold([3, 0], [1]) | stale(H2),
        "ordered-h2-timers": {"buffer.waiting_places": 4} | stale(H2),
        "ordered-erlang-timers": threshold([3, 1], [2]) | stale(ERLANG) | {"buffer.service": H2},
        "ordered-timers-of-three-phases": stale(THREE),
        "timers-with-a-map": {"robots.available": 1, "robots.access_time": MAP} | stale(PHASES),
        "batches-partly": {"robots.deliveries": THINNED} | threshold([3, 2], [1]) | stale(H2),
        "batches-rejected": {"robots.deliveries": THINNED, "buffer.admission": "reject"}
        | threshold([3, 2, 1], [1, 2])
        | stale(H2),
        "batches-complete": {"robots.deliveries": THINNED, "buffer.admission": "complete"}
        | threshold([3, 2], [1])
        | stale(H2)
        | {"buffer.waiting_places": 2, "buffer.service": PHASES},
        "batches-complete-no-place": {
            "robots.deliveries": THINNED,
            "buffer.admission": "complete",
            "buffer.waiting_places": 0,
        }
        | stale(H2),
        "threshold-above-the-capacity": {
            "robots.deliveries": THINNED,
            "buffer.admission": "complete",
        }
        | threshold([3, 2, 1], [3, 5])
        | STALE,
        "pairs-rejected": {
            "robots.available": 1,
            "robots.deliveries.modes": [PAIRS],
            "buffer.admission": "reject",
        }
        | stale(H2),
        "independent": {"robots.deliveries": INDEPENDENT} | threshold([3, 2, 1], [1, 2]) | STALE,
        "independent-reject-ordered": {
            "robots.deliveries": INDEPENDENT,
            "buffer.admission": "reject",
        }
        | threshold([2, 1], [1])
        | stale(ERLANG),
        "thinned-to-nothing": {
            "robots.deliveries": {"thinned": {"process": BATCHES, "keep": [0.0, 0.5, 1.0]}}
        }
        | threshold([3, 1], [2])
        | STALE,
        "thinned-none-active": {"robots.deliveries": THINNED} | threshold([2, 0], [1]),
        "marked": {"robots.deliveries": MARKED} | threshold([3, 1, 0], [1, 2]) | stale(H2),
        "marked-static": {"robots.deliveries": MARKED, "activation.static": 2} | STALE,
        "modes": {"robots.deliveries": MODES} | threshold([3, 2, 1], [0, 2]) | stale(PHASES),
        "modes-none-active": {"robots.deliveries": MODES} | threshold([3, 0], [2]) | STALE,
        "modes-one-way": {"robots.available": 1, "robots.deliveries.modes": [ONE_WAY]} | STALE,
        "erlang-trips": {"robots.access_time": ERLANG} | threshold([3, 1], [2]) | STALE,
        "h2-trips": {"robots.access_time": {"renewal": H2}} | threshold([3, 2, 1], [0, 1]),
        "map-trips": {"robots.available": 2, "robots.access_time": MAP}
        | threshold([2, 1], [1])
        | stale(H2)
        | {"buffer.waiting_places": 2},
        "mmpp-trips": {"robots.available": 2, "robots.access_time": MMPP, "buffer.service": H2},
        "trips-none-active": {"robots.access_time": ERLANG} | threshold([2, 0], [1]),
        "switching": {"activation.switching.targets": [3, 3, 2, 1, 0]},
        "switching-not-monotone": {"activation.switching.targets": [1, 3, 0, 2, 1]} | STALE,
        "switching-no-place": {
            "activation.switching.targets": [2, 1],
            "buffer.waiting_places": 0,
        },
        "switching-phases-of-service": {
            "activation.switching.targets": [3, 2, 2, 1, 0],
            "buffer.service": H2,
        }
        | stale(ERLANG),
        "switching-by-phase": {
            "activation.switching.targets": [[3, 3, 2, 1, 0], [2, 1, 3, 0, 2]],
            "buffer.service": PHASES,
        }
        | stale(H2)
        | {"robots.available": 3},
        "switching-lifo": {
            "activation.switching.targets": [3, 2, 1, 1, 0],
            "buffer.discipline": "lifo",
        }
        | STALE,
        "lifo": {"robots.deliveries": THINNED, "buffer.discipline": "lifo"} | STALE,
        "lifo-never-obsolete": {"buffer.discipline": "lifo"},
        "lifo-that-waits-long": {
            "robots.available": 2,
            "robots.deliveries": {
                "independent": [
                    {"bmap": {"D": [[[-1.0, 1.0], [3.0, -3.0]], [[0.0, 0.0], [0.0, 0.0]]]}},
                    {"bmap": {"D": [[[-3.0, 3.0], [1.0, -11.0]], [[0.0, 0.0], [0.0, 10.0]]]}},
                ]
            },
            "buffer.service": {"exponential": {"rate": 0.0546875}},
            "buffer.discipline": "lifo",
        },
        "push-out": {"robots.deliveries": THINNED, "buffer.when_full": "push-out"} | STALE,
        "push-out-lifo": {"buffer.discipline": "lifo", "buffer.when_full": "push-out"}
        | threshold([3, 1], [2])
        | {"buffer.service": H2}
        | STALE,
        "push-out-no-place": {"buffer.when_full": "push-out", "buffer.waiting_places": 0},
        "lifo-timers-exponential-in-disguise": {"buffer.discipline": "lifo"}
        | stale({"phase-type": {"alpha": [0.3, 0.7], "T": [[-0.9, 0.5], [0.6, -1.0]]}}),
    }.items()
}
"""One small system for each part of the model."""

WAITING_PAGES = {name: scenario for name, scenario in SYSTEMS.items() if "no-place" not in name}


def in_order(scenario: Scenario) -> bool:
    assert scenario.buffer is not None
    return scenario.buffer.discipline == "fifo" and scenario.buffer.when_full == "lose-new"


def values(scenario: Scenario, rel: float = 1e-12) -> Values:
    """The predictions by measure and subject; formulas that give the same number must agree."""
    found: Values = {}
    for each in predict(scenario)[0]:
        key = each.measure, each.subject
        assert each.kind == "exact"
        assert found.setdefault(key, each.value) == pytest.approx(each.value, rel=rel, abs=1e-300)
    return found


def assert_as_enumerated(scenario: Scenario) -> None:
    """Every prediction of every formula is that of the oracle, and no measure is left out."""
    expected = queue_by_events.measures(scenario) | queue_by_events.sojourns(scenario)
    predictions = [each for each in predict(scenario)[0] if each.measure != "control_cost"]
    for each in predictions:
        exact = expected.get((each.measure, each.subject))
        if exact is None:  # a level that is never reached
            assert (each.measure, each.value) == ("level_probability", 0.0)
        else:
            assert each.value == pytest.approx(exact, rel=RELATIVE, abs=0), each
    by_order = {key for key in expected if key[0].startswith("sojourn_time")}
    required = expected.keys() - (set() if in_order(scenario) else by_order)
    if ("arrival_rate", None) in expected and expected["arrival_rate", None] > 0:
        required |= {("sojourn_time", "all")}
    assert required <= {(each.measure, each.subject) for each in predictions}


@pytest.mark.by_day(
    besides=(
        "batches-partly",
        "batches-complete",
        "threshold-above-the-capacity",
        "independent-reject-ordered",
        "switching",
        "switching-phases-of-service",
        "switching-by-phase",
        "threshold-to-none",
        "ordered-h2-timers",
        "ordered-timers-of-three-phases",
    )
)
@pytest.mark.parametrize("name", SYSTEMS)
def test_predictions_are_those_of_the_enumerated_chain(name: str) -> None:
    assert_as_enumerated(SYSTEMS[name])


def test_a_page_that_nearly_never_leaves_keeps_its_digits() -> None:
    """The oldest of four pages waits until no delivery comes for long: its exit is a rare one."""
    scenario = SYSTEMS["lifo-that-waits-long"]
    expected = queue_by_events.sojourns(scenario)
    key = "sojourn_time_second_moment", "served"
    assert values(scenario)[key] == pytest.approx(expected[key], rel=1e-14)


def test_the_comparison_notices_a_changed_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: batches that do not fit enter in part where they should be lost whole."""
    partly = chain.accepted_pages

    def wrong(level: int, batch: int, capacity: int, admission: str) -> int:
        return partly(level, batch, capacity, "partial" if admission == "reject" else admission)

    monkeypatch.setattr(chain, "accepted_pages", wrong)
    fresh = SYSTEMS["batches-rejected"].with_("name", "not-solved-before")
    with pytest.raises(AssertionError):
        assert_as_enumerated(fresh)


# -- random systems ------------------------------------------------------------------------------

RATES = st.floats(0.05, 20.0)
FLOWS = st.one_of(st.just(0.0), RATES)


@st.composite
def shares(draw: st.DrawFn, count: int) -> list[float]:
    weights = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count).filter(any))
    return [weight / sum(weights) for weight in weights]


@st.composite
def phase_laws(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["exponential", "erlang", "hyperexponential", "phase-type"]))
    if kind == "exponential":
        return {kind: {"rate": draw(RATES)}}
    if kind == "erlang":
        return {kind: {"shape": draw(st.integers(1, 2)), "mean": draw(RATES)}}
    if kind == "hyperexponential":
        return {kind: {"probabilities": draw(shares(2)), "rates": [draw(RATES), draw(RATES)]}}
    ends = [draw(RATES), draw(FLOWS)]
    moves = [draw(FLOWS), draw(RATES)]
    T = [[-moves[0] - ends[0], moves[0]], [moves[1], -moves[1] - ends[1]]]
    return {kind: {"alpha": draw(shares(2)), "T": T}}


@st.composite
def markovian(draw: st.DrawFn) -> dict[str, Any]:
    """A BMAP of two phases with batches of up to two pages, connected."""
    largest = draw(st.integers(1, 2))
    D = [[[0.0, draw(RATES)], [draw(RATES), 0.0]]]
    D += [[[draw(FLOWS) for _ in range(2)] for _ in range(2)] for _ in range(largest)]
    for row in range(2):
        D[0][row][row] = -math.fsum(rate for matrix in D for rate in matrix[row])
    return {"bmap": {"D": D}}


@st.composite
def fleets(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    available = draw(st.sampled_from([2, 1]))
    if kind == "switching":
        return {"available": available, "access_time": {"exponential": {"rate": draw(RATES)}}}
    if kind == "trips":
        return {"available": available, "access_time": draw(phase_laws())}
    if kind in ("modes", "independent"):
        each = [draw(markovian()) for _ in range(available)]
        return {"available": available, "deliveries": {kind: each}}
    process = draw(markovian())
    if kind == "thinned":
        # a share below 1e-308 has no relative digits
        keeps = st.one_of(st.just(0.0), st.floats(1e-200, 1))
        keep = draw(st.lists(keeps, min_size=available, max_size=available))
        joint: dict[str, Any] = {"process": process, "keep": keep}
    else:
        D0, *batches = process["bmap"]["D"]
        share = 1 / available
        of_each = [[[share * rate for rate in row] for row in matrix] for matrix in batches]
        joint = {"D0": D0, "robots": [of_each] * available}
    return {"available": available, "deliveries": {kind: joint}}


@st.composite
def activations(draw: st.DrawFn, fleet: str, available: int, buffer: dict[str, Any]) -> Any:
    levels = buffer["waiting_places"] + 2
    kind = fleet if fleet == "switching" else draw(st.sampled_from(["threshold", "static"]))
    if kind == "static":
        return {kind: draw(st.integers(1, available))}
    if kind == "threshold":
        modes = sorted(draw(st.sets(st.integers(0, available), min_size=1)) | {available})
        at = st.lists(st.integers(0, levels), min_size=len(modes) - 1, max_size=len(modes) - 1)
        return {kind: {"robots": modes[::-1], "at": sorted(draw(at))}}
    row = st.lists(st.integers(0, available), min_size=levels, max_size=levels).map(
        lambda targets: [max(1, targets[0]), *targets[1:]]
    )
    by_phase = "phase-type" in buffer["service"] and draw(st.booleans())
    return {kind: {"targets": [draw(row), draw(row)] if by_phase else draw(row)}}


@st.composite
def systems(draw: st.DrawFn, kind: str) -> Scenario:
    robots = draw(fleets(kind))
    buffer: dict[str, Any] = {
        "waiting_places": draw(st.sampled_from([3, 2, 1, 0])),
        "service": draw(phase_laws()),
        "obsolescence": draw(st.one_of(st.just("never"), phase_laws())),
        "admission": draw(st.sampled_from(["partial", "reject", "complete"])),
    }
    order_does_not_matter = buffer["obsolescence"] == "never" or (
        "exponential" in buffer["obsolescence"]
    )
    if order_does_not_matter:
        buffer["discipline"] = draw(st.sampled_from(["fifo", "lifo"]))
        if buffer["admission"] == "partial":
            buffer["when_full"] = draw(st.sampled_from(["lose-new", "push-out"]))
    activation = draw(activations(kind, robots["available"], buffer))
    entries = {"name": "any", "robots": robots, "buffer": buffer, "activation": activation}
    return scenario_from(entries)


@pytest.mark.by_day(besides=("marked", "independent"))
@pytest.mark.parametrize(
    "kind", ["trips", "switching", "modes", "thinned", "marked", "independent"]
)
@settings(derandomize=True, max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_systems_are_those_of_the_enumerated_chain(kind: str, data: st.DataObject) -> None:
    scenario = data.draw(systems(kind))
    reasons = [each.reason for each in predict(scenario)[1]]
    if not any("closed classes" in reason for reason in reasons):
        assert_as_enumerated(scenario)


# -- identities ----------------------------------------------------------------------------------


@pytest.mark.by_day(
    besides=("threshold-to-none", "ordered-h2-timers", "ordered-timers-of-three-phases")
)
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_fates_of_a_page_sum_to_one(name: str) -> None:
    """P_loss + P_obs + P_succ = 1, and the levels fill the time (docs/theory/indexing-queue.md)."""
    found = values(SYSTEMS[name])
    levels = [value for (measure, _), value in found.items() if measure == "level_probability"]
    assert math.fsum(levels) == pytest.approx(1.0, rel=1e-13)
    assert found["level_probability", 0] == pytest.approx(found["starvation_probability", None])
    if name != "no-robot":
        fates = ("loss", "obsolescence", "success")
        total = sum(found[f"{fate}_probability", None] for fate in fates)
        assert total == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_server_works_when_there_is_a_page(name: str) -> None:
    """lambda P_succ E[service] = 1 - P_starv (docs/theory/indexing-queue.md)."""
    scenario = SYSTEMS[name]
    found = values(SYSTEMS[name])
    assert scenario.buffer is not None
    law = as_phase_type(scenario.buffer.service)
    assert law is not None
    busy = found["throughput", None] * moment(law, 1)
    assert busy == pytest.approx(1 - found["starvation_probability", None], rel=1e-11)


@pytest.mark.parametrize("name", [n for n in SYSTEMS if n != "no-robot" and in_order(SYSTEMS[n])])
def test_sojourns_obey_little(name: str) -> None:
    """L = lambda (1 - P_loss) V_acc = lambda V_all = sum of lambda P_c V_c."""
    found = values(SYSTEMS[name])
    rate = found["arrival_rate", None]
    level = found["mean_in_system", None]
    entering = rate - found["loss_rate", None]
    assert entering * found["sojourn_time", "accepted"] == pytest.approx(level, rel=1e-11)
    for measure in ("sojourn_time", "sojourn_time_second_moment"):
        classes = {"served": "success_probability", "obsolete": "obsolescence_probability"}
        total = sum(
            found[share, None] * found.get((measure, subject), 0.0)
            for subject, share in classes.items()
        )
        assert found[measure, "all"] == pytest.approx(total, rel=1e-11)
    assert rate * found["sojourn_time", "all"] == pytest.approx(level, rel=1e-11)


@pytest.mark.parametrize("name", SYSTEMS)
def test_active_robots_deliver(name: str) -> None:
    """lam Nbar = L + mu (1 - S) + obsolete pages (docs/theory/fixed-robots.md)."""
    scenario = SYSTEMS[name]
    found = values(SYSTEMS[name])
    assert scenario.robots is not None
    rate = getattr(scenario.robots.access_time, "rate", None)
    delivered = found["arrival_rate", None]
    stale_pages = found.get(("obsolescence_probability", None), 0.0) * delivered
    ended = found["loss_rate", None] + found["throughput", None] + stale_pages
    assert ended == pytest.approx(delivered, rel=1e-12)
    if rate is not None:
        active = found["mean_active_robots", None]
        assert rate * active == pytest.approx(delivered, rel=1e-12)


def test_the_control_cost_is_the_sum_of_its_prices() -> None:
    """Each term of avrachenkov2011 (2) and of talim2001 section 2, on measures of the oracle."""
    costs = {"loss": 3.0, "obsolescence": 5.0, "starvation": 7.0, "response": 11.0, "robots": 13.0}
    scenario = SYSTEMS["ordered-erlang-timers"].with_("costs", costs)
    found = queue_by_events.measures(scenario) | queue_by_events.sojourns(scenario)
    stale_pages = found["arrival_rate", None] * found["obsolescence_probability", None]
    expected = (
        3 * found["loss_rate", None]
        + 5 * stale_pages
        + 7 * found["starvation_probability", None]
        + 11 * found["sojourn_time", "served"]
        + 13 * found["mean_active_robots", None]
    )
    assert values(scenario)["control_cost", None] == pytest.approx(expected, rel=RELATIVE)


# -- other models in a limit ---------------------------------------------------------------------


@pytest.mark.parametrize("admission", ["partial", "reject", "complete"])
def test_timers_in_two_equal_phases_are_exponential_timers(admission: str) -> None:
    """The chain with ordered phases gives what one phase gives where the phases are alike."""
    rng = np.random.default_rng(5)
    modes = rng.uniform(0.1, 0.5, (3, 3, 2, 2))  # only the rates off the diagonal count
    service = PhaseLaw(np.array([0.4, 0.6]), np.array([[-2.0, 1.0], [0.0, -1.5]]))
    one = PhaseLaw(np.ones(1), np.array([[-0.4]]))
    alike = PhaseLaw(np.array([0.3, 0.7]), np.array([[-0.6, 0.2], [0.1, -0.5]]))

    def found(timer: PhaseLaw) -> Values:
        built = controlled_chain(modes, lambda level: 2 - level // 3, service, timer, 4, admission)
        law = stationary(dense_generator(built))
        rows = queue_measures(built, law, queue().prices, ordered=True)
        return {(measure, subject): value for measure, subject, value in rows}

    assert found(alike) == pytest.approx(found(one), rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "top"),
    [
        (STALE, 4),
        (stale(H2) | {"robots.deliveries": THINNED}, 4),
        ({"robots.deliveries": THINNED, "buffer.admission": "complete"}, 6),
    ],
)
def test_a_threshold_at_the_top_is_no_threshold(changes: dict[str, Any], top: int) -> None:
    static = values(queue(changes | {"activation.static": 3}))
    assert values(queue(changes | threshold([3, 1], [top]))) == pytest.approx(static, rel=1e-13)
    below = values(queue(changes | threshold([3, 1], [top - 1])))
    assert below["arrival_rate", None] < static["arrival_rate", None]


def test_bang_bang_control_loses_nothing() -> None:
    """All robots below the top and none at it: gamma (1 - rho) / (1 - rho^K) on K places.

    docs/theory/fixed-robots.md, "All or none", here with K + 1 levels.
    """
    N = 3
    lam = 0.7
    K = 5
    gamma = 1.4
    rho = N * lam
    scenario = queue(
        {
            "robots.access_time.exponential.rate": lam,
            "buffer.waiting_places": K - 1,
            "costs": {"loss": 1.0, "starvation": gamma},
        }
        | threshold([N, 0], [K - 1])
    )
    found = values(scenario)
    assert found["loss_rate", None] == 0.0
    expected = gamma * (1 - rho) / (1 - rho ** (K + 1))
    assert found["control_cost", None] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("name", ["lifo", "push-out"])
def test_with_exponential_timers_the_order_changes_no_share(name: str) -> None:
    """Which page waits longest is invisible to the level where timers have no memory."""
    scenario = SYSTEMS[name]
    plain = {"buffer.discipline": "fifo", "buffer.when_full": "lose-new"}
    fifo = values(scenario.with_(plain))
    found = values(scenario)
    timeless = {key: value for key, value in found.items() if not key[0].startswith("sojourn")}
    assert timeless
    assert timeless == {key: pytest.approx(fifo[key]) for key in timeless}


@pytest.mark.parametrize(
    "change", [{"buffer.discipline": "lifo"}, {"buffer.when_full": "push-out"}]
)
def test_with_phase_timers_the_order_matters_and_is_refused(change: dict[str, Any]) -> None:
    """The refusal is not idle: the enumeration of the other order gives another number."""
    fifo = SYSTEMS["ordered-h2-timers"]
    share = "loss_probability", None
    other = queue_by_events.measures(fifo.with_(change))[share]
    assert abs(other / queue_by_events.measures(fifo)[share] - 1) > 0.05
    assert predict(fifo.with_(change))[0] == []


@pytest.mark.thorough
def test_the_phases_of_the_timers_are_told_apart() -> None:
    """Swapping the probabilities of the timer's phases is seen."""
    swapped = {"hyperexponential": {"probabilities": [0.3, 0.7], "rates": [1.5, 0.2]}}
    mine = values(SYSTEMS["ordered-h2-timers"])
    other = values(SYSTEMS["ordered-h2-timers"].with_("buffer.obsolescence", swapped))
    share = "obsolescence_probability", None
    assert abs(mine[share] - other[share]) > 0.05


def test_rare_obsolescence_is_proportional_to_the_waiting_pages() -> None:
    """theta -> 0: P_obs = theta E[waiting] / lambda to first order, all digits of it."""
    never = values(queue())
    theta = 1e-12
    rare = values(queue(stale({"exponential": {"rate": theta}})))
    waiting = never["mean_in_system", None] - (1 - never["starvation_probability", None])
    expected = theta * waiting / never["arrival_rate", None]
    assert rare["obsolescence_probability", None] == pytest.approx(expected, rel=1e-9, abs=0)
    for key, value in never.items():
        if value > 0:
            assert rare[key] == pytest.approx(value, rel=1e-10, abs=0)


def test_sure_obsolescence_leaves_the_queue_without_waiting_places() -> None:
    """theta -> infinity: only pages that find the server free are served."""
    gone = values(queue(stale({"exponential": {"rate": 1e12}})))
    none = values(queue({"buffer.waiting_places": 0}))
    for key in (("success_probability", None), ("starvation_probability", None)):
        assert gone[key] == pytest.approx(none[key], rel=1e-11)
    assert gone["obsolescence_probability", None] == pytest.approx(
        none["loss_probability", None], rel=1e-11
    )


# -- exact rational arithmetic -------------------------------------------------------------------


def exact_birth_death(lam: Fraction, mu: Fraction, theta: Fraction, K: int) -> dict[Any, Fraction]:
    """M/M/1/K with exponential timers, in fractions: nothing is rounded."""
    weights = [Fraction(1)]
    for level in range(1, K + 1):
        weights.append(weights[-1] * lam / (mu + (level - 1) * theta))
    p = [weight / sum(weights) for weight in weights]
    length = sum(level * share for level, share in enumerate(p))
    found: dict[Any, Fraction] = {("level_probability", level): q for level, q in enumerate(p)}
    found["starvation_probability", None] = p[0]
    found["loss_probability", None] = p[K]
    found["loss_rate", None] = lam * p[K]
    found["throughput", None] = mu * sum(p[1:])
    found["success_probability", None] = mu * sum(p[1:]) / lam
    waiting = sum((level - 1) * share for level, share in enumerate(p) if level > 1)
    found["obsolescence_probability", None] = theta * waiting / lam
    found["mean_in_system", None] = length
    found["sojourn_time", "accepted"] = length / (lam * sum(p[:K]))
    found["sojourn_time", "all"] = length / lam
    return found


@pytest.mark.parametrize("load", [1e-8, 0.5, 1.0, 5.0, 1e4, 1e40])
@pytest.mark.parametrize("theta", [0.0, 1e-9, 0.5])
def test_every_digit_is_right_at_any_load(load: float, theta: float) -> None:
    """Each formula that gives the measure, against fractions; loss of 1e-48 at load 1e-8, K = 6.

    Logarithms cost the birth-death formula an error of about eps times log(p).
    """
    changes = {
        "robots.available": 1,
        "robots.access_time.exponential.rate": load,
        "buffer.waiting_places": 5,
    }
    scenario = queue(changes | (stale({"exponential": {"rate": theta}}) if theta else {}))
    expected = exact_birth_death(Fraction(load), Fraction(1), Fraction(theta), 6)
    seen: Counter[Any] = Counter()
    for each in predict(scenario)[0]:
        key = each.measure, each.subject
        if key in expected:
            seen[key] += 1
            assert each.value == pytest.approx(float(expected[key]), rel=2e-13, abs=0), each
    assert set(seen) == set(expected)
    assert min(seen[key] for key in expected if key[0] != "sojourn_time") >= 2


def test_second_moments_are_those_of_the_level_seen_on_entry() -> None:
    """M/M/1/K, FIFO: a page that meets n pages stays an Erlang(n + 1) time (kleinrock1975)."""
    found = values(queue())
    p = [found["level_probability", level] for level in range(5)]
    seen = [share / sum(p[:4]) for share in p[:4]]
    for subject in ("served", "accepted"):
        second = sum(share * (n + 1) * (n + 2) for n, share in enumerate(seen))
        moments = found["sojourn_time", subject], found["sojourn_time_second_moment", subject]
        mean = sum(share * (n + 1) for n, share in enumerate(seen))
        assert moments == pytest.approx((mean, second), rel=1e-13)


@pytest.mark.by_day("5.0")
@pytest.mark.parametrize("load", [0.2, 5.0])
def test_a_queue_with_many_places_neither_over_nor_underflows(load: float) -> None:
    """M/M/1/500: probabilities down to load^500 = 1e-350 (0.2^500), exact where they exist."""
    K = 500
    changes = {"robots.available": 1, "robots.access_time.exponential.rate": load}
    found = values(queue(changes | {"buffer.waiting_places": K - 1}), rel=1e-11)
    rho = Fraction(load)
    total = sum(rho**n for n in range(K + 1))
    for level in (0, 1, 250, K - 1, K):
        exact = float(rho**level / total)
        expected = pytest.approx(exact, rel=1e-12, abs=1e-300)
        assert found["level_probability", level] == expected
    assert found["throughput", None] == pytest.approx(min(load, 1.0), rel=1e-12)


def test_extreme_rates_stay_finite() -> None:
    """Rates at the ends of what a scenario may hold; level weights up to 1e800."""
    changes = {
        "robots.available": 1,
        "robots.access_time.exponential.rate": 1e100,
        "buffer.service.exponential.rate": 1e-100,
    }
    found = values(queue(changes))
    assert all(map(math.isfinite, found.values()))
    assert found["level_probability", 4] == 1.0
    assert found["level_probability", 3] == pytest.approx(1e-200, rel=1e-12)
    assert found["throughput", None] == pytest.approx(1e-100, rel=1e-12)
    assert found["sojourn_time", "served"] == pytest.approx(4e100, rel=1e-12)


# -- what is not covered -------------------------------------------------------------------------

PAGES = {
    "pages": {"change_rates": [0.1, 0.2]},
    "robots.accessing": {"policy": "round-robin"},
}
GAMMA = {"gamma": {"shape": 1.5, "mean": 1.0}}
SIZES = {
    "pages": {"change_rates": [0.1, 0.2], "sizes": [1.0, 2.0]},
    "robots.accessing": {"policy": "round-robin"},
    "buffer.service": {"page-size": {"time_per_unit": 0.5}},
}
PRICES = {"costs": {"loss": 1.0}}

ENVIRONMENT = {"Q": [[-0.5, 0.5], [0.5, -0.5]], "speeds": [1.5, 0.5]}


CLASSES = scenario_from(
    {
        "name": "classes",
        "robots": {
            "classes": [
                {"available": 1, "access_time": {"exponential": {"mean": 1.0}}},
                {"available": 1, "access_time": {"exponential": {"mean": 2.0}}},
            ]
        },
        "activation": {"switching": {"targets": [2, 2, 1]}},
        "buffer": {"waiting_places": 1, "service": {"exponential": {"mean": 1.0}}},
        "costs": {"loss": 1.0},
    }
)
CHOICES = [[[0, 0], [1, -1]], [[1, -1], [1, -1]], [[-1, -1], [-1, -1]]]


WAY_BACK: dict[str, Any] = {"activation.threshold": {"robots": [2, 1], "at": [1], "back": [0]}}
STARTING: dict[str, Any] = {"activation.start_up.exponential.mean": 1.0}

BY_CLASS = {
    "robots.deliveries": {"modes": 3 * [{"poisson": {"rate": 1.0}}], "shares": [0.4, 0.6]},
    "activation.static": 3,
    "buffer.discipline": "priority",
    "buffer.waiting_places": 1000,
}

REFUSED: dict[str, Scenario] = {
    "pages of all classes are served alike": queue(),
    "the chains of its classes have 1003004 states, limit 200000": queue(BY_CLASS),
    "pages are not drawn at random: their classes depend on the order of accesses": scenario_from(
        {
            "name": "in-turn",
            "pages": {"change_rates": [0.1, 0.2], "priority": [0, 1]},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0}},
                "accessing": {"policy": "round-robin"},
            },
            "buffer": {
                "waiting_places": 2,
                "service": {"exponential": {"mean": 1.0}},
                "discipline": "priority",
            },
        }
    ),
    "the frequencies of the accessing policy are still to be found": queue(
        SIZES | {"robots.accessing": {"policy": "randomized", "frequencies": "optimal"}}
    ),
    "robots are of several classes": CLASSES,
    "robots are not of several classes": queue(),
    "there is no robots.unchanged.share": queue(),
    "the mean time of an access is not known": queue(
        {
            "robots.access_time": {
                "map": {"D0": [[-1.0, 0.0], [0.0, -2.0]], "D1": [[1, 0], [0, 2]]}
            },
            "robots.unchanged": {"share": 0.5},
        }
    ),
    "robots are switched one at a time, and accesses to unchanged pages are shorter "
    "(robots.unchanged.share_of_time)": SYSTEMS["switching"].with_(
        "robots.unchanged", {"share": 0.5, "share_of_time": 0.5}
    ),
    "the rule has a class for each state, and no targets": CLASSES.with_(
        "activation.switching", {"choices": CHOICES}
    ),
    "[costs] prices the response time of robots of several classes": CLASSES.with_(
        "costs", {"response": 1.0}
    ),
    "there is no [buffer]": scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": [0.1]},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0}},
                "accessing": {"policy": "round-robin"},
            },
        }
    ),
    "robots may wait for hosts": scenario_from(
        {
            "name": "polite",
            "pages": {"change_rates": [0.1, 0.2], "hosts": [0, 0]},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0}},
                "host_spacing": 2.0,
                "accessing": {"policy": "round-robin"},
            },
            "buffer": {"waiting_places": 2, "service": {"exponential": {"mean": 1.0}}},
        }
    ),
    "the number of active robots depends on the level": queue(threshold([2, 1], [1])),
    "robots are switched on one at a time": SYSTEMS["switching"],
    "more robots come back at another level than they went at": queue(WAY_BACK),
    "switches are not counted": queue(),
    "[costs] prices switches": queue(
        {"robots.available": 1, "robots.access_time": GAMMA, "costs.switch": 1.0}
    ),
    "robots that are switched on take a time to start": queue(WAY_BACK | STARTING),
    "times to start are not exponential": queue(
        WAY_BACK | {"activation.start_up.deterministic.value": 1.0}
    ),
    "robots take a time to start, and access times are not exponential": queue(
        WAY_BACK | STARTING | {"robots.access_time": ERLANG}
    ),
    "robots of several classes take a time to start": CLASSES.with_(
        {"activation": None} | WAY_BACK | STARTING
    ),
    "last come first served": SYSTEMS["lifo"],
    "a full buffer pushes out": SYSTEMS["push-out"].with_("robots.access_time", H2),
    "a full buffer pushes out while robots are switched on one at a time": SYSTEMS[
        "switching"
    ].with_("buffer.when_full", "push-out"),
    "first come first served, nothing pushed out": queue(),
    "2 servers index pages at a time": queue({"buffer.servers": 2}),
    "servers take batches of pages (buffer.batch)": queue({"buffer.batch": 2}),
    "servers take one page at a time": queue(),
    "servers look at how long the oldest page waits (buffer.batch.wait)": queue(
        {"buffer.batch": {"most": 2, "least": 2, "wait": 1.0}}
    ),
    "each page adds to its service (buffer.batch.per_page)": queue(
        {"buffer.batch": {"most": 2, "per_page": {"exponential": {"mean": 0.1}}}}
    ),
    "its chain with the sizes of batches has 101001 states, limit 60000": queue(
        {"activation.static": 3, "buffer.waiting_places": 100, "buffer.batch": 1000}
    ),
    "its chain has 1000001 states, limit 60000": queue(
        {"activation.static": 3, "buffer.waiting_places": 999_999, "buffer.batch": 2}
    ),
    "one server indexes pages": queue(),
    "the file does not speak of buffer.servers": queue(),
    "there are waiting places": queue({"buffer.servers": 2}),
    "there are no sojourn_quantiles in [buffer]": queue(),
    "3 robots share the sequence of pages": queue({"robots.access_time": GAMMA}),
    "there are no [costs]": queue(),
    "[costs] does not price the response time": queue(),
    "[costs] prices staleness": queue(PAGES | {"costs": {"staleness": 1.0}}),
    "[costs] prices more than loss and starvation": queue({"costs": {"robots": 1.0}}),
    "[costs] prices the response time of pages that are not served in their order": queue(
        {"costs": {"response": 1.0}, "buffer.discipline": "lifo"}
    ),
    "deliveries are a joint process": SYSTEMS["marked"],
    "access times are not exponential": SYSTEMS["erlang-trips"],
    "access times are not independent": queue({"robots.available": 1, "robots.access_time": MAP}),
    "access times are Markovian": queue(),
    "access times are gamma, which has no phase-type form": queue({"robots.access_time": GAMMA}),
    "switched robots with access times that are not exponential": SYSTEMS["switching"].with_(
        "robots.access_time", ERLANG
    ),
    "service times are not exponential": queue({"buffer.service": H2}),
    "service times are not of phase type (gamma)": queue({"buffer.service": GAMMA}),
    "service times have phases": queue(),
    "how long a service takes depends on the page": queue(SIZES),
    "pages are not drawn at random: their service times depend on the order of accesses": queue(
        SIZES
    ),
    "waiting pages become obsolete": queue(STALE),
    "waiting pages do not become obsolete": queue(),
    "obsolescence timers are exponential": queue(STALE),
    "the joint phases of its robots are few: it is solved exactly": queue({}),
    "one robot": queue({"robots.available": 1, "activation.static": 1}),
    "4000 pages can wait, limit 3000": queue(stale(GAMMA) | {"buffer.waiting_places": 4000}),
    "obsolescence timers have 31 phases, limit 30": queue(
        stale({"hyperexponential": {"probabilities": [1 / 31] * 31, "rates": [*range(1, 32)]}})
        | {"buffer.servers": 2}
    ),
    "it is solved exactly: no page can wait": queue(
        {"buffer.servers": 2, "buffer.waiting_places": 0, "buffer.service": GAMMA}
    ),
    "waiting pages are dropped when their originals change": queue(
        PAGES | {"buffer.obsolescence": "page-change"}
    ),
    "newer copies replace older ones": queue(PAGES | {"buffer.replace_older_copy": True}),
    "obsolescence timers are not exponential": SYSTEMS["ordered-h2-timers"],
    "obsolescence timers are not of phase type (gamma)": queue(stale(GAMMA)),
    "last come first served with timers that are not exponential": SYSTEMS[
        "ordered-h2-timers"
    ].with_("buffer.discipline", "lifo"),
    "push-out with timers that are not exponential": SYSTEMS["ordered-h2-timers"].with_(
        "buffer.when_full", "push-out"
    ),
    "its chain has 268435456 states and takes 12.0 GB; the solution may take at most 1 GB": queue(
        stale(H2) | {"buffer.waiting_places": 27}
    ),
    "its chain has more than 10^15 states; the solution may take at most 1 GB": queue(
        stale(H2) | {"buffer.waiting_places": 60}
    ),
    "its chain at accesses has 902 states, limit 870": queue(
        {"robots.available": 1, "robots.access_time": GAMMA, "buffer.waiting_places": 900}
    ),
    "its chain has 540900 states, too many for several servers": queue(
        {
            "buffer.servers": 8,
            "buffer.service": H2,
            "buffer.waiting_places": 3000,
            "robots.available": 1,
            "robots.access_time": {"erlang": {"shape": 20, "mean": 1.0}},
        }
    ),
    "the chain of a waiting page has 1125750 states, limit 60000": queue(
        {"buffer.discipline": "lifo", "buffer.waiting_places": 1500}
    ),
    "its chain is solved exactly, where it fits in memory": queue(stale(H2)),
    "the closure of its chain has 18006000 unknowns, limit 2000000": queue(
        stale(H2) | {"buffer.waiting_places": 3000, "robots.available": 1, "buffer.service": H2}
    ),
    "a round of the closure of its chain needs 2e+11 multiplications, limit 1e+10": queue(
        stale({"erlang": {"shape": 800, "mean": 1.0}}) | {"buffer.waiting_places": 19}
    ),
    "the approximate loss probability is too small to be given; its first digit would be wrong "
    "below 0.01": queue(stale(H2) | {"buffer.waiting_places": 60}),
    "the formula is for robots that are switched on one at a time (activation.switching)": queue(),
    "there is no robots.environment": queue(),
    "access times in an environment are not exponential": queue(
        {"robots.access_time": GAMMA, "robots.environment": ENVIRONMENT}
    ),
    "[costs] prices the response time of robots in an environment": queue(
        {
            "activation.switching.targets": [3, 3, 2, 1, 0],
            "robots.environment": ENVIRONMENT,
            "costs": {"response": 1.0},
        }
    ),
    "there are several lists of targets": queue(
        {
            "activation.switching.targets": [[3, 3, 2, 1, 0]] * 2,
            "buffer.service": {
                "phase-type": {"alpha": [0.5, 0.5], "T": [[-1.0, 0.0], [0.0, -1.0]]}
            },
        }
    ),
    "the targets increase with the level": queue({"activation.switching.targets": [1, 3, 0, 2, 1]}),
    "the queue has 5001 levels, limit 5000": queue(
        {"activation.switching.targets": [1] * 5001, "buffer.waiting_places": 4999}
    ),
    "robots × levels² is 4e+09, limit 1e+09": queue(
        {
            "activation.switching.targets": [1000] * 2000,
            "buffer.waiting_places": 1998,
            "robots.available": 1000,
        }
    ),
    "[costs] prices the response; the search for the bound is left to `optimize`": queue(
        {"activation.switching.targets": [3, 3, 2, 1, 0], "costs": {"response": 1.0}} | STALE
    ),
    "its chain has 20401 states": queue(
        {
            "activation.switching.targets": [100] * 202,
            "buffer.waiting_places": 200,
            "robots.available": 100,
            "costs": {"loss": 1.0},
        }
    ),
    "its chain has 2 closed classes": queue(
        {"robots.deliveries": MODES, "activation.static": 0} | STALE
    ),
}


@pytest.mark.by_day(
    every=2,
    besides=(
        "the queue has 5001 levels, limit 5000",
        "its chain has 20401 states",
        "its chain has more than 10^15 states; the solution may take at most 1 GB",
        "its chain is solved exactly, where it fits in memory",
    ),
)
@pytest.mark.parametrize("reason", REFUSED)
def test_a_formula_that_does_not_cover_a_scenario_says_why(reason: str) -> None:
    assert reason in [one for each in predict(REFUSED[reason])[1] for one in each.reasons]


def words_returned(condition: Callable[..., Any]) -> set[str]:
    """The pieces of text in the reasons that a condition can give."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(condition))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    body = ast.Module(tree.body[1:], [])  # the docstring apart
    returns = [node.value for node in ast.walk(body) if isinstance(node, ast.Return) and node.value]
    constants = [node for value in returns for node in ast.walk(value)]
    return {
        node.value
        for node in constants
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    }


FORMULAS = (*indexing_queue.FORMULAS, *robot_control.FORMULAS)
CONDITIONS = sorted(
    {condition for formula in FORMULAS for condition in formula.conditions},
    key=lambda condition: condition.__name__,
)


UNDECIDED = "the activation is still to be optimised"


@pytest.mark.parametrize("family", ["static", "threshold", "switching"])
@pytest.mark.parametrize("ask", [chain_of, accuracy_of, predict])
def test_an_activation_that_is_not_decided_is_refused(ask: Any, family: str) -> None:
    """All robots active would be another system."""
    scenario = queue(PRICES | {"activation.optimal": family, "name": "undecided"})
    with pytest.raises(ScenarioError) as refusal:
        ask(scenario)
    text = str(refusal.value)
    assert "undecided" in text
    assert f'activation.optimal = "{family}"' in text
    assert "analytic.resolve(scenario) decides it" in text
    assert conditions.resolved_activation(scenario) == UNDECIDED
    assert relaxation_time_of(scenario) is None


NOT_CONVERGED = "the iteration for its chain does not converge: 6 passes left a relative error of "
NOT_FOUND = "[costs] prices the response time: there are no sojourn times by class: "
"""Reached in `test_sojourns`."""


def test_an_answer_that_did_not_converge_is_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solution, "MOST_PASSES", 6)
    changes = {"buffer.waiting_places": 10, "buffer.service": ERLANG, "name": "stopped-early"}
    scenario = queue(stale(H2) | changes)
    predictions, others = predict(scenario)
    reasons = [each.reason for each in others if each.source.startswith("avrachenkov2011 Th")]
    assert len(reasons) == 4
    assert all(reason.startswith(NOT_CONVERGED) for reason in reasons)
    assert not predictions
    assert accuracy_of(scenario) is None


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.__name__)
def test_every_reason_is_reached(condition: Callable[..., Any]) -> None:
    words = words_returned(condition)
    by_others = {
        "converged",
        "settled",
        "levels_settle",
        "phases_unseen",
        "some_match",
        "likeliest_solved",
        "servers_solved",
        "batches_solved",
        "classes_solved",
        "rests_of_phase_type",
        "rests_solved",
        "page_with_rests_fits",
        "response_with_rests_fits",
        "page_of_batches_fits",
        "response_of_batches_fits",
        "settles",
        "first_come_first_served",
    }  # the solution, or the discipline, that they ask for refuses
    assert bool(words) != (condition.__name__ in by_others)
    reached = (*REFUSED, UNDECIDED, NOT_CONVERGED, NOT_FOUND)
    unreached = {piece for piece in words if not any(piece in reason for reason in reached)}
    assert not unreached


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.__name__)
def test_every_condition_says_what_it_asks_for(condition: Callable[..., Any]) -> None:
    """`crawlsim formulas` prints the first line."""
    first, *_ = (condition.__doc__ or "").splitlines()
    assert first.endswith(".")


def test_the_relaxation_time_is_known_where_the_chain_is() -> None:
    """M/M/1/1: the transient decays with lambda + mu. None where the chain is not known."""
    scenario = queue({"buffer.waiting_places": 0})
    assert relaxation_time_of(scenario) == pytest.approx(1 / (3 * 0.4 + 1.0), rel=1e-12)
    assert relaxation_time_of(queue({"buffer.service": GAMMA})) is None


def test_phases_at_a_random_moment_of_patience() -> None:
    """Of a sum of exponential times of means 1 and 3 the second takes three quarters."""
    generator = np.array([[-1.0, 1.0], [0.0, -1 / 3]])
    chain: Any = SimpleNamespace(patience=PhaseLaw(np.array([1.0, 0.0]), generator))
    assert mean_profile(chain) == pytest.approx([0.25, 0.75])
