"""The best rule that keeps a bound, against each rule's own predictions and a linear programme."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from scipy.optimize import linprog

from analytic import exact_values, optimize, predict
from analytic.index.optimum import NoOptimumError
from analytic.robot_control.switched_queue import Measures, SwitchedQueue
from analytic.robot_control.switching import best_switching, queue_of
from analytic.robot_control.target_rules import measures_of_targets
from analytic.rules.bound import COUNTED, SHARES, Bound, Found, cheapest_within
from analytic.rules.listed import ListedRules
from analytic.rules.subject_to import best_within
from analytic.rules.targets import counted_by
from scenarios import Scenario, load, scenario_from
from scenarios.arrays import Array
from scenarios.choices import NO_CLASS

OF_PARTS = ("level_probability", "sojourn_time", "idle_indexers")
OF_THE_WHOLE = [each for each in COUNTED if each not in OF_PARTS]
"""Measures without subjects that a queue of one unnamed server has."""


def queue(**sections: Any) -> Scenario:
    system: dict[str, Any] = {
        "name": "bounded",
        "robots": {"available": 3, "access_time": {"exponential": {"mean": 1.0}}},
        "buffer": {
            "waiting_places": 3,
            "service": {"erlang": {"shape": 2, "mean": 0.8}},
            "obsolescence": {"exponential": {"mean": 4.0}},
        },
        "costs": {"loss": 20.0, "obsolescence": 30.0, "starvation": 10.0, "robots": 1.0},
    }
    return scenario_from({**system, **sections})


def value_of(scenario: Scenario, rule: dict[str, Any], measure: str) -> float:
    """Of one rule by its own prediction."""
    rows = predict(scenario.with_("activation", rule))[0]
    return next(row.value for row in rows if row.measure == measure and row.kind == "exact")


@pytest.mark.parametrize("measure", OF_THE_WHOLE)
@pytest.mark.parametrize("above", [False, True])
def test_the_best_number_is_the_best_of_those_that_keep_the_bound(
    measure: str, above: bool
) -> None:
    scenario = queue()
    rules = {n: {"static": n} for n in (1, 2, 3)}
    values = {n: value_of(scenario, rule, measure) for n, rule in rules.items()}
    costs = {n: value_of(scenario, rule, "control_cost") for n, rule in rules.items()}
    bound = values[2] * (1 - 1e-6 if above else 1 + 1e-6)
    kept = [n for n in rules if (values[n] >= bound if above else values[n] <= bound)]
    best = min(kept, key=lambda n: costs[n])
    found = best_within(scenario, "static", Bound(measure, above, bound))
    assert found.decision == {"robots": best}
    assert found.cost == pytest.approx(costs[best], rel=1e-10)
    assert {row["robots"] for row in found.table} - {0} == set(kept)


def test_the_best_thresholds_are_the_best_of_those_that_keep_the_bound() -> None:
    scenario = queue()
    limit = Bound("loss_probability", False, 0.06)
    found = best_within(scenario, "threshold", limit)
    least = np.inf
    for high in (1, 2, 3):
        for low in range(1, high + 1):
            for at in range(4):
                pair = {"robots": [high, low], "at": [at]} if low < high else None
                rule = {"threshold": pair} if pair else {"static": high}
                if value_of(scenario, rule, "loss_probability") <= 0.06:
                    least = min(least, value_of(scenario, rule, "control_cost"))
    rule = dict(found.changes)["activation"]
    assert value_of(scenario, rule, "loss_probability") <= 0.06
    assert value_of(scenario, rule, "control_cost") == pytest.approx(found.cost, rel=1e-10)
    assert found.cost is not None
    assert found.cost <= least * (1 + 1e-12)
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cost


def mixture_of(excess: Array, costs: Array) -> Found[int]:
    rows = np.atleast_2d(excess)
    rules = ListedRules(costs, rows, rows, rows)
    return cheapest_within(rules, [Bound("loss_rate", False, 0.0)] * len(rows), str, 1e-12)


numbers = st.floats(-5.0, 5.0, allow_nan=False).map(lambda x: round(x, 3))


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
def test_no_mixture_of_any_rules_is_cheaper(points: list[tuple[float, float]]) -> None:
    excess, costs = np.array([(-1.0, 6.0), *points]).T
    found = mixture_of(excess, costs)
    programme = linprog(
        costs, A_ub=[excess], b_ub=[0.0], A_eq=[np.ones(len(costs))], b_eq=[1.0], method="highs"
    )
    assert found.mixed_cost == pytest.approx(programme.fun, abs=1e-9)
    assert found.lower == pytest.approx(max(programme.fun, 0.0), abs=1e-9)
    shares = np.zeros(len(costs))
    for each, share in zip(found.mixture, found.shares, strict=True):
        shares[each.rule] += share
    assert shares @ excess <= 1e-12
    assert shares @ costs == pytest.approx(found.mixed_cost, abs=1e-12)


rows_of_numbers = st.tuples(numbers, numbers, numbers, numbers)


@settings(max_examples=examples(200))
@given(st.lists(rows_of_numbers, min_size=1, max_size=12), st.integers(2, 3))
def test_no_mixture_under_several_bounds_is_cheaper(
    points: list[tuple[float, ...]], count: int
) -> None:
    """Against HiGHS; and where no mixture keeps the bounds, none is found."""
    costs, *excess = np.array(points).T[: count + 1]
    rows = np.array(excess)
    programme = linprog(
        costs,
        A_ub=rows,
        b_ub=np.zeros(count),
        A_eq=[np.ones(len(costs))],
        b_eq=[1.0],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    kept = (rows <= 0).all(axis=0)
    if not kept.any():
        said = "no single rule was found" if programme.success else "no rule of this kind keeps"
        with pytest.raises(NoOptimumError, match=said):
            mixture_of(rows, costs)
        return
    found = mixture_of(rows, costs)
    assert found.mixed_cost == pytest.approx(programme.fun, abs=1e-9)
    assert found.lower == pytest.approx(max(programme.fun, 0.0), abs=1e-9)
    assert found.single.cost == costs[kept].min()
    assert len(found.mixture) <= count + 1
    shares = np.zeros(len(costs))
    for each, share in zip(found.mixture, found.shares, strict=True):
        shares[each.rule] += share
    assert (rows @ shares).max() <= 1e-9
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("points", "cost"),
    [
        (  # a rule just keeps the bounds, and no mixture has more room
            [
                *((9.0, 0.0, 3.26, -0.002), (10.0, 1.59, 0.002, 3.169), (10.01, 0.0, -3.0, 0.002)),
                *((9.998, 0.5, 0.002, -1.0), (5.0, 5.0, 5.0, 0.0), (9.0, 0.0, -0.004, 0.0)),
            ],
            9.0,
        ),
        (  # two rules of one cost, between which rounding goes back and forth
            [
                *((8.175, 0.01, -0.008, 0.0), (10.01, 0.0, -1.535, -0.005)),
                *((10.5, -3.0, -0.001, 0.003), (5.0, 0.5, 0.0, 3.0), (9.0, 0.01, 0.01, 1.146)),
                *((10.5, 0.01, 0.0, -3.0), (10.009, -0.001, -0.007, 0.002)),
                *((5.0, 0.0, 0.009, 1.0), (10.0, 0.5, -1.86, 0.0), (10.0, 1.0, 0.0, -0.002)),
            ],
            6.393994062,
        ),
    ],
)
def test_bounds_that_are_just_kept_hide_no_mixture(points: list[Any], cost: float) -> None:
    """What it costs, and that nothing costs less, which proves it; whatever the unit of time."""
    costs, *excess = np.array(points).T
    for unit in (1.0, 1e-7):
        found = mixture_of(unit * np.array(excess), costs)
        assert found.mixed_cost == pytest.approx(cost, rel=1e-8)
        assert found.lower == pytest.approx(found.mixed_cost, rel=1e-12)


def test_a_price_of_the_response_is_no_rate() -> None:
    scenario = queue(costs={"loss": 20.0, "starvation": 10.0, "response": 5.0})
    found = best_within(scenario, "static", Bound("throughput", True, 0.7))
    assert found.lower_bound is None


def test_what_no_rule_keeps_says_what_comes_nearest() -> None:
    with pytest.raises(NoOptimumError, match=r"the nearest, robots = 1 has 0\.0"):
        best_within(queue(), "static", Bound("loss_probability", False, 1e-9))
    with pytest.raises(NoOptimumError, match="static, threshold, levels, free or switching"):
        best_within(queue(), "template", Bound("loss_probability", False, 0.1))


@pytest.mark.parametrize(
    "text",
    ["loss<0.1", "loss_probability", "loss_probability <= x", "1", "loss_probability = 0.1", "<1"],
)
def test_a_bound_that_is_none_is_refused(text: str, crawlsim: Any) -> None:
    code, _, err = crawlsim("optimize", "one-robot", "--target", "static", "--subject-to", text)
    assert code == 2
    assert "--subject-to" in err


def test_a_bound_where_nothing_costs_anything_without_it() -> None:
    scenario = queue(costs={"robots": 1.0})
    found = best_within(scenario, "static", Bound("throughput", True, 0.5))
    assert found.decision == {"robots": 1}
    assert "without the bound the cost is 0; it costs 1 more" in found.notes


def test_a_limit_is_said_as_it_was_given() -> None:
    assert str(Bound("loss_rate", False, 0.123456789)) == "loss_rate <= 0.123456789"


def test_the_command(crawlsim: Any) -> None:
    asked = ["optimize", "four-robots-one-threshold", "--target", "threshold"]
    code, out, _ = crawlsim(*asked, "--subject-to", "throughput >= 1.44", "--json")
    (found,) = json.loads(out)
    assert code == 0
    assert found["decision"] == {"robots": [4, 2, 1], "at": [1, 2]}
    both = ["--subject-to", "throughput >= 1", "--subject-to", "loss_probability <= 0.5"]
    code, out, _ = crawlsim(*asked, *both, "--json")
    (found,) = json.loads(out)
    assert (code, found["notes"][0].count("=")) == (0, 2)
    assert "keep throughput >= 1.0 and loss_probability <= 0.5" in found["notes"][1]
    neither = ["--subject-to", "throughput >= 1.4", "--subject-to", "sojourn_time <= 0.1"]
    code, out, err = crawlsim(*asked, *neither)
    assert (code, out) == (2, "")
    assert '--subject-to = "throughput >= 1.4 and sojourn_time <= 0.1"' in err
    assert "no rule of this kind keeps throughput >= 1.4 and sojourn_time all <= 0.1" in err
    for text, word in {
        "sojourn_time served <= 3": "of all, or of accepted pages",
        "level_probability <= 0.1": "goes with a level",
        "throughput 3 <= 0.1": "no other measure with a subject",
        "throughput served <= 0.1": "no other measure with a subject",
        "obsolescence_rate <= 0.1": "must begin with",
    }.items():
        code, _, err = crawlsim(*asked, "--subject-to", text)
        assert (code, word in " ".join(err.split())) == (2, True), err
    code, _, err = crawlsim(*asked, "--subject-to", "loss_probability <= 0.0001")
    assert code == 2
    assert "\nno rule of this kind keeps" in err
    code, _, err = crawlsim(*asked, "--subject-to", "throughput >= 1", "--kind", "simulated")
    assert code == 2
    assert "must be exact" in err


def all_targets(scenario: Scenario) -> tuple[SwitchedQueue, list[Measures]]:
    """The measures of every list of targets."""
    queue = queue_of(scenario)
    available = queue.modes.available
    each = product(range(1, available + 1), *[range(available + 1)] * queue.levels.capacity)
    phases = queue.levels.phases
    every = [[first, *np.repeat(rest, phases)] for first, *rest in each]
    return queue, [*filter(None, (measured(queue, targets) for targets in every))]


def measured(queue: SwitchedQueue, targets: list[int]) -> Measures | None:
    """None where the targets leave two levels, or sets of levels, for good."""
    try:
        return measures_of_targets(queue, np.array(targets))
    except ValueError:
        return None


@pytest.mark.by_day(
    "False-False-obsolescence_probability",
    "False-False-mean_active_robots",
    "False-True-obsolescence_probability",
)
@pytest.mark.parametrize("measure", OF_THE_WHOLE)
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("stale", [False, True])
def test_no_targets_that_keep_the_bound_cost_less(measure: str, above: bool, stale: bool) -> None:
    """Against all lists of targets, alone and mixed, at the middle one of their values."""
    buffer: dict[str, Any] = {"waiting_places": 2, "service": {"exponential": {"mean": 0.8}}}
    if stale:
        buffer["obsolescence"] = {"exponential": {"mean": 4.0}}
    scenario = queue(buffer=buffer)
    if measure == "obsolescence_probability" and not stale:
        return
    system, rules = all_targets(scenario)
    counts = np.array([counted_by(Bound(measure, above, 0.0), rule, system) for rule in rules])
    values = counts[:, 0] / counts[:, 1]
    costs = np.array([rule.cost(scenario.prices) for rule in rules])
    limit = float(np.median(values))
    delivered = np.array([system.modes.rates[0] * rule.mean_active for rule in rules])
    total = delivered if measure in SHARES else np.ones(len(rules))
    excess = (values - limit) * total * (-1 if above else 1)
    excess = np.where(np.abs(excess) < 1e-12, 0.0, excess)
    mixture = mixture_of(excess, costs).mixed_cost
    found = best_within(scenario, "switching", Bound(measure, above, limit))
    kept = float(costs[excess <= 0].min())
    assert found.lower_bound is not None
    assert mixture * (1 - 1e-7) <= found.cost
    assert found.lower_bound <= mixture * (1 + 1e-9)
    assert found.lower_bound == pytest.approx(mixture, rel=1e-6)
    assert found.cost == pytest.approx(kept, rel=1e-9)
    own = measures_of_targets(system, np.array(found.decision["targets"]))
    counted, total = counted_by(Bound(measure, above, limit), own, system)
    value = counted / total
    assert value >= limit * (1 - 1e-9) if above else value <= limit * (1 + 1e-9)


def test_targets_that_break_the_bound_are_refuted() -> None:
    """A planted error: the targets without the bound, taken for those with it."""
    service = {"exponential": {"mean": 0.8}}
    scenario = queue(buffer={"waiting_places": 3, "service": service})
    free = best_switching(scenario)
    limit = 0.9 * free.measures.starvation
    found = best_within(scenario, "switching", Bound("starvation_probability", False, limit))
    own = measures_of_targets(free.queue, np.array(found.decision["targets"]))
    assert own.starvation <= limit < free.measures.starvation
    assert found.cost > free.cost


def test_no_targets_keep_an_impossible_bound() -> None:
    with pytest.raises(
        NoOptimumError, match=r"no rule of this kind keeps throughput >= 5\.0; the nearest, targets"
    ):
        best_within(load("talim-switching"), "switching", Bound("throughput", True, 5.0))


# --- classes, sets, levels, free rules: every rule by its own prediction --------------------------

TWO = [
    {"available": 2, "access_time": {"exponential": {"rate": 0.9}}},
    {"available": 2, "access_time": {"exponential": {"rate": 0.3}}},
]
ONE_EACH = [each | {"available": 1} for each in TWO]
BRISK = {"mmpp": {"Q": [[-0.3, 0.3], [0.2, -0.2]], "rates": [2.0, 0.3]}}
CALM = {"mmpp": {"Q": [[-0.3, 0.3], [0.2, -0.2]], "rates": [0.4, 0.3]}}
WILD = {"mmpp": {"Q": [[-0.3, 0.3], [0.2, -0.2]], "rates": [0.9, 2.5]}}
SLOW = {"poisson": {"rate": 0.4}}
UNEVEN = {"hyperexponential": {"probabilities": [0.8, 0.2], "rates": [3.0, 0.3]}}
COSTS = {"loss": 3.0, "starvation": 5.0, "robots": 0.2}

Rules = list[dict[str, Any]]


def small(robots: dict[str, Any], places: int, **more: Any) -> Scenario:
    service = {"exponential": {"rate": 1.0}}
    buffer = {"waiting_places": places, "service": service, **more}
    return scenario_from({"name": "small", "robots": robots, "buffer": buffer, "costs": COSTS})


def by_class() -> tuple[Scenario, Rules]:
    scenario = small({"classes": TWO}, 2).with_("costs.robots", [0.5, 0.1])
    return scenario, [{"static": [a, b]} for a in range(3) for b in range(3) if a + b]


def by_set() -> tuple[Scenario, Rules]:
    robots = {"available": 3, "deliveries": {"independent": [BRISK, SLOW, SLOW]}}
    scenario = small(robots, 2).with_("costs.robots", [0.5, 0.1, 0.3])
    sets = [[r for r in range(3) if chosen >> r & 1] for chosen in range(1, 8)]
    return scenario, [{"these": each} for each in sets]


def by_level() -> tuple[Scenario, Rules]:
    scenario = small({"available": 3, "deliveries": {"modes": [CALM, BRISK, WILD]}}, 1)
    return scenario, [{"levels": list(each)} for each in product((1, 2, 3), repeat=3)]


def by_phase() -> tuple[Scenario, Rules]:
    scenario = small({"available": 2, "access_time": {"exponential": {"rate": 0.9}}}, 1)
    scenario = scenario.with_("buffer.service", UNEVEN)
    cells = product((1, 2), repeat=5)
    return scenario, [{"free": [[[a]], [[b, c]], [[d, e]]]} for a, b, c, d, e in cells]


def by_choice() -> tuple[Scenario, Rules]:
    scenario = small({"classes": ONE_EACH}, 0).with_("costs.robots", [0.5, 0.1])
    # With both at rest, the second one active, the first one active, both; then with a page.
    options = [(0, 1), (-1, 0), (-1, 1), (-1,), (-1, 0, 1), (-1, 0), (-1, 1), (-1,)]
    rules = []
    for empty in product(*options[:4]):
        for busy in product(*options[4:]):
            cells = [*empty, *busy]
            table = [[[a, b], [c, d]] for a, b, c, d in (cells[:4], cells[4:])]
            rules.append({"switching": {"choices": table}})
    return scenario, rules


FAMILIES = {
    "static": by_class,
    "these": by_set,
    "levels": by_level,
    "free": by_phase,
    "switching": by_choice,
}


def points_of(scenario: Scenario, rules: Rules, measure: str) -> list[tuple[float, float, float]]:
    """Cost, measure and deliveries per unit time of each rule that has a steady state."""
    points = []
    for rule in rules:
        rows = {
            (each.measure, each.subject): each.value
            for each in predict(scenario.with_("activation", rule))[0]
            if each.kind == "exact"
        }
        wanted = [(name, None) for name in ("control_cost", measure, "arrival_rate")]
        if all(name in rows for name in wanted):
            points.append(tuple(rows[name] for name in wanted))
    return points


@pytest.mark.by_day(
    besides=(
        "loss_probability-False-0.35-switching",
        "starvation_probability-False-0.5-switching",
        "throughput-True-0.6-switching",
        "mean_active_robots-False-0.45-switching",
    )
)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("measure", "above", "share"),
    [
        ("loss_probability", False, 0.35),
        ("starvation_probability", False, 0.5),
        ("throughput", True, 0.6),
        ("mean_active_robots", False, 0.45),
    ],
)
def test_every_family_against_all_its_rules(
    family: str, measure: str, above: bool, share: float
) -> None:
    scenario, rules = FAMILIES[family]()
    points = points_of(scenario, rules, measure)
    assert len(points) > 4
    costs, values, delivered = np.array(points).T
    value = float(np.quantile(values, 1 - share if above else share)) + 1e-4
    value = round(value, 5)
    found = best_within(
        scenario, "static" if family == "these" else family, Bound(measure, above, value)
    )
    excess = (values - value) * (delivered if measure in SHARES else 1.0)
    excess = -excess if above else excess
    kept = excess <= 1e-12
    assert 0 < kept.sum() < len(kept)
    assert found.cost == pytest.approx(costs[kept].min(), rel=1e-8)
    programme = linprog(
        costs, A_ub=[excess], b_ub=[0.0], A_eq=[np.ones(len(costs))], b_eq=[1.0], method="highs"
    )
    assert found.lower_bound == pytest.approx(programme.fun, rel=1e-7)
    ((decided, by_rule, _),) = points_of(scenario, [found.changes["activation"]], measure)
    assert decided == pytest.approx(found.cost, rel=1e-8)
    assert by_rule >= value - 1e-9 if above else by_rule <= value + 1e-9
    mixed = any("in long turns" in note for note in found.notes)
    assert mixed == bool(programme.fun < costs[kept].min() * (1 - 1e-8))


SEVERAL = {
    ("loss_probability", None): "delivered",
    ("starvation_probability", None): "time",
    ("mean_active_robots", None): "time",
    ("throughput", None): "time",
    ("mean_in_system", None): "time",
    ("arrival_rate", None): "time",
    ("sojourn_time", "all"): "delivered",
    ("sojourn_time", "accepted"): "entered",
    ("level_probability", 1): "time",
    ("idle_indexers", None): "time",
}
"""Measures by what they are per, where there are several servers too."""


def several_servers() -> tuple[Scenario, Rules]:
    scenario = small({"available": 4, "access_time": {"exponential": {"rate": 0.9}}}, 2)
    scenario = scenario.with_({"buffer.servers": 2, "costs.access": 0.2})
    return scenario, [{"static": each} for each in range(1, 5)]


def several_and_thresholds() -> tuple[Scenario, Rules]:
    scenario = several_servers()[0].with_("robots.available", 3)
    rules = [{"static": each} for each in range(1, 4)]
    return scenario, rules + [
        {"threshold": {"robots": list(used), "at": list(at)}}
        for count in (2, 3)
        for used in combinations((3, 2, 1), count)
        for at in combinations(range(4), count - 1)
    ]


NOBODY = {
    ("control_cost", None): COSTS["starvation"],
    ("arrival_rate", None): 0.0,
    ("starvation_probability", None): 1.0,
    ("idle_indexers", None): 1.0,
}
"""What holds while no robot works; what is left out is 0."""

BESIDE_SEVERAL = FAMILIES | {"static of two": several_servers, "threshold": several_and_thresholds}


@cache
def rows_of(family: str) -> list[dict[Any, float]]:
    """The exact values of every rule that has a steady state."""
    scenario, rules = BESIDE_SEVERAL[family]()
    every = [
        {key: value for key, (value, _) in exact_values(scenario.with_("activation", rule)).items()}
        for rule in rules
    ]
    return [rows for rows in every if ("control_cost", None) in rows]


@pytest.mark.by_day(every=12, besides=("levels-6", "threshold-6"))
@pytest.mark.parametrize("number", range(15))
@pytest.mark.parametrize("family", BESIDE_SEVERAL)
def test_every_family_under_several_bounds_against_all_its_rules(family: str, number: int) -> None:
    """Two or three bounds, each kept by most rules; alone, in turns, or by none."""
    random = np.random.default_rng([37, number, len(family)])
    rows = rows_of(family)
    known = [key for key in SEVERAL if all(key in each for each in rows)]
    bounded = [known[n] for n in random.permutation(len(known))[: 2 + number % 2].tolist()]
    if "static" in family or family == "these":  # with no robot at all no page is delivered
        rows = rows + [NOBODY] * all(SEVERAL[key] == "time" for key in bounded)
    costs = np.array([each["control_cost", None] for each in rows])
    delivered = np.array([each["arrival_rate", None] for each in rows])
    lost = np.array([each.get(("loss_rate", None), 0.0) for each in rows])
    bounds, excess = [], []
    for key in bounded:
        values = np.array([each.get(key, 0.0) for each in rows])
        above = bool(random.random() < 0.5)
        share = float(random.uniform(0.3, 0.8))
        value = round(float(np.quantile(values, 1 - share if above else share)), 5)
        bounds.append(Bound(key[0], above, value, key[1]))
        per = {"time": 1.0, "delivered": delivered, "entered": delivered - lost}[SEVERAL[key]]
        excess.append((values - value) * per * (-1 if above else 1))
    stacked = np.array(excess)
    programme = linprog(
        costs, A_ub=stacked, b_ub=np.zeros(len(bounds)), A_eq=[np.ones(len(costs))], b_eq=[1.0]
    )
    kept = (stacked <= 1e-12).all(axis=0)
    target = {"these": "static", "static of two": "static"}.get(family, family)
    scenario = BESIDE_SEVERAL[family]()[0]
    if not kept.any():
        said = "no single rule was found" if programme.success else "no rule of this kind keeps"
        with pytest.raises(NoOptimumError, match=said):
            best_within(scenario, target, *bounds)
        return
    found = best_within(scenario, target, *bounds)
    assert found.cost == pytest.approx(costs[kept].min(), rel=1e-8)
    assert found.lower_bound == pytest.approx(programme.fun, rel=1e-7)
    mixed = any("in long turns" in note for note in found.notes)
    assert mixed == bool(programme.fun < costs[kept].min() * (1 - 1e-8))


@pytest.mark.thorough
def test_a_mixture_of_choices_is_told_by_where_its_rules_differ() -> None:
    scenario = load("one-fast-three-slow")
    found = best_within(scenario, "switching", Bound("loss_probability", False, 0.002))
    (mixed,) = (note for note in found.notes if "in long turns" in note)
    other = "the rule above, but with 1 page and 1 near, 1 far active: far for the rest"
    assert "the rule above for 62.3313 % of the time" in mixed
    assert other in mixed
    changed = np.array(found.decision["choices"])
    assert changed[1, 1, 1] == NO_CLASS
    changed[1, 1, 1] = 1
    rules = [{"choices": each} for each in (found.decision["choices"], changed.tolist())]
    lossy = [
        next(
            row.value
            for row in predict(scenario.with_("activation", {"switching": rule}))[0]
            if row.measure == "loss_probability"
        )
        for rule in rules
    ]
    assert lossy[0] < 0.002 < lossy[1]


@pytest.mark.thorough
def test_a_single_rule_that_is_not_proved_says_so() -> None:
    scenario = load("one-fast-three-slow")
    found = best_within(scenario, "switching", Bound("starvation_probability", False, 0.02))
    assert found.proved is False
    assert any("not proved" in note for note in found.notes)
    assert found.lower_bound < found.cost  # type: ignore[operator]
    looser = best_within(scenario, "switching", Bound("starvation_probability", False, 0.05))
    assert looser.proved
    assert looser.cost == looser.lower_bound or looser.cost == pytest.approx(looser.lower_bound)


def test_a_bound_that_an_equally_good_rule_keeps_is_proved() -> None:
    # A robot of class 0 costs nothing, so that the best rules differ in how many are active.
    classes = [
        {"available": 1, "access_time": {"exponential": {"rate": 1.449}}},
        {"available": 1, "access_time": {"exponential": {"rate": 0.401}}},
    ]
    scenario = small({"classes": classes}, 2)
    scenario = scenario.with_("buffer.service", {"exponential": {"rate": 0.828}})
    scenario = scenario.with_("costs", {"starvation": 2.379, "robots": [0.0, 0.217]})
    free = optimize(scenario, "switching")
    found = best_within(scenario, "switching", Bound("mean_active_robots", False, 1.16))
    assert found.cost == pytest.approx(free.cost, rel=1e-12)
    assert found.lower_bound == pytest.approx(found.cost, rel=1e-9)
    assert found.proved
    assert any("the bound costs nothing" in note for note in found.notes)


@pytest.mark.parametrize("target", ["free", "switching", "levels", "static"])
def test_what_no_rule_of_any_family_keeps(target: str) -> None:
    scenario, _ = FAMILIES[target]()
    with pytest.raises(NoOptimumError, match="no rule of this kind keeps"):
        best_within(scenario, target, Bound("throughput", True, 5.0))


TWO_CLASSES = {
    "classes": [
        {"available": 2, "access_time": {"exponential": {"mean": 1.0}}},
        {"available": 2, "access_time": {"exponential": {"mean": 3.0}}},
    ]
}


@pytest.mark.by_day(
    "False-loss_probability-<=",
    "False-success_probability->=",
    "False-obsolescence_probability-<=",
    "False-throughput->=",
)
@pytest.mark.parametrize(
    ("measure", "sense"),
    [
        ("loss_probability", "<="),
        ("success_probability", ">="),
        ("obsolescence_probability", "<="),
        ("throughput", ">="),
    ],
)
@pytest.mark.parametrize("classes", [False, True])
def test_shares_of_several_servers_are_those_of_each_rule(
    measure: str, sense: str, classes: bool
) -> None:
    """What is delivered follows from who is active: all that enters, is lost or is dropped."""
    scenario = scenario_from(
        {
            "name": "servers",
            "robots": TWO_CLASSES
            if classes
            else {"available": 3, "access_time": {"exponential": {"mean": 1.0}}},
            "buffer": {
                "waiting_places": 3,
                "servers": 2,
                "service": {"exponential": {"mean": 0.9}},
                "obsolescence": {"exponential": {"mean": 5.0}},
            },
            "costs": {"loss": 1.0, "starvation": 2.0, "robots": 0.1},
        }
    )
    rules: list[Any] = [1, 2, 3] if not classes else [[1, 0], [0, 2], [2, 1], [2, 2]]
    for rule in rules:
        fixed = scenario.with_("activation.static", rule)
        rows, _ = predict(fixed)
        value = next(row.value for row in rows if row.measure == measure and row.subject is None)
        limit = Bound(measure, sense == ">=", value)
        found = best_within(scenario, "static", limit)
        cost = next(row.value for row in rows if row.measure == "control_cost")
        assert found.cost is not None
        assert found.cost <= cost * (1 + 1e-9), "the rule itself keeps what it has"
        decided, _ = predict(scenario.with_(found.changes))
        reached = next(row.value for row in decided if row.measure == measure)
        assert (reached - value) * (1.0 if sense == ">=" else -1.0) >= -1e-9
