"""How a search among rules with hysteresis moves, and where it ends: against lists of all rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest

from analytic.index.optimum import NoOptimumError
from analytic.rules.hysteresis import (
    HysteresisPolicy,
    HysteresisSearch,
    Rule,
    _is_near,
    _ranges,
    all_rules,
    cheapest,
    count_rules,
    moved,
    steps_of,
)

Array = Any


def _is_rule(rule: Rule) -> bool:
    return all(a[0] >= b[0] and a[1] >= b[1] for a, b in pairwise(rule))


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("numbers", [1, 2, 3, 4])
def test_all_rules_are_listed_and_counted(numbers: int, apart: bool) -> None:
    levels = [(at, back) for at in range(3) for back in range(3) if back <= at]
    steps = steps_of(3, apart=apart)
    wanted = {(-1, -1), (3, 3), *(each for each in levels if apart or each[0] == each[1])}
    assert set(steps) == wanted
    assert (steps[0], steps[-1]) == ((-1, -1), (3, 3))
    every = [rule for rule in product(steps, repeat=numbers - 1) if _is_rule(rule)]
    rules = list(all_rules(numbers, steps))
    assert sorted(rules) == sorted(every)
    assert count_rules(numbers, steps) == len(every)


def test_a_step_whose_gap_is_closed_at_its_higher_level_is_near() -> None:
    steps = steps_of(20, apart=True)
    assert _is_near((9, 9), (9, 4), steps)
    assert not _is_near((4, 4), (9, 4), steps)


def test_any_of_few_numbers_that_follow_one_another_move_together() -> None:
    a, b = (2, 1), (1, 1)
    assert set(_ranges((a, b))) == {(0, 1), (0, 2), (1, 2)}
    assert set(_ranges((a, b, b))) == set(combinations(range(4), 2))


def test_of_many_numbers_those_at_an_end_of_a_run_move_together() -> None:
    a, b, c = (3, 3), (2, 1), (1, 1)
    rule = (a, b, b, b, c, c)
    found = list(_ranges(rule))
    runs = [(0, 1), (1, 4), (4, 6)]
    wanted = {
        (first, last)
        for begin, end in runs
        for first, last in combinations(range(begin, end + 1), 2)
        if first == begin or last == end
    }
    assert set(found) == wanted
    assert len(found) == len(wanted)
    assert (2, 3) not in wanted


@pytest.mark.parametrize(
    ("step", "near"),
    [
        ((-1, -1), True),  # never
        ((20, 20), True),  # always
        ((9, 9), True),  # the same without a gap
        ((9, 5), False),  # the very step
        ((10, 5), True),
        ((13, 5), True),
        ((12, 5), False),
        ((9, 6), True),
        ((9, 1), True),
        ((9, 2), False),
        ((11, 7), True),
        ((5, 1), True),
        ((11, 6), False),
        ((12, 8), False),
        ((7, 7), True),  # two down and two up: both by two
        ((8, 8), True),  # without a gap the higher level counts
        ((17, 17), True),
        ((6, 6), False),
        ((12, 12), False),
    ],
)
def test_a_near_step_moves_by_a_power_of_two(step: tuple[int, int], near: bool) -> None:
    """Of 9 and 5 one level moves so far, or both do; or the gap between them is closed."""
    assert _is_near(step, (9, 5), steps_of(20, apart=True)) is near


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize(
    "rule",
    [
        ((3, 1),),
        ((4, 4), (2, 0)),
        ((4, 2), (4, 2), (1, 1)),
        ((6, 6), (3, 2), (3, 2), (1, 0), (-1, -1)),
    ],
)
def test_a_move_gives_numbers_that_follow_one_another_one_other_step(
    rule: Rule, near: bool
) -> None:
    steps = steps_of(6, apart=True)
    wanted = set()
    for first, last in _ranges(rule):
        for step in steps:
            other = (*rule[:first], *[step] * (last - first), *rule[last:])
            if _is_rule(other) and (not near or _is_near(step, rule[first], steps)):
                wanted.add(other)
    found = list(moved(rule, steps, near=near))
    assert set(found) == wanted
    assert all(len(each) == len(rule) for each in found)


# The search


def _apart(goal: Rule) -> Any:
    """A cost that falls towards one rule, step by step."""

    def costs(rules: Sequence[Rule]) -> Array:
        return np.array(
            [
                1.0
                + sum(abs(a - x) + abs(b - y) for (a, b), (x, y) in zip(rule, goal, strict=True))
                for rule in rules
            ],
            dtype=float,
        )

    return costs


def _but_never(costs: Any, rules: Sequence[Rule]) -> Array:
    """No cost where nobody is ever active."""
    return np.where([rule[0] == (-1, -1) for rule in rules], np.nan, costs(rules))


GOAL: Rule = ((5, 3), (3, 3), (2, 0))


def test_of_few_rules_the_first_of_the_cheapest_is_taken() -> None:
    steps = steps_of(6, apart=True)
    rules = list(all_rules(4, steps))
    found = cheapest(4, steps, _apart(GOAL), [], most=len(rules))
    assert found == (GOAL, 1.0, True)
    flat = cheapest(4, steps, lambda given: np.full(len(given), 2.0), [], most=len(rules))
    assert flat == (rules[0], 2.0, True)
    rounding = np.linspace(1.0 + 5e-10, 1.0, len(rules))
    tied = cheapest(4, steps, lambda _: rounding, [], most=len(rules))
    assert tied == (rules[0], 1.0 + 5e-10, True)
    some = cheapest(
        4, steps, lambda given: np.where(np.arange(len(given)) == 7, 3.0, np.nan), [], most=10**6
    )
    assert some == (rules[7], 3.0, True)


def test_of_many_rules_the_end_of_the_best_descent_is_taken() -> None:
    steps = steps_of(6, apart=True)
    asked: list[Sequence[Rule]] = []
    costs = _apart(GOAL)

    def listened(rules: Sequence[Rule]) -> Array:
        asked.append(rules)
        return costs(rules)

    found = cheapest(4, steps, listened, [], most=len(steps))
    assert found == (GOAL, 1.0, False)
    assert asked[0] == [(step,) * 3 for step in steps]
    never = cheapest(4, steps, lambda given: _but_never(costs, given), [], most=len(steps))
    assert never == (GOAL, 1.0, False)
    asked.clear()
    assert cheapest(4, steps, listened, [], most=len(steps) - 1) == (GOAL, 1.0, False)
    assert asked[0] == [(step,) * 3 for step in steps if step[0] == step[1]]


def test_descents_begin_where_they_are_told_as_well() -> None:
    """Around a rule that is far from all others, and the cheapest, everything has no cost."""
    island: Rule = ((4, 1), (2, 1), (0, 0))
    costs = _apart(GOAL)

    def islands(rules: Sequence[Rule]) -> Array:
        return np.array(
            [
                0.5 if rule == island else np.nan if island in moved(rule, steps, near=False) else c
                for rule, c in zip(rules, costs(rules), strict=True)
            ]
        )

    steps = steps_of(6, apart=True)
    assert cheapest(4, steps, islands, [], most=len(steps)).rule != island
    assert cheapest(4, steps, islands, [island], most=len(steps)) == (island, 0.5, False)


@pytest.mark.parametrize("most", [10**6, 30])
def test_where_nothing_has_a_cost_there_is_no_rule(most: int) -> None:
    def nothing(rules: Sequence[Rule]) -> Array:
        return np.full(len(rules), np.nan)

    with pytest.raises(NoOptimumError, match=r"^no policy has a cost$"):
        cheapest(4, steps_of(6, apart=True), nothing, [GOAL], most=most)


def test_the_last_row_of_a_table_is_the_optimum() -> None:
    rows = tuple(HysteresisPolicy((n,), (), (), 1.0 / n, 0.0) for n in (1, 2, 3))
    assert HysteresisSearch(rows, tried=9, top=4).optimum is rows[2]
