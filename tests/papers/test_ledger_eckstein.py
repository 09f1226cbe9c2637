"""What the ledger of eckstein2005 rests on: claims of made-up experiments, algorithms in small."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from analytic.probing import Profile, best_schedule, expected_cost, grid_of, times_of
from papers import eckstein2005, eckstein_policies
from papers.eckstein2005 import cost_matrix, read_off
from papers.eckstein_policies import POLICIES, PROBES, Experiment, cases, series

Claim = Callable[[list[Experiment]], list[bool]]
FEW, MOST = min(PROBES), max(PROBES)


def _made(
    cost: Callable[[Experiment], float],
    improved: Callable[[Experiment], float] | None = None,
    moves: Callable[[Experiment], int] | None = None,
) -> list[Experiment]:
    """Experiments of both sources at ratio 3, with costs of what they are of."""
    made = []
    for source, probes, policy in itertools.product(("dbworld", "micronet"), PROBES, POLICIES):
        each = Experiment(source, 3, probes, policy, math.nan, math.nan, 0)
        paid = cost(each)
        left = paid if improved is None else improved(each._replace(cost=paid))
        made.append(each._replace(cost=paid, improved=left, moves=moves(each) if moves else 0))
    return made


def _place(each: Experiment) -> int:
    return POLICIES.index(each.policy)


def test_experiments_are_set_side_by_side_and_in_lines() -> None:
    made = _made(lambda each: 1.0 / each.probes + _place(each))
    side = cases(made)
    assert len(side) == 2 * len(PROBES)
    assert all(list(case) == list(POLICIES) for case in side)
    lines = series(made)
    assert len(lines) == 2 * len(POLICIES)
    assert all([each.probes for each in line] == list(PROBES) for line in lines)
    assert made[0]._replace(cost=4.0, improved=3.0).improvement == 0.25


def test_costs_that_rise_once_do_not_fall() -> None:
    """Of the uniform policy from 7 to 14 probes, for one of the sources."""

    def cost(each: Experiment) -> float:
        odd = (each.source, each.policy, each.probes) == ("micronet", "uniform", PROBES[2])
        return 1.0 / PROBES[1] if odd else 1.0 / each.probes

    made = _made(cost)
    found = eckstein_policies.falling(made)
    assert found.count(False) == 1
    lines = [(line[0].source, line[0].policy) for line in series(made)]
    assert lines[found.index(False)] == ("micronet", "uniform")
    assert all(eckstein_policies.falling(_made(lambda each: 1.0 / each.probes)))


def test_the_best_policy_wins_ties_and_loses_to_a_cheaper_one() -> None:
    for gap, wins in ((0.0, True), (5e-10, True), (1e-8, False)):
        made = _made(lambda each, gap=gap: 2.0 + gap * (each.policy == "DOE"))
        assert eckstein_policies.cheapest(made) == [wins] * (2 * len(PROBES))


def test_the_least_saving_and_the_fewest_moves_are_those_of_the_best_policy() -> None:
    made = _made(
        lambda each: 2.0 + _place(each),
        lambda each: each.cost * (0.5 + 0.1 * _place(each)),
        lambda each: 9 - _place(each),
    )
    every = [True] * (2 * len(PROBES))
    assert POLICIES[-1] == "DOE"
    assert eckstein_policies.least_improved(made) == every
    assert eckstein_policies.fewest_moves(made) == every
    assert not any(eckstein_policies.cheapest(made))
    turned = _made(
        lambda _: 2.0,
        lambda each: each.cost * (0.9 - 0.1 * _place(each)),
        lambda each: 1 + _place(each),
    )
    assert not any(eckstein_policies.least_improved(turned))
    assert not any(eckstein_policies.fewest_moves(turned))


def test_costs_come_nearer_from_the_fewest_probes_to_the_most() -> None:
    """The range at the largest number beside that at the least, of each source by itself."""

    def cost(each: Experiment) -> float:
        ranges = {"dbworld": {FEW: 3.0, MOST: 2.0}, "micronet": {FEW: 2.0, MOST: 3.0}}
        level = 50.0 if each.probes == MOST else 5.0
        return level + ranges[each.source].get(each.probes, 100.0) * _place(each) / 3

    assert eckstein_policies.nearer(_made(cost)) == [True, False]
    assert eckstein_policies.nearer(_made(lambda each: 5.0 + _place(each))) == [False, False]


def test_what_is_saved_of_the_next_best_cost_is_compared_between_sources() -> None:
    """DOE saves a fifth of the next best cost for MicroNet, and a quarter, or a tenth, else."""

    def cost(each: Experiment) -> float:
        saved = 0.2 if each.source == "micronet" else 0.25 if each.probes == FEW else 0.1
        best = 10.0 if each.source == "micronet" else 1.0
        if each.policy == "DOE":
            return best * (1.0 - saved)
        return best * (1.0 + _place(each))

    found = eckstein_policies.better_for_micronet(_made(cost))
    assert found == [probes != FEW for probes in PROBES]


def test_costs_that_are_far_less_apart_are_less_than_half_as_far() -> None:
    def spread(share: float) -> list[Experiment]:
        return _made(
            lambda each: 1.0 + 0.2 * _place(each), lambda each: 1.0 + share * 0.2 * _place(each)
        )

    assert all(eckstein_policies.far_less_apart(spread(0.49)))
    assert not any(eckstein_policies.far_less_apart(spread(0.51)))


def test_more_is_saved_with_the_larger_half_of_the_numbers() -> None:
    """The number in the middle counts for neither half, nor do other policies."""
    middle = PROBES[len(PROBES) // 2]
    assert middle == 42

    def saved(most_of_few: float, least_of_many: float, there: float = 0.9) -> list[Experiment]:
        shares = {n: most_of_few for n in PROBES if n < middle} | {middle: there}
        shares |= {n: least_of_many for n in PROBES if n > middle}
        return _made(lambda _: 1.0, lambda each: 1.0 - shares[each.probes] * (each.policy == "DOE"))

    assert eckstein_policies.more_for_more_probes(saved(0.1, 0.2)) == [True, True]
    assert eckstein_policies.more_for_more_probes(saved(0.1, 0.2, 0.0)) == [True, True]
    assert eckstein_policies.more_for_more_probes(saved(0.2, 0.2)) == [False, False]
    assert eckstein_policies.more_for_more_probes(saved(0.2, 0.1)) == [False, False]


def test_the_smoothest_growth_of_the_moves_is_told_by_its_fit() -> None:
    """Powers of the number of probes; those of three policies, or of DOE, are off by turns."""

    def moves(rough: tuple[str, ...]) -> Callable[[Experiment], int]:
        return lambda each: round(
            10 * each.probes**1.5 * (2.0 if each.policy in rough and each.probes % 8 else 1.0)
        )

    smooth = _made(lambda _: 1.0, None, moves(POLICIES[:3]))
    assert eckstein_policies.smoothest(smooth) == [True, True]
    assert eckstein_policies.smoothest(_made(lambda _: 1.0, None, moves(("DOE",)))) == [False] * 2
    exponent, power, exponential = eckstein_policies.fit(series(smooth)[3])
    assert exponent == pytest.approx(1.5, abs=1e-3)
    assert power > 0.99999 > exponential
    line = series(smooth)[3]
    logs = [(np.log(each.probes), each.probes, np.log(each.moves)) for each in line]
    squares = np.corrcoef(np.array(logs).T)[2, :2] ** 2
    assert (power, exponential) == pytest.approx(tuple(squares), abs=1e-12)


# Algorithms, on few slots


def _rates(seed: int) -> Profile:
    return eckstein2005._random_profile(np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(4))
def test_the_corrected_matrix_has_the_cost_of_every_interval(seed: int) -> None:
    rates, slots = _rates(seed), 9
    matrix = cost_matrix(grid_of(rates, slots), corrected=True)
    times = [*(slot * rates.horizon / slots for slot in range(slots)), rates.horizon]
    for i, j in itertools.combinations(range(slots + 1), 2):
        expected = float(rates.between(times[i], times[j]).cost)
        assert matrix[i, j] == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert not np.tril(matrix).any()
    for probes in (1, 2, 3, 4):
        least = min(
            expected_cost(rates, times_of(rates.horizon, slots, np.array([*inner, slots])))
            for inner in itertools.combinations(range(1, slots), probes - 1)
        )
        cost, path = read_off(matrix, probes)
        assert cost == pytest.approx(least, rel=1e-11)
        assert len(path) == probes
        assert expected_cost(rates, times_of(rates.horizon, slots, path)) == pytest.approx(least)


def test_as_printed_the_matrix_has_a_slot_too_many() -> None:
    """Of constant rates: n slots cost n² / 2, and as printed what the next slot weighs as well."""
    one = eckstein2005._rate(1.0)
    slots = 5
    grid = grid_of(Profile(one, one, float(slots)), slots)
    right, printed = cost_matrix(grid, corrected=True), cost_matrix(grid)
    for i, j in itertools.combinations(range(slots + 1), 2):
        assert right[i, j] == pytest.approx((j - i) ** 2 / 2)
        if j < slots:
            waits = sum(j - k for k in range(i, j))  # of the slots from i on, one slot too long
            assert printed[i, j] == pytest.approx(waits + (j - i) * 0.5)


def test_cells_that_are_wrong_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eckstein2005, "SLOTS", 28)
    assert eckstein2005._wrong_cells() == 0.0
    right = eckstein2005.cost_matrix

    def wrong(grid: Any, corrected: bool) -> Any:
        matrix = right(grid, corrected)
        matrix[[3, 5], [9, 11]] *= 1 + 1e-9
        return matrix

    monkeypatch.setattr(eckstein2005, "cost_matrix", wrong)
    assert eckstein2005._wrong_cells() == 2.0


def test_local_minima_are_bends_from_down_to_up(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = [4.5, 5.0, 4.0, 4.0, 3.0, 3.5, 3.5, 3.0, 2.0, 6.0, 7.0, 6.5]
    monkeypatch.setattr(eckstein_policies, "of_two_probes", lambda: list(enumerate(costs)))
    assert eckstein2005._local_minima() == 2.0  # 3.0, and 2.0


def test_probes_of_both_sources_are_divided_at_least_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eckstein2005, "SLOTS", 28)
    costs = [
        [
            best_schedule(grid_of(eckstein_policies.profile(source, 3), 28), n).cost
            for n in range(1, 6)
        ]
        for source in ("dbworld", "micronet")
    ]
    least = min(costs[0][n - 1] + costs[1][5 - n] for n in range(1, 6))
    assert eckstein2005._split_budget(6) == pytest.approx(least, rel=1e-12)


def test_a_week_may_begin_with_any_day() -> None:
    weekly = eckstein2005._rate(1.0, 3.0, 2.0, breaks=(0.0, 1.5, 5.0), period=7.0)
    for day in range(7):
        turned = eckstein2005._from_weekday(weekly, day)
        assert turned.breaks[0] == 0.0
        assert list(turned.breaks) == sorted(set(turned.breaks))
        for time in np.arange(0.05, 7.0, 0.1):
            values = [
                rate.values[sum(start <= at for start in rate.breaks) - 1]
                for rate, at in ((turned, time), (weekly, (time + day) % 7))
            ]
            assert values[0] == values[1]


def test_violations_are_counted_model_by_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eckstein2005, "_INSTANCES", 12)
    horizons: list[float] = []

    def holds(_: np.random.Generator, rates: Profile) -> bool:
        horizons.append(rates.horizon)
        return len(horizons) % 3 != 0

    assert eckstein2005._violations(holds) == 4.0
    assert len(set(horizons)) == 12
    assert all(1.0 <= each <= 4.0 for each in horizons)


@pytest.mark.parametrize(
    "name",
    [
        *("_reversed_cost", "_joined_in_order", "_joined_in_any_order"),
        *("_below_the_square", "_changes_little"),
    ],
)
def test_a_cost_that_is_wrong_violates_what_is_said_of_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    holds = getattr(eckstein2005, name)
    monkeypatch.setattr(eckstein2005, "_INSTANCES", 20)
    assert eckstein2005._violations(holds) == 0.0
    signed = eckstein2005._signed

    def wrong(rates: Profile, start: float, end: float) -> Any:
        found = signed(rates, start, end)
        return found._replace(cost=found.cost + 100.0 * start)

    def between(rates: Profile, start: Any, end: Any) -> Any:
        found = right(rates, start, end)
        return found._replace(cost=found.cost + 0.01)

    right = Profile.between
    monkeypatch.setattr(eckstein2005, "_signed", wrong)
    if name == "_joined_in_order":
        monkeypatch.setattr(Profile, "between", between)
    assert eckstein2005._violations(holds) > 5.0


def test_costs_by_midpoints_are_double_integrals_in_either_order() -> None:
    """Updates 1, then 3, and importance 2, then 1: (5) and (12) by hand, on [0, 1.5]."""
    updates = eckstein2005._rate(1.0, 3.0, breaks=(0.0, 0.5), period=2.0)
    importance = eckstein2005._rate(2.0, 1.0, breaks=(0.0, 1.0), period=2.0)
    rates = Profile(updates, importance, 2.0)
    # importance after t: to 1.5 from 0 it is 2.5 - 2 t up to 1, then 1.5 - t
    forward = (2.5 * 0.5 - 0.25) + 3.0 * ((2.5 * 0.5 - 0.75) + 0.125)
    assert eckstein2005._by_midpoints(rates, 0.0, 1.5) == pytest.approx(forward)
    # from 0 on until t: 2 t up to 1, then 1 + t
    back = 0.25 + 3.0 * (0.75 + (0.5 + 0.625))
    assert eckstein2005._by_midpoints(rates, 1.5, 0.0) == pytest.approx(back)
    assert float(eckstein2005._signed(rates, 1.5, 0.0).cost) == pytest.approx(back)
    backwards = eckstein2005._signed(rates, 1.5, 0.0)
    assert (backwards.updates, backwards.importance) == pytest.approx((-3.5, -2.5))
