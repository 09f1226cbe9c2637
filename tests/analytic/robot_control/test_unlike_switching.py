"""Robots of several classes under switching: chains against walks, optima against all rules."""

from __future__ import annotations

from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from analytic import optimize, predict
from analytic.machinery.markov import closed_classes, stationary
from analytic.robot_control.scenario_queue import prices_in, queue_of
from analytic.robot_control.switched_queue import best_policy, measures_of_policy
from analytic.robot_control.switching import best_switching
from analytic.rules.choices import _compared, best_choices_of
from crawlsim.report import plot_choices
from scenarios import Scenario, ScenarioError, load, scenario_from
from scenarios.choices import choices_of

PHASES = {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.0, -0.8]]}
PRICES = ("loss", "starvation", "obsolescence")


def system(
    sizes: tuple[int, ...], rates: list[float], places: int, costs: dict[str, Any], **more: Any
) -> Scenario:
    """Robots of classes with exponential accesses and services."""
    classes = [
        {"available": size, "access_time": {"exponential": {"rate": rate}}}
        for size, rate in zip(sizes, rates, strict=True)
    ]
    base = scenario_from(
        {
            "name": "classes",
            "robots": {"classes": classes},
            "buffer": {"waiting_places": places, "service": {"exponential": {"rate": 1.0}}},
            "costs": costs,
        }
    )
    return base.with_(more) if more else base


def random_system(rng: np.random.Generator, sizes: tuple[int, ...], places: int) -> Scenario:
    """Any rates and prices; pages become obsolete now and then."""
    rates = rng.uniform(0.1, 2.0, size=len(sizes)).tolist()
    costs: dict[str, Any] = {name: float(rng.random()) for name in PRICES}
    costs["robots"] = (0.2 * rng.random(len(sizes))).tolist()
    obsolescence = {"exponential": {"rate": float(rng.uniform(0.05, 1.0))}}
    return system(sizes, rates, places, costs, **{"buffer.obsolescence": obsolescence})


def random_choices(rng: np.random.Generator, sizes: tuple[int, ...], levels: int) -> Any:
    """Any rule, as nested lists."""
    table = np.full((levels, *(size + 1 for size in sizes)), -1)
    for level, *active in np.ndindex(table.shape):
        left = [index for index, size in enumerate(sizes) if active[index] < size]
        rest = [] if level == 0 and not any(active) else [-1]
        table[(level, *active)] = rng.choice(left + rest)
    return table.tolist()


def environment_of(scenario: Scenario) -> tuple[Any, Any]:
    """Rates between the states of the environment, and speeds; one state where there is none."""
    given = scenario.robots.environment if scenario.robots else None
    return ([[0.0]], [1.0]) if given is None else (given.Q, given.speeds)


