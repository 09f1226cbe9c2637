"""Predictions of any system whatever: numbers, or reasons, and never an error."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from pipelines import PIPELINES, pipeline
from profiles import examples
from random_systems import large_search_engines, search_engines, server_farms
from scipy.stats import poisson
from systems import queue

import sim
from analytic import FORMULAS, compare, overall, predict, suggested_warmup
from analytic.index.formula import Reasons, obstacles
from analytic.index.keys import KEYS
from analytic.index.names import called
from analytic.machinery.refusal import NoAnswerError
from analytic.pipeline import dropping_and_replacement
from scenarios import Scenario, laws, scenario_from

Tables = dict[str, Any]

SMALL: dict[str, dict[str, int]] = {
    "analytic.indexing_queue.solution": {"LARGEST_MEMORY": 2**17},
    "analytic.indexing_queue.measures": {"_MOST_WORK": 10**6, "_MOST_UNKNOWNS": 10**4},
    "analytic.pipeline.random_pages": {"MOST_WORK": 10**7},
    "analytic.pipeline.periodic_lists": {
        "MOST_WORK": 10**7,
        "MOST_STATES": 200,
        "MOST_SOLUTIONS": 1000,
    },
    "analytic.pipeline.patience": {"MOST_STATES": 200, "MOST_SOLUTIONS": 1000},
    "analytic.pipeline.dropping_and_replacement": {"MOST_LABELLED": 100},
    "analytic.pipeline.approximations": {"MOST_STATES": 200, "_MOST_FOLLOWED": 10**4},
    "analytic.pipeline.conditions": {"MOST_SOLUTIONS": 1000},
    "analytic.routing.conditions": {"LARGEST_ORDER": 20},
}
"""Limits of sizes in test: with these every example takes a moment, and more are refused."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module, limits in SMALL.items():
        for name, value in limits.items():
            monkeypatch.setattr(import_module(module), name, value)
    yield
    # Refusals by these limits are no answers for other tests.
    dropping_and_replacement._labelled.cache_clear()


def answered(scenario: Scenario) -> None:
    """Each formula gives finite numbers or reasons; the nearest come first."""
    predictions, others = predict(scenario)
    assert all(math.isfinite(row.value) for row in predictions)
    assert all(each.reasons and all(each.reasons) for each in others)
    lacking = [(each.other_subject, len(each.reasons)) for each in others]
    assert lacking == sorted(lacking)
    sources = {row.source for row in predictions} | {each.source for each in others}
    assert {formula.source for formula in FORMULAS} == sources | silent(scenario, sources)


def silent(scenario: Scenario, heard: set[str]) -> set[str]:
    """Formulas that cover a scenario and have nothing defined to say."""
    return {
        formula.source
        for formula in FORMULAS
        if formula.source not in heard and formula.reason_against(scenario) is None
    }


