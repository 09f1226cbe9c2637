"""Several sources that share a number of probes: the best split, its bounds, natural splits."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytic import Prediction, optimize, predict, resolve
from analytic.index.optimum import NoOptimumError
from analytic.probing import Profile, at_once, expected_cost, profile_of, times_of_each
from analytic.probing.at_once import _whole
from analytic.probing.formulas import few_cells
from analytic.probing.profile import step_error
from analytic.probing.shared import best_budget
from analytic.probing.sources import natural_split
from scenarios import Scenario, ScenarioError, load, scenario_from
from scenarios.sections import Times

SLOTS = 6
HORIZON = 3.0


def rate(values: list[float]) -> dict[str, Any]:
    """Constant for half a unit of time each, so that all its breaks are on the grid."""
    breaks = [index / 2 for index in range(len(values))]
    return {"breaks": breaks, "values": values, "period": len(values) / 2}


def system(
    updates: list[list[float]], importance: list[list[float]], probes: int, **probing: Any
) -> Scenario:
    entries = {
        "name": "shared",
        "sources": [
            {"updates": rate(one), "importance": rate(other)}
            for one, other in zip(updates, importance, strict=True)
        ],
        "probing": {"horizon": HORIZON, "probes": probes, "slots": SLOTS, "policy": "optimal"}
        | probing,
    }
    return scenario_from(entries)


def schedules(apart: int) -> list[tuple[int, ...]]:
    """Every choice of slots that ends with the last one, each so far after the one before."""
    inner = range(1, SLOTS)
    every = [(0, *chosen, SLOTS) for count in range(SLOTS) for chosen in combinations(inner, count)]
    return [path[1:] for path in every if min(np.diff(path)) >= apart]


def least_by_hand(scenario: Scenario, aparts: list[int], counts: Sequence[int] = ()) -> float:
    """Of all choices of slots of all sources that have as many probes as there are.

    No more at one time than may be, and so many of each source where that is given; infinite where
    there are none.
    """
    probing = scenario.probing
    assert probing is not None
    costs: list[list[tuple[tuple[int, ...], float]]] = []
    for source, apart in zip(scenario.sources or (), aparts, strict=True):
        profile = Profile(source.updates, source.importance, HORIZON)
        paths = schedules(apart)
        times = [[slot * HORIZON / SLOTS for slot in path] for path in paths]
        own = zip(paths, (expected_cost(profile, each) for each in times), strict=True)
        costs.append(list(own))
    fitting = (
        sum(cost for _, cost in choice)
        for choice in product(*costs)
        if sum(len(path) for path, _ in choice) == probing.probes
        and (not counts or [len(path) for path, _ in choice] == list(counts))
        and most_at_once([path for path, _ in choice]) <= (probing.at_once or len(costs))
    )
    return min(fitting, default=math.inf)


def found_and_least(
    limited: Scenario, aparts: list[int], by_split: bool
) -> tuple[Scenario | None, float]:
    """What is found, and the least cost of all choices; None where no times keep the limit."""
    counts = natural_split(limited, "equal") if by_split else ()
    least = least_by_hand(limited, aparts, counts)
    asked = limited.with_("probing.split", "equal") if by_split else limited
    if least == math.inf:
        with pytest.raises((ScenarioError, NoOptimumError), match="no times keep the limit"):
            resolve(asked)
        return None, least
    return resolve(asked), least


def most_at_once(paths: Sequence[Sequence[Any]]) -> int:
    """Probes at one time before the end."""
    return max(Counter(time for path in paths for time in path[:-1]).values(), default=0)


levels = st.sampled_from([0.0, 0.1, 1.0, 3.0])
rates = st.lists(levels, min_size=1, max_size=3).filter(any)


@st.composite
def systems(draw: Any) -> tuple[Scenario, list[int]]:
    count = draw(st.integers(1, 3))
    aparts = [draw(st.integers(1, 3)) for _ in range(count)]
    room = sum(SLOTS // apart for apart in aparts)
    spacing = [(apart if apart > 1 else 0) * HORIZON / SLOTS for apart in aparts]
    updates = [draw(rates) for _ in range(count)]
    importance = [draw(rates) for _ in range(count)]
    probes = draw(st.integers(count, room))
    return system(updates, importance, probes, minimum_spacing=spacing), aparts


@given(given_system=systems())
def test_nothing_on_the_grid_is_better(given_system: tuple[Scenario, list[int]]) -> None:
    """Every choice of slots of every source is looked at."""
    scenario, aparts = given_system
    found = optimize(scenario, "probes")
    least = least_by_hand(scenario, aparts)
    assert found.cost == pytest.approx(least, rel=1e-9, abs=1e-12)
    assert found.proved
    assert found.gap == 0
    assert found.lower_bound <= least + 1e-9
    assert scenario.probing is not None
    assert sum(found.decision["probes"]) == scenario.probing.probes


@given(given_system=systems(), at_once=st.integers(1, 2), by_split=st.booleans())
def test_nothing_with_so_many_at_one_time_is_better(
    given_system: tuple[Scenario, list[int]], at_once: int, by_split: bool
) -> None:
    """With the split free or given, every choice of slots of every source is looked at."""
    scenario, aparts = given_system
    probing = scenario.probing
    assert probing is not None
    assert probing.probes is not None
    if probing.probes - len(aparts) > at_once * (SLOTS - 1):
        return
    limited = scenario.with_("probing.at_once", at_once)
    found, least = found_and_least(limited, aparts, by_split)
    if found is None:
        return
    assert found.probing is not None
    assert isinstance(found.probing.policy, Times)
    assert most_at_once(found.probing.policy.of_each) <= at_once
    assert sum(expected_costs(found)) == pytest.approx(least, rel=1e-9, abs=1e-12)
    if not by_split:
        best = optimize(limited, "probes")
        assert best.lower_bound <= least + 1e-9 * max(1.0, least)
        assert best.proved


@pytest.mark.parametrize(
    ("updates", "importance", "probes"),
    [
        ([[3.0]] * 2, [[1.0]] * 2, 6),
        ([[3.0, 0.1, 1.0]] * 3, [[1.0]] * 3, 8),
        ([[3.0, 0.1]] * 2, [[0.1, 3.0]] * 2, 5),
        ([[3.0], [1.0], [3.0]], [[1.0], [3.0], [1.0]], 7),
    ],
)
def test_sources_that_want_the_same_times_are_probed_at_least_cost_one_at_a_time(
    updates: list[list[float]], importance: list[list[float]], probes: int
) -> None:
    """Paths are exchanged until no other choice of slots costs less; with an equal split, too."""
    limited = system(updates, importance, probes, at_once=1)
    aparts = [1] * len(updates)
    assert optimize(limited, "probes").cost == pytest.approx(least_by_hand(limited, aparts))
    counts = natural_split(limited, "equal")
    found = resolve(limited.with_("probing.split", "equal"))
    assert sum(expected_costs(found)) == pytest.approx(least_by_hand(limited, aparts, counts))


APART = {
    "two": ([[3.0, 0.0, 0.1], [1.0]], [[0.0, 0.1, 0.1], [3.0, 0.1, 0.1]], [2, 1], 6),
    "three": (
        [[0.0, 1.0], [0.0, 1.0, 0.1], [0.1, 0.1]],
        [[0.1, 1.0, 0.1], [0.0, 3.0], [3.0]],
        [1, 3, 3],
        7,
    ),
    "alike": (
        [[0.0, 0.1, 0.0], [1.0], [1.0] * 3],
        [[0.0, 1.0], [1.0, 3.0], [3.0, 0.0]],
        [3, 3, 1],
        7,
    ),
    "one slot": ([[0.0, 3.0], [1.0, 3.0, 1.0]], [[0.1, 0.0, 1.0], [0.1, 1.0, 1.0]], [1, 1], 6),
}
"""Updates, importance, slots between two probes and probes, where mixtures of paths cost less."""


def apart_by_one(name: str) -> tuple[Scenario, list[int]]:
    updates, importance, aparts, probes = APART[name]
    spacing = [(apart if apart > 1 else 0) * HORIZON / SLOTS for apart in aparts]
    limited = system(updates, importance, probes, minimum_spacing=spacing, at_once=1)
    return limited, aparts


@pytest.mark.parametrize("name", APART)
def test_where_no_path_that_was_found_is_proved_links_are_chosen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among all links that a better choice could have; then its bound is the cost."""
    limited, aparts = apart_by_one(name)
    chosen: list[float] = []
    choose = at_once._Search._choose_among_links

    def counted(self: at_once._Search) -> None:
        before = self._best[0]
        choose(self)
        chosen.append(before - self._best[0])

    monkeypatch.setattr(at_once._Search, "_choose_among_links", counted)
    found = optimize(limited, "probes")
    least = least_by_hand(limited, aparts)
    assert found.cost == pytest.approx(least, rel=1e-12)
    assert found.proved
    assert found.lower_bound == pytest.approx(least, rel=1e-9)
    assert most_at_once(found.decision["times"]) <= 1
    (gained,) = chosen
    assert gained > 0