def walked(scenario: Scenario, chosen: Any) -> tuple[dict[Any, float], float]:
    """States with their probabilities, and the cost, by walking event by event from the start.

    From the words of the model: a state is (pages, phase of the service, active of each class,
    state of the environment); `chosen(pages, phase, active, around)` says which class is switched
    on after a delivery or a service.
    """
    robots, buffer = scenario.robots, scenario.buffer
    assert robots is not None
    assert robots.classes is not None
    assert buffer is not None
    access = [each.access_time.rate for each in robots.classes]  # type: ignore[union-attr]
    Q, speeds = environment_of(scenario)
    service: Any = buffer.service
    alpha, T = (
        ([1.0], [[-service.rate]]) if service.key == "exponential" else (service.alpha, service.T)
    )
    ends = [-sum(row) for row in T]
    gone = getattr(buffer.obsolescence, "rate", 0.0)
    top = buffer.waiting_places + 1
    costs = scenario.costs
    paid_robots = costs.robots if isinstance(costs.robots, tuple) else [costs.robots] * len(access)
    start = (0, 0, tuple(each.available for each in robots.classes), 0)
    places: dict[Any, int] = {}
    flows: list[tuple[int, Any, float]] = []
    paid: list[float] = []
    waiting = [start]

    def plus(active: tuple[int, ...], index: int, step: int) -> tuple[int, ...]:
        return tuple(n + step * (k == index) for k, n in enumerate(active))

    def decided(pages: int, phase: int, active: tuple[int, ...], around: int) -> Any:
        choice = chosen(pages, phase, active, around)
        return pages, phase, active if choice < 0 else plus(active, choice, 1), around

    while waiting:
        here = waiting.pop()
        if here in places:
            continue
        places[here] = len(places)
        pages, phase, active, around = here
        moves = [((*here[:3], other), rate) for other, rate in enumerate(Q[around])]
        heard = [speeds[around] * rate for rate in access]
        for index, (rate, number) in enumerate(zip(heard, active, strict=True)):
            fewer = plus(active, index, -1)
            begins = list(enumerate(alpha)) if pages == 0 else [(phase, 1.0)]
            moves += [
                (decided(min(pages + 1, top), after, fewer, around), rate * number * p)
                for after, p in begins
                if number
            ]
        if pages == 1:
            moves.append((decided(0, 0, active, around), ends[phase]))
        if pages > 1:
            moves += [
                (decided(pages - 1, j, active, around), ends[phase] * p)
                for j, p in enumerate(alpha)
            ]
            moves.append(((pages - 1, phase, active, around), gone * (pages - 1)))
        if pages:
            onward = enumerate(T[phase])  # the diagonal is no rate
            moves += [((pages, j, active, around), rate) for j, rate in onward]
        moves = [(there, rate) for there, rate in moves if rate > 0]
        flows += [(places[here], there, rate) for there, rate in moves]
        waiting += [there for there, _ in moves]
        lost = sum(rate * number for rate, number in zip(heard, active, strict=True)) * (
            pages == top
        )
        cost = costs.starvation * (pages == 0) + costs.loss * lost
        cost += costs.obsolescence * gone * max(pages - 1, 0)
        paid.append(cost + sum(p * n for p, n in zip(paid_robots, active, strict=True)))
    generator = np.zeros((len(places), len(places)))
    for origin, there, rate in flows:
        generator[origin, places[there]] += rate
    generator -= np.diag(generator.sum(axis=1))
    left = np.vstack([generator.T, np.ones(len(places))])
    law = np.linalg.lstsq(left, np.append(np.zeros(len(places)), 1.0), rcond=None)[0]
    return dict(zip(places, law.tolist(), strict=True)), float(law @ paid)


def entry(table: Any, *place: int) -> int:
    """What stands in nested lists."""
    for index in place:
        table = table[index]
    found: int = table
    return found