many = settings(
    max_examples=examples(150),
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.usefixtures("small")
@many
@given(large_search_engines())
def test_large_systems_are_answered_or_refused(tables: Tables) -> None:
    answered(scenario_from(tables))


@pytest.mark.usefixtures("small")
@many
@given(search_engines())
def test_small_systems_are_answered_or_refused(tables: Tables) -> None:
    answered(scenario_from(tables))


@pytest.mark.usefixtures("small")
@many
@given(server_farms())
def test_server_farms_are_answered_or_refused(tables: Tables) -> None:
    answered(scenario_from(tables))


@pytest.mark.usefixtures("small")
@many
@given(large_search_engines())
def test_a_warm_up_is_suggested_for_any_system(tables: Tables) -> None:
    longest = scenario_from(tables | {"run": {"horizon": 1e99}})
    assert 0 <= suggested_warmup(longest)[0] < 1e99


@pytest.mark.by_day(
    every=4,
    besides=(
        "prices0-cyclic, gamma",
        "prices0-cyclic, gamma, heard up to a level",
        "prices2-cyclic, gamma",
        "prices2-cyclic, gamma, heard up to a level",
        "prices2-hyperexponential timers, threshold",
    ),
)
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("prices", [{"loss": 1.0}, {"response": 1.0}, {"staleness": 1.0}])
def test_priced_pipelines_are_answered_or_refused(name: str, prices: dict[str, float]) -> None:
    answered(pipeline(name).with_("costs", prices))


def erlang(shape: int) -> Tables:
    return {"erlang": {"shape": shape, "mean": 1.0}}


@pytest.mark.by_day("1-2000")
@pytest.mark.parametrize(("robots", "shape"), [(17, 4), (2, 50), (1100, 2), (1, 2000)])
def test_robots_with_too_many_joint_phases_are_a_reason(robots: int, shape: int) -> None:
    scenario = queue(
        {"robots.available": robots, "robots.access_time": erlang(shape), "activation": None}
    )
    many = "1 robot" if robots == 1 else f"{robots} robots"
    have = "has" if robots == 1 else "have"
    said = f"{many} with access times of {shape} phases {have} more than 1024 joint phases"
    assert said in [reason for each in predict(scenario)[1] for reason in each.reasons]


def test_a_million_phases_of_anything_are_never_built() -> None:
    million = erlang(10**6)
    for change in (
        {"robots.access_time": million},
        {"buffer.service": million},
        {"buffer.obsolescence": million},
    ):
        answered(queue(change))


@pytest.mark.parametrize("change", [{"discipline": "lifo"}, {"when_full": "push-out"}])
def test_a_switched_queue_out_of_order_is_predicted_whatever_is_priced(change: Tables) -> None:
    """The measures of the rule do not need the price of the response; its cost does."""
    base = queue(
        {
            "activation.switching.targets": [3, 3, 2, 1, 0],
            "buffer": {"waiting_places": 3, "service": {"exponential": {"mean": 0.6}}} | change,
            "costs": {"loss": 1.0, "response": 0.5},
        }
    )
    found, others = predict(base)
    plain = predict(base.with_("costs", None))[0]
    assert [row for row in found if row.source == "talim2001 (8)"] == [
        row for row in plain if row.source == "talim2001 (8)"
    ]
    price = "[costs] prices the response time of pages that are not served in their order"
    assert price in next(each for each in others if each.source == "talim2001 (5)").reasons


def test_many_orders_of_pages_in_a_long_buffer_are_a_reason() -> None:
    pages = {
        "pages": {"change_rates": [0.1 * each for each in range(1, 21)]},
        "robots.accessing": {"policy": "randomized", "frequencies": "uniform"},
        "buffer.waiting_places": 400,
        "buffer.obsolescence": "page-change",
    }
    said = "its 20 kinds of pages have too many orders in the buffer"
    with pytest.raises(NoAnswerError, match=said):
        dropping_and_replacement.labels_fit(queue(pages))


def test_a_timer_of_any_size_does_not_matter_where_no_page_can_wait() -> None:
    scenario = queue({"buffer.waiting_places": 0, "activation": None})
    timed = scenario.with_("buffer.obsolescence", erlang(4096))
    chain = "avrachenkov2011 Theorem 2"
    assert [row for row in predict(timed)[0] if row.source == chain] == [
        row for row in predict(scenario)[0] if row.source == chain
    ]


def test_a_timer_of_a_million_phases_does_not_fit_where_pages_wait() -> None:
    for places in (1, 400):
        timed = {"buffer.waiting_places": places, "buffer.obsolescence": erlang(10**6)}
        scenario = queue(timed | {"activation": None})
        reasons = next(e for e in predict(scenario)[1] if e.source.endswith("Theorem 2")).reasons
        assert reasons == ("obsolescence timers have 1000000 phases; at most 4096 are solved",)


def test_targets_by_phase_keep_their_service() -> None:
    """A moment match for the service would have other phases than the targets."""
    scenario = pipeline("switching by phase").with_("buffer.replace_older_copy", True)
    answered(scenario)
    refused = next(each for each in predict(scenario)[1] if "moment match" in each.source)
    assert (
        "there are targets for each phase of the service, which has to be kept" in refused.reasons
    )


def test_deliveries_that_never_bring_a_page_are_a_reason() -> None:
    silent = {"thinned": {"process": {"poisson": {"rate": 1.0}}, "keep": [0.0]}}
    changes = {"robots.available": 1, "robots.access_time": None, "robots.deliveries": silent}
    for others in ({}, {"buffer.discipline": "lifo"}):
        scenario = pipeline("hyperexponential service").with_(changes | others)
        answered(scenario)
        found = {each.source: each.reasons for each in predict(scenario)[1]}
        assert "nothing is ever delivered" in found["pipeline random pages"]


class _Unheard(laws.Deterministic):
    """A law that no formula has heard of."""


def test_a_law_without_a_transform_is_a_reason() -> None:
    scenario = pipeline("cyclic, constant")
    assert scenario.robots is not None
    law: Any = _Unheard(value=0.9)
    robots = scenario.robots.model_copy(update={"access_time": law})
    predictions, others = predict(scenario.model_copy(update={"robots": robots}))
    assert not [row for row in predictions if row.kind == "exact"]
    refused = next(each for each in others if each.source == "pipeline one robot")
    assert refused.reasons == ("the transform of deterministic times is not known",)


# --- every obstacle at once ---------------------------------------------------------------------


def test_all_obstacles_are_named_the_nearest_formula_first() -> None:
    """Uniform services, timers and two robots that are switched by level: by hand."""
    scenario = queue(
        {
            "buffer.service": {"uniform": {"low": 0.1, "high": 1.0}},
            "buffer.obsolescence": {"gamma": {"shape": 1.5, "mean": 2.0}},
            "activation.threshold": {"robots": [2, 1], "at": [1]},
        }
    )
    others = {each.source: each for each in predict(scenario)[1]}
    assert others["kleinrock1975 section 3.6"].reasons == (
        "service times are not exponential",
        "the number of active robots depends on the level",
        "waiting pages become obsolete",
    )
    assert others["avrachenkov2011 Theorem 2"].reasons == (
        "service times are not of phase type (uniform)",
        "obsolescence timers are not of phase type (gamma)",
    )
    foreign = others["altman2000 (6), Example 2.1"]
    assert (foreign.reasons, foreign.other_subject) == (("there are no [servers]",), True)


def test_the_nearest_formula_comes_first_with_the_key_to_change() -> None:
    """Timers of one length, before one server and before three: what a reader would try first."""
    constant = queue({"buffer.obsolescence": {"deterministic": {"value": 1.0}}})
    three = constant.with_("buffer.servers", 3)
    for scenario, names in (
        (constant, {"BMAP/PH/1/K+PH", "birth-death queue, M(n)/M/1/K+M"}),
        (three, {"BMAP/PH/c/K+M"}),
    ):
        others = [each for each in predict(scenario)[1] if called(each.source) in names]
        others = [each for each in others if len(each.reasons) == 1]
        assert {called(each.source) for each in others} == names
        assert {each.keys for each in others} == {("buffer.obsolescence",)}
    order = [not each.other_subject for each in predict(three)[1]]
    assert order == sorted(order, reverse=True)


def test_every_condition_has_its_keys_and_every_key_is_one_of_the_file() -> None:
    asked = {condition.__name__ for formula in FORMULAS for condition in formula.conditions}
    assert asked == set(KEYS)
    text = json.dumps(Scenario.model_json_schema())
    for key in {key for keys in KEYS.values() for key in keys}:
        section, _, inner = key.partition(".")
        assert section in Scenario.model_fields
        assert all(f'"{part}": {{' in text for part in filter(None, inner.split("."))), key


def test_of_several_keys_those_are_named_that_the_file_sets() -> None:
    pushing = queue({"buffer.admission": "partial", "buffer.when_full": "push-out"})
    (_, of_others) = predict(pushing)
    kept = next(each for each in of_others if each.source == "avrachenkov2011 Theorem 4")
    assert kept.keys == ("buffer.when_full",)


def test_a_source_that_is_used_and_not_applicable_says_of_which_quantity() -> None:
    scenario = queue().with_("buffer.service", {"lognormal": {"mean": 0.5, "sd": 1.0}})
    predictions, others = predict(scenario)
    used = {each.source for each in predictions}
    assert used
    for other in others:
        assert (other.name == other.source) or other.quantity in other.name
        assert not (other.source in used and other.name == other.source)
    assert len({(each.name, each.reason) for each in others if each.source in used}) == sum(
        each.source in used for each in others
    )


def test_a_system_of_another_kind_is_asked_nothing_else() -> None:
    scenario = queue()
    for formula in FORMULAS:
        if formula.paper in ("coffman1998", "altman2000", "eckstein2005"):
            reasons = list(obstacles(formula.conditions, Reasons(scenario)))
            assert reasons
            assert all(
                reason.startswith(("there is no [", "there are no [", "deliveries wait"))
                for reason in reasons
            )


def test_a_refusal_inside_a_condition_is_its_reason() -> None:
    def refusing(scenario: Scenario) -> str | None:
        raise NoAnswerError(f"{scenario.name} is too much")

    assert list(obstacles([refusing], Reasons(queue()))) == [f"{queue().name} is too much"]


@pytest.mark.by_day("gamma")
@pytest.mark.parametrize("key", ["uniform", "gamma", "deterministic"])
def test_access_times_without_phases_are_named_by_their_law(
    key: Literal["uniform", "gamma", "deterministic"],
) -> None:
    laws: dict[str, Tables] = {
        "uniform": {"low": 0.1, "high": 1.0},
        "gamma": {"shape": 1.5, "mean": 1.0},
        "deterministic": {"value": 1.0},
    }
    for law in ({key: laws[key]}, {"renewal": {key: laws[key]}}):
        scenario = queue({"robots.access_time": law})
        reasons = next(e for e in predict(scenario)[1] if e.source.endswith("Theorem 2")).reasons
        assert f"access times are {key}, which has no phase-type form" in reasons


# --- one robot without phases ---------------------------------------------------------------------

WITHOUT_PHASES: dict[str, Tables] = {
    "constant": {"deterministic": {"value": 0.9}},
    "uniform": {"uniform": {"low": 0.2, "high": 1.4}},
    "gamma": {"gamma": {"shape": 0.5, "mean": 0.9}},
    "observed": {"empirical": {"values": [0.1, 0.5, 2.0]}},
}


def one_robot(law: Tables, **changes: Any) -> Scenario:
    return scenario_from(
        {
            "name": "one",
            "robots": {"available": 1, "access_time": law},
            "buffer": {"waiting_places": 3, "service": {"erlang": {"shape": 2, "mean": 1.0}}},
            "run": {"horizon": 30_000.0, "warmup": 200.0, "replications": 20, "seed": 3},
        }
    ).with_(changes or {"title": ""})


@pytest.mark.parametrize("law", WITHOUT_PHASES)
def test_the_queue_of_one_robot_without_phases_agrees_with_the_simulation(law: str) -> None:
    """False alarms: 1e-3 for all rows of a law together; services 2 % longer are seen."""
    scenario = one_robot(WITHOUT_PHASES[law])
    predictions = predict(scenario)[0]
    results = sim.run(scenario)
    assert {row.source for row in predictions} == {"pipeline one robot, queue"}
    assert overall(compare(predictions, results)) != "disagrees"
    wrong = scenario.with_("buffer.service.erlang.mean", 1.02)
    assert overall(compare(predict(wrong)[0], results)) == "disagrees"


TIMERS = {"exponential": {"mean": 1.5}}
ONE_ROBOT: dict[str, Tables] = {
    "plain": {},
    "timers": {"buffer.obsolescence": TIMERS},
    "Erlang timers": {"buffer.obsolescence": {"erlang": {"shape": 2, "mean": 1.5}}},
    "heard up to a level": {"activation": {"threshold": {"robots": [1, 0], "at": [1]}}},
    "heard, timers": {
        "activation": {"threshold": {"robots": [1, 0], "at": [2]}},
        "buffer.obsolescence": TIMERS,
    },
    "newest first, push-out, timers": {
        "buffer.obsolescence": TIMERS,
        "buffer.discipline": "lifo",
        "buffer.when_full": "push-out",
    },
    "failures, heard": {
        "robots.failure": {"probability": 0.3},
        "activation": {"threshold": {"robots": [1, 0], "at": [2]}},
    },
    "no robot": {"activation": {"static": 0}},
    "costs": {
        "buffer.obsolescence": TIMERS,
        "costs": {"loss": 1.0, "starvation": 2.0, "obsolescence": 3.0, "response": 0.5},
    },
}


@pytest.mark.parametrize("name", ONE_ROBOT)
def test_the_same_queue_of_a_law_with_phases_is_that_of_the_chain(name: str) -> None:
    """A gamma law of whole shape is an Erlang law, which the chain knows.

    Only the chain follows a page that is not served in its order.
    """
    changes = ONE_ROBOT[name]
    gamma = predict(one_robot({"gamma": {"shape": 3.0, "mean": 0.9}}, **changes))[0]
    chain = predict(one_robot({"erlang": {"shape": 3, "mean": 0.9}}, **changes))[0]
    known = {(row.measure, row.subject): row.value for row in chain}
    found = {(row.measure, row.subject) for row in gamma}
    only_chain = {key for key in set(known) - found if key[0].startswith("sojourn_time")}
    assert found | (only_chain if "newest first" in name else set()) == set(known)
    for row in gamma:
        assert row.value == pytest.approx(known[row.measure, row.subject], rel=1e-11, abs=1e-15)


def test_constant_accesses_and_exponential_services_by_counting_services() -> None:
    """D/M/1/K: between two deliveries as many services end as a Poisson process has points."""
    apart, places = 0.8, 4
    levels = np.arange(places + 1)
    ended = poisson(apart)
    moved = np.zeros((places + 1, places + 1))
    for level in levels:
        moved[level, level:0:-1] = ended.pmf(np.arange(level))
        moved[level, 0] = ended.sf(level - 1)
    entered = np.eye(places + 1)[np.minimum(levels + 1, places)]
    after = np.linalg.matrix_power(moved @ entered, 2000)[0]
    before = after @ moved
    entering = before[:-1] / before[:-1].sum()
    expected = {
        ("loss_probability", None): before[-1],
        ("throughput", None): before[:-1].sum() / apart,
        ("starvation_probability", None): 1.0 - before[:-1].sum() / apart,
        ("sojourn_time", "served"): entering @ (levels[:-1] + 1.0),
        ("sojourn_time_second_moment", "served"): entering @ ((levels[:-1] + 1) * (levels[1:] + 1)),
    }
    scenario = one_robot(
        {"deterministic": {"value": apart}},
        **{"buffer.service": {"exponential": {"mean": 1.0}}},
    )
    found = {(row.measure, row.subject): row.value for row in predict(scenario)[0]}
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-12), key