@pytest.mark.parametrize("by_split", [False, True])
@pytest.mark.parametrize("name", APART)
def test_links_are_chosen_where_no_choice_of_paths_is_known(
    name: str, by_split: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by moving probes nor of the paths that were found."""
    monkeypatch.setattr(at_once, "moved_apart", lambda *_: None)
    monkeypatch.setattr(at_once._Search, "_choose_among_columns", lambda _: None)
    limited, aparts = apart_by_one(name)
    found, least = found_and_least(limited, aparts, by_split)
    if found is None:
        return
    assert sum(expected_costs(found)) == pytest.approx(least, rel=1e-12)


def test_too_many_links_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found stays the answer, with its bound and without a proof."""
    limited, aparts = apart_by_one("one slot")
    sizes: list[int] = []
    links = at_once._Search._links

    def counted(self: at_once._Search, source: int, slack: float) -> Any:
        found = links(self, source, slack)
        sizes.append(len(found[0]))
        return found

    monkeypatch.setattr(at_once._Search, "_links", counted)
    least = least_by_hand(limited, aparts)
    assert optimize(limited, "probes").cost == pytest.approx(least, rel=1e-12)
    for limit, most in (("_MOST_STEPS", SLOTS**2), ("_MOST_LINKS", sum(sizes))):
        with monkeypatch.context() as patch:
            patch.setattr(at_once, limit, most)
            assert optimize(limited, "probes").proved
            patch.setattr(at_once, limit, most - 1)
            found = optimize(limited, "probes")
        assert found.proved is False
        assert found.lower_bound < least * (1 - 1e-6)
        assert found.cost > least * (1 + 1e-6)
        assert found.gap == pytest.approx(100 * (found.cost / found.lower_bound - 1))
        assert most_at_once(found.decision["times"]) <= 1


def test_a_search_that_ends_early_says_that_it_found_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(at_once, "moved_apart", lambda *_: None)
    monkeypatch.setattr(at_once._Search, "_choose_among_columns", lambda _: None)
    monkeypatch.setattr(at_once, "_MOST_WORK", 1)
    limited, _ = apart_by_one("two")
    with pytest.raises(NoOptimumError) as caught:
        best_budget(limited)
    assert str(caught.value) == (
        "no times were found that keep the limit: at most 1 probe at one time"
    )


def test_probes_move_to_the_nearest_time_that_has_room() -> None:
    """The earlier one of two, where the spacing allows it; else the plan stays as it is."""

    def moved(*paths: list[int], apart: tuple[int, ...] = (1, 1), most: int = 1) -> Any:
        given = [np.array(path) for path in paths]
        found = at_once.moved_apart(given, apart, most)
        assert [path.tolist() for path in given] == list(paths)
        return None if found is None else [path.tolist() for path in found]

    assert moved([2, 4, 9], [4, 6, 9]) == [[2, 3, 9], [4, 6, 9]]
    assert moved([3, 4, 9], [4, 6, 9]) == [[3, 5, 9], [4, 6, 9]]
    assert moved([3, 4, 9], [4, 5, 9]) == [[3, 6, 9], [4, 5, 9]]
    assert moved([3, 4, 6, 9], [4, 5, 9]) is None
    assert moved([3, 4, 6, 9], [4, 5, 9], most=2) == [[3, 4, 6, 9], [4, 5, 9]]
    assert moved([1, 9], [1, 9]) == [[2, 9], [1, 9]]
    assert moved([1, 9], [1, 9], [1, 9], apart=(1, 1, 1)) == [[2, 9], [3, 9], [1, 9]]
    assert moved([1, 9], [1, 9], [1, 9], apart=(1, 1, 1), most=2) == [[2, 9], [1, 9], [1, 9]]
    assert moved([1, 8], [1, 8], apart=(3, 1)) == [[3, 8], [1, 8]]
    assert moved([3, 6, 8], [6, 7, 8], apart=(2, 1)) == [[3, 5, 8], [6, 7, 8]]
    assert moved([4, 6, 8], [6, 7, 8], apart=(2, 1)) is None
    assert moved([1, 2, 3], [1, 2, 3]) is None


def expected_costs(scenario: Scenario) -> list[float]:
    assert scenario.probing is not None
    assert isinstance(scenario.probing.policy, Times)
    return [
        expected_cost(Profile(source.updates, source.importance, HORIZON), times)
        for source, times in zip(
            scenario.sources or (), scenario.probing.policy.of_each, strict=True
        )
    ]


def test_a_limit_that_is_not_kept_is_refuted() -> None:
    """A planted error: the best times without the limit, of two sources that are alike."""
    free = system([[3.0]] * 2, [[1.0]] * 2, 6)
    limited = free.with_("probing.at_once", 1)
    best = resolve(free)
    assert best.probing is not None
    assert least_by_hand(limited, [1, 1]) > 1.01 * least_by_hand(free, [1, 1])
    with pytest.raises(ScenarioError, match=r"more than at_once \(1\) probes at 1.0"):
        limited.with_("probing.policy", best.as_file()["probing"]["policy"])


@pytest.mark.thorough
def test_many_sources_with_one_rhythm_one_at_a_time() -> None:
    """The bound is attained, above that without the limit, and no time has two probes."""
    found = optimize(load("shops-at-dawn"), "probes")
    times = found.decision["times"]
    assert found.proved
    assert found.cost == pytest.approx(found.lower_bound, rel=1e-9)
    assert found.cost > 1.1 * best_budget(load("shops-at-dawn")).free.cost
    assert most_at_once(times) == 1
    assert sum(map(len, times)) == 60


def test_a_search_that_leaves_the_split_alone_is_refuted() -> None:
    """A planted error: equal shares where one source matters a hundred times as much."""
    scenario = system([[3.0], [0.1]], [[3.0], [0.1]], 6)
    equal = optimize(resolve(scenario.with_("probing.split", "equal")), "probes")
    wrong = next(row["cost"] for row in equal.table if row["split"] == "equal")
    assert wrong > 1.1 * least_by_hand(scenario, [1, 1])


@given(given_system=systems(), seed=st.integers(0, 1000))
def test_no_times_whatever_cost_less_than_the_bound(
    given_system: tuple[Scenario, list[int]], seed: int
) -> None:
    """Random times in continuous time with the spacing, however the probes are shared."""
    scenario, aparts = given_system
    bound = best_budget(scenario).lower_bound
    rng = np.random.default_rng(seed)
    probing = scenario.probing
    assert probing is not None
    assert probing.probes is not None
    counts = np.ones(len(aparts), dtype=int)
    while counts.sum() < probing.probes:
        free = [k for k, apart in enumerate(aparts) if counts[k] < SLOTS // apart]
        counts[rng.choice(free)] += 1
    cost = 0.0
    for source, apart, count in zip(scenario.sources or (), aparts, counts, strict=True):
        spacing = (apart if apart > 1 else 0) * HORIZON / SLOTS
        gaps = rng.dirichlet(np.ones(count)) * (HORIZON - count * spacing) + spacing
        times = np.cumsum(gaps)
        times[-1] = HORIZON
        cost += expected_cost(Profile(source.updates, source.importance, HORIZON), times)
    assert cost >= bound - 1e-9 * max(bound, 1.0)


def test_one_of_several_is_the_problem_of_one() -> None:
    alone = load("dbworld-optimal")
    assert alone.source is not None
    shared = alone.with_({"sources": [alone.as_file()["source"]], "source": None})
    one = optimize(alone, "probes")
    several = optimize(shared, "probes")
    assert several.decision["times"] == [one.decision["times"]]
    assert several.cost == pytest.approx(one.cost, rel=1e-12)
    assert several.lower_bound == pytest.approx(one.lower_bound, rel=1e-12)


@pytest.mark.parametrize(
    ("split", "expected"), [("equal", (4, 3)), ("updates", (6, 1)), ("square-root", (5, 2))]
)
def test_natural_splits_by_hand(split: str, expected: tuple[int, ...]) -> None:
    """Seven probes. Updates 9 to 1: quotas 6.3, 0.7; square roots 3 to 1: 5.25, 1.75."""
    scenario = system([[9.0], [1.0]], [[1.0], [1.0]], 7)
    assert natural_split(scenario, split) == expected


def test_the_answer_as_json(crawlsim: Any) -> None:
    code, out, _ = crawlsim("optimize", "three-sources", "--target", "probes", "--json")
    (answer,) = json.loads(out)
    assert code == 0
    assert answer["decision"]["probes"] == [25, 7, 8]
    assert [len(times) for times in answer["decision"]["times"]] == [25, 7, 8]
    assert [row["split"] for row in answer["table"]] == [
        *("optimal", "equal", "updates", "square-root")
    ]
    assert answer["cost"] == pytest.approx(1336.7602, abs=1e-3)
    assert answer["proved"] is True
    assert answer["lower_bound"] < answer["cost"]


def test_smooth_rates_of_several_sources() -> None:
    """The bounds of the sum are the sums of the bounds of each."""
    one = load("smooth-day").as_file()["source"]
    asked = {"probing.policy": "uniform", "probing.split": "equal", "probing.probes": 48}
    changes = {"sources": [one, one], "source": None, **asked}
    rows = predict(resolve(load("smooth-day").with_(changes)))[0]
    alone = predict(resolve(load("smooth-day", {"probing.policy": "uniform"})))[0]
    for kind in ("exact", "lower bound", "upper bound"):
        (both,) = _costs(rows, kind)
        (single,) = _costs(alone, kind)
        assert both == pytest.approx(2 * single, rel=1e-12)


def test_the_sides_of_a_smooth_rate_are_as_far_as_the_steps_can_be_off() -> None:
    """Of the cost by what the formula of the error gives, of freshness by twice that of updates."""
    scenario = resolve(load("smooth-day", {"probing.policy": "uniform"}))
    rows = {(row.measure, row.kind): row.value for row in predict(scenario)[0]}
    assert scenario.source is not None
    cost, freshness = step_error(scenario.source, profile_of(scenario))
    assert cost > 0.0
    for measure, off in (("obsolescence_cost", cost), ("source_freshness", freshness)):
        value = rows[measure, "exact"]
        assert rows[measure, "lower bound"] == pytest.approx(value - off, rel=1e-12)
        assert rows[measure, "upper bound"] == pytest.approx(value + off, rel=1e-12)


def _costs(rows: Sequence[Prediction], kind: str) -> list[float]:
    return [
        row.value
        for row in rows
        if (row.measure, row.subject, row.kind) == ("obsolescence_cost", None, kind)
    ]


REFUSED = {
    "fewer than sources": ({"probing.probes": 2}, "probing.probes"),
    "more than have room": ({"probing.probes": 10_000}, "probing.probes"),
    "a spacing too many": ({"probing.minimum_spacing": [0.0, 1.0]}, "probing.minimum_spacing"),
    "a policy of one source": ({"probing.policy": {"uniform": 1.0}}, "probing.policy.uniform"),
    "shares that do not add up": ({"probing.split": [1, 1, 1]}, "probing.split"),
    "refined": ({"probing.refine": True}, "probing.refine"),
    "no grid": ({"probing.slots": None}, "probing.slots"),
    "too few at one time": (
        {"probing.at_once": 1, "probing.slots": 24, "probing.minimum_spacing": 0.0},
        "probing.at_once",
    ),
    "a policy that keeps no limit": (
        {"probing.at_once": 1, "probing.policy": "uniform"},
        "probing.at_once",
    ),
    "times of one": ({"probing.policy": {"times": [168.0]}}, "probing.policy.times"),
}


@pytest.mark.parametrize(("changes", "key"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_several_sources_is_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        load("three-sources", changes)
    assert refusal.value.key == key


def test_a_split_needs_several_sources() -> None:
    with pytest.raises(ScenarioError, match="needs sources") as refusal:
        load("dbworld-optimal", {"probing.split": "equal"})
    assert refusal.value.key == "probing.split"


def test_a_split_that_the_file_leaves_out_is_found_for_any_policy() -> None:
    left_out = system([[1.0], [3.0]], [[1.0], [1.0]], 5, policy="uniform")
    found, asked = resolve(left_out), resolve(left_out.with_("probing.split", "optimal"))
    assert found.probing is not None
    assert found.probing == asked.probing
    assert isinstance(found.probing.policy, Times)
    assert sum(map(len, found.probing.policy.of_each)) == 5
    with pytest.raises(ScenarioError, match="split of the probes is still to be optimised"):
        times_of_each(left_out)


@pytest.mark.parametrize(("count", "can_be"), [(2, True), (3, False)])
def test_a_choice_that_cannot_be_is_told_from_one_that_was_not_found(
    count: int, can_be: bool
) -> None:
    """Two things, of which all are to be taken, or one more than there are."""
    nothing = np.zeros((0, 2))
    chosen, bound, possible = _whole(
        np.array([1.0, 2.0]), np.ones((1, 2)), np.array([count]), nothing, np.empty(0)
    )
    assert possible is can_be
    assert (chosen is not None) is can_be
    assert not can_be or bound == pytest.approx(3.0)


@pytest.mark.parametrize(("most", "is_refused"), [(48, False), (47, True)])
def test_the_source_with_the_most_pieces_decides_whether_they_are_too_many(
    most: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others have 32 and 40."""
    monkeypatch.setattr("analytic.probing.formulas.LARGEST_PROFILE", most)
    reason = few_cells(load("three-sources"))
    assert reason == (
        "the rates have more than 47 pieces up to the horizon" if is_refused else None
    )


@pytest.mark.parametrize("policy", ["uniform", "threshold", "first-arrival"])
@pytest.mark.parametrize("split", ["equal", "optimal", [20, 10, 10]])
def test_each_source_alone_with_its_share(policy: str, split: Any) -> None:
    """Its times are those that it would have alone."""
    asked = {"probing.policy": policy, "probing.split": split, "probing.minimum_spacing": 0.0}
    resolved = resolve(load("three-sources", asked))
    assert resolved.probing is not None
    times = resolved.probing.policy.of_each  # type: ignore[union-attr]
    assert sum(map(len, times)) == 40
    first = {"source": resolved.as_file()["sources"][0], "sources": None}
    alone = {"probing.policy": policy, "probing.probes": len(times[0]), "probing.split": None}
    own = resolve(resolved.with_(first | alone))
    assert own.probing is not None
    assert own.probing.policy.root == times[0]  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_sharp_wherever_the_breakpoints_are(seed: int) -> None:
    """On the file's grid, on a finer one, and on none: below the best times of 30,000 slots."""
    rng = np.random.default_rng(seed)
    breaks = ([0.0, 1.0, 2.5], [0.0, 0.37, 2.11], [0.0, *np.sort(rng.random(2) * HORIZON)])
    for each in breaks:
        values = 10 ** rng.uniform(-1, 1, (3, 2, 3))
        rates = [
            {"breaks": each, "values": one.tolist(), "period": HORIZON}
            for one in values.reshape(6, 3)
        ]
        sources = [
            {"updates": one, "importance": other}
            for one, other in zip(rates[:3], rates[3:], strict=True)
        ]
        asked = {"horizon": HORIZON, "probes": 14, "slots": 24, "policy": "optimal"}
        scenario = scenario_from({"name": "shared", "sources": sources, "probing": asked})
        least = best_budget(scenario.with_("probing.slots", 30_000)).cost
        assert 0.998 * least < best_budget(scenario).lower_bound <= least