def one_class_at_rest(active: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    """The first class with a robot that is not active."""
    return next((k for k, size in enumerate(sizes) if active[k] < size), -1)


def random_rule(
    rng: np.random.Generator, sizes: tuple[int, ...], levels: int, states: int, kind: int
) -> tuple[dict[str, Any], Any]:
    """A rule as the file has it, and as `walked` asks it."""
    if kind == 2:
        targets = rng.integers(1, sum(sizes) + 1, size=levels).tolist()

        def wanted(pages: int, _phase: int, active: tuple[int, ...], _around: int) -> int:
            return one_class_at_rest(active, sizes) if sum(active) < targets[pages] else -1

        return {"targets": targets}, wanted
    tables = [[random_choices(rng, sizes, levels) for _ in range(1 + kind)] for _ in range(states)]
    written: Any = tables if kind else [phases[0] for phases in tables]

    def chosen(pages: int, phase: int, active: tuple[int, ...], around: int) -> int:
        return entry(tables[around][phase if kind and pages else 0], pages, *active)

    return {"choices": written if states > 1 else written[0]}, chosen


@pytest.mark.parametrize("seed", range(20))
def test_measures_against_a_walk(seed: int) -> None:
    # Choices by state, choices by state and phase of the service, and targets, which switch on the
    # lowest-numbered robot; and of each with an environment that is seen, or in the last not.
    rng = np.random.default_rng(seed)
    sizes = tuple(int(n) for n in rng.integers(1, 4, size=int(rng.integers(1, 4))))
    places = int(rng.integers(0, 4))
    scenario = random_system(rng, sizes, places)
    kind = seed % 3
    states = 1 if seed < 9 else 2
    if states > 1:
        environment = {"Q": [[-0.3, 0.3], [0.8, -0.8]], "speeds": [1.6, 0.4]}
        scenario = scenario.with_("robots.environment", environment)
    rule, chosen = random_rule(rng, sizes, places + 2, states, kind)
    changes = {"activation": {"switching": rule}}
    if kind == 1:
        changes |= {"buffer.service": {"phase-type": PHASES}}
    scenario = scenario.with_(changes)
    law, cost = walked(scenario, chosen)
    predictions, _ = predict(scenario)
    rows: dict[Any, list[float]] = {}
    for each in predictions:
        if each.kind == "exact":
            rows.setdefault((each.measure, each.subject), []).append(each.value)
    expected = {
        ("control_cost", None): cost,
        ("mean_active_robots", None): sum(p * sum(active) for (_, _, active, _), p in law.items()),
        ("mean_in_system", None): sum(p * pages for (pages, _, _, _), p in law.items()),
        ("level_probability", 0): sum(p for (pages, _, _, _), p in law.items() if pages == 0),
    }
    for index in range(len(sizes)):
        mean = sum(p * active[index] for (_, _, active, _), p in law.items())
        expected["mean_active_robots", index] = mean
    if len(sizes) > 1 or states > 1:
        assert len(rows["starvation_probability", None]) == 2  # by two formulas
        assert len(rows["mean_active_robots", 0]) == 2
    for key, value in expected.items():
        assert rows[key] == pytest.approx([value] * len(rows[key]), rel=1e-8, abs=1e-12), key


def all_rules(sizes: tuple[int, ...], levels: int) -> Any:
    """Every rule, as an array over levels and active robots."""
    states = list(np.ndindex((levels, *(size + 1 for size in sizes))))
    options = [
        [index for index, size in enumerate(sizes) if active[index] < size]
        + ([] if level == 0 and not any(active) else [-1])
        for level, *active in states
    ]
    shape = (1, levels, len(states) // levels)
    return (np.array(rule).reshape(shape) for rule in product(*options))


@given(st.integers(0, 10**6))
@settings(max_examples=examples(5))
@pytest.mark.thorough
def test_no_rule_of_all_is_better(seed: int) -> None:
    # One robot of each of two classes and two places: all 1152 rules of level and active robots,
    # each from its cheapest closed class.
    rng = np.random.default_rng(seed)
    sizes, places = (1, 1), 1
    scenario = random_system(rng, sizes, places)
    queue = queue_of(scenario)
    costs = queue.by_state(queue.earned(queue.costs(prices_in(scenario))))
    least = np.inf
    for rules in all_rules(sizes, places + 2):
        generator = queue.generator(queue.policy(queue.levels.spread(rules))).toarray()
        for each in closed_classes(generator):
            law = stationary(generator[np.ix_(each, each)])
            least = min(least, float(law @ costs[each]))
    found = optimize(scenario, "switching")
    assert found.cost == pytest.approx(least, rel=1e-9)
    assert found.lower_bound == pytest.approx(least, rel=1e-9)
    decided = scenario.with_(found.changes)
    predicted = [each for each in predict(decided)[0] if each.measure == "control_cost"]
    assert [each.value for each in predicted] == pytest.approx([least] * 2, rel=1e-8)


@pytest.mark.parametrize("phase_type", [False, True])
def test_classes_that_are_alike_are_one(phase_type: bool) -> None:
    costs = {"loss": 1.0, "starvation": 1.4, "robots": 0.03}
    more = {"buffer.service": {"phase-type": PHASES}} if phase_type else {}
    apart = system((2, 1), [0.6, 0.6], 3, costs, **more)
    together = scenario_from(
        apart.as_file()
        | {"robots": {"available": 3, "access_time": {"exponential": {"rate": 0.6}}}}
    )
    assert best_choices_of(apart).cost == pytest.approx(best_switching(together).cost, rel=1e-9)


def test_bounds_meet() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        scenario = random_system(rng, (2, 3), 4)
        search = best_choices_of(scenario)
        assert 0 <= search.cost - search.lower_bound < 1e-10 * search.cost
        fixed = scenario.with_("activation.static", [2, 3])
        (cost,) = {each.value for each in predict(fixed)[0] if each.measure == "control_cost"}
        assert search.cost <= cost * (1 + 1e-9)


def test_a_rule_and_its_policy_are_inverse() -> None:
    rng = np.random.default_rng(3)
    scenario = random_system(rng, (2, 1), 2).with_({"buffer.service": {"phase-type": PHASES}})
    tables = [random_choices(rng, (2, 1), 4) for _ in range(2)]
    tables[1][0] = tables[0][0]  # with nothing in the system the first list counts
    decided = scenario.with_({"activation.switching.choices": tables})
    queue = queue_of(decided)
    assert decided.robots is not None
    given_choices = choices_of(decided.robots, decided.activation)  # type: ignore[arg-type]
    policy = queue.policy(queue.levels.spread(given_choices))
    assert np.array_equal(queue.levels.by_phase(queue.switched(policy)), given_choices)


def test_sums_of_measures() -> None:
    queue = queue_of(random_system(np.random.default_rng(5), (2, 3), 3))
    best = best_policy(queue, queue.rewards(level=1.0))
    measures = measures_of_policy(queue, best.rule)
    assert best.cost == pytest.approx(1.0, rel=1e-12)
    assert measures.levels.sum() == pytest.approx(1.0, rel=1e-12)
    delivered = measures.active @ queue.modes.rates
    ended = measures.throughput + measures.loss_rate + measures.obsolescence_rate
    assert delivered == pytest.approx(ended, rel=1e-10)
    # each delivery and each service asks the rule once
    assert measures.occasions.sum() == pytest.approx(delivered + measures.throughput, rel=1e-10)


def test_the_library_has_the_best_rule() -> None:
    scenario = load("one-fast-three-slow")
    found = optimize(scenario, "switching")
    assert scenario.with_(found.changes).activation == scenario.activation
    assert found.lower_bound == pytest.approx(found.cost, rel=1e-12)


def test_the_map_shows_the_states_in_which_the_rule_is_asked() -> None:
    search = optimize(load("one-fast-three-slow"), "switching").search
    ax = plot_choices(search)
    cells = np.ma.asarray(ax.images[0].get_array())
    rows = [each.get_text() for each in ax.get_yticklabels()]
    plt.close("all")
    for row in search.table():
        place = rows.index(f"{row['near active']}, {row['far active']}"), row["level"]
        named = ["nobody", "near", "far"][int(cells[place])]
        assert named == row["switched on"]
    assert cells.count() == len(list(search.table()))


@pytest.mark.parametrize("where", ["classes", "environment"])
def test_two_closed_classes_are_refused(where: str) -> None:
    # Always the class that rests by itself, and two of either: what it settles to is chance.
    table = np.full((2, 3, 3), -1)
    for level, first, second in np.ndindex(table.shape):
        if first + second < 2:
            table[level, first, second] = 0 if first > second or (first == second == 0) else 1
    scenario = system((2, 2), [1.0, 0.5], 0, {"loss": 1.0})
    decided = scenario.with_("activation.switching.choices", table.tolist())
    if where == "environment":
        around = {"Q": [[-0.3, 0.3], [0.8, -0.8]], "speeds": [1.6, 0.4]}
        decided = decided.with_("robots.environment", around)
    predicted, left_out = predict(decided)
    assert not [each for each in predicted if each.measure == "starvation_probability"]
    reasons = {each.source: each.reasons for each in left_out}
    assert reasons[f"talim2001 (8), {where}"] == ("its chain has 2 closed classes",)


def test_phases_that_make_no_difference_may_have_choices_of_their_own() -> None:
    # Both phases end at the same rate: the service is exponential, and the rule still sees them.
    alike = {"phase-type": {"alpha": [0.5, 0.5], "T": [[-1.0, 0.0], [0.0, -1.0]]}}
    scenario = load("one-fast-three-slow").with_("buffer.service", alike)
    first = scenario.as_file()["activation"]["switching"]["choices"]
    second = [[[0, 0, 0, 0], [-1] * 4], *first[1:3], *first[2:4]]
    decided = scenario.with_("activation.switching.choices", [first, second])
    values = [each.value for each in predict(decided)[0] if each.measure == "loss_rate"]
    assert len(values) == 2
    assert values[0] == pytest.approx(values[1], rel=1e-10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"costs.response": 1.0}, "prices the response time of robots of several classes"),
        ({"buffer.servers": 2}, "2 servers index pages at a time"),
        ({"buffer.service": {"deterministic": {"value": 1.0}}}, "not of phase type"),
        ({"robots.classes.0.access_time": {"deterministic": {"value": 1.0}}}, "not exponential"),
        ({"robots.classes.0.available": 5000}, "limit 20000"),
    ],
)
def test_what_has_no_exact_optimum(changes: dict[str, Any], message: str) -> None:
    scenario = system((1, 2), [1.0, 0.5], 2, {"loss": 1.0, "starvation": 1.0}, **changes)
    with pytest.raises(ScenarioError, match=message):
        optimize(scenario, "switching")


@pytest.mark.parametrize(
    ("fixed", "cost", "says"),
    [
        (1.5, 1.0, ", 50 % more"),
        (1.0, 1.0, ", 0 % more"),
        (0.9, 1.0, ", which is less: a rule of this kind has a robot active in an empty system"),
        (0.0, 0.0, ""),
    ],
)
def test_fixed_numbers_are_compared_in_words(fixed: float, cost: float, says: str) -> None:
    words = f"the best fixed numbers, robots = 2, cost {fixed:g}{says}"
    assert _compared("robots = 2", fixed, cost) == words
