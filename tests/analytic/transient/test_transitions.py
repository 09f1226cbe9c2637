"""Distributions over many states that occupy few of them, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy
from scipy import stats

from analytic.transient import transitions as module
from analytic.transient.transitions import (
    ByDoubling,
    ByJumps,
    _occupied,
    jump_weights,
    transitions,
    with_diagonal,
)

Array = Any
STATES = 4000


def _walk(up: float, down: float, states: int = STATES) -> Any:
    """A walk on the line, reflected at both ends."""
    rates = scipy.sparse.diags_array(
        [np.full(states - 1, up), np.full(states - 1, down)], offsets=[1, -1]
    )
    return with_diagonal(scipy.sparse.csr_array(rates))


def _at(state: int, states: int = STATES) -> Array:
    row = np.zeros(states)
    row[state] = 1.0
    return row


@pytest.mark.parametrize(("start", "time"), [(0, 900.0), (700, 1400.0)])
def test_events_of_a_poisson_process_are_counted_from_any_state(start: int, time: float) -> None:
    """The integral over the time: a state is left for good at an Erlang time."""
    rate = 1.7
    moved = ByJumps(_walk(rate, 0.0)).move(_at(start), time)
    counts = np.arange(STATES) - start
    law = stats.poisson(rate * time)
    assert moved.after == pytest.approx(law.pmf(counts), abs=1e-13)
    inside = counts >= 0
    assert moved.during[inside] == pytest.approx(law.sf(counts[inside]) / rate, abs=1e-11)
    assert moved.during.sum() == pytest.approx(time, rel=1e-12)
    assert not moved.during[~inside].any()


def test_a_walk_far_from_the_ends_is_the_difference_of_two_counts() -> None:
    up, down, time, start = 1.0, 0.6, 700.0, 2000
    moved = ByJumps(_walk(up, down)).move(_at(start), time)
    steps = np.arange(STATES) - start
    law = stats.skellam(up * time, down * time)
    near = np.abs(steps) < 600
    assert moved.after[near] == pytest.approx(law.pmf(steps[near]), abs=1e-13)
    assert moved.after.sum() == pytest.approx(1.0, rel=1e-13)
    assert moved.during.sum() == pytest.approx(time, rel=1e-12)
    assert moved.during @ steps == pytest.approx((up - down) * time**2 / 2, rel=1e-10)
    variance = (up + down) * time**2 / 2 + (up - down) ** 2 * time**3 / 3
    assert moved.during @ steps**2 == pytest.approx(variance, rel=1e-10)


def test_a_row_of_both_signs_is_followed_everywhere() -> None:
    chain = _walk(1.0, 0.6)
    both = ByJumps(chain).move(_at(2000) - _at(1990), 30.0)
    one, other = (ByJumps(chain).move(_at(state), 30.0) for state in (2000, 1990))
    assert both.after == pytest.approx(one.after - other.after, abs=1e-14)
    assert both.during == pytest.approx(one.during - other.during, abs=1e-13)


def test_what_leaves_the_range_that_is_followed_makes_it_wider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In 2048 jumps a walk goes further than two states; nothing of it is lost."""
    followed: list[tuple[slice, float]] = []
    count = ByJumps._count

    def counted(self: ByJumps, row: Array, range_: slice, rate: float, time: float) -> Any:
        after, during, lost = count(self, row, range_, rate, time)
        followed.append((range_, lost))
        return after, during, lost

    monkeypatch.setattr(ByJumps, "_count", counted)
    ByJumps(_walk(1.0, 1.0)).move(_at(2000), 500.0)
    widths = [range_.stop - range_.start for range_, _ in followed]
    margins = [2 * 4**step for step in range(len(followed))]
    assert [width for width in widths if width < STATES] == [
        2 * margin + 1 for margin in margins if 2 * margin < STATES
    ]
    assert all(lost > module._LOST for _, lost in followed[:-1])
    assert followed[-1][1] <= module._LOST
    assert followed[-1][0].start > 0


def test_at_an_end_of_the_line_nothing_is_lost() -> None:
    """What stays near the first or the last state is what it is among few states."""
    few = _walk(0.5, 2.0, 300)
    expected = ByJumps(few).move(_at(3, 300), 40.0)
    many = ByJumps(_walk(0.5, 2.0)).move(_at(3), 40.0)
    assert many.after[:300] == pytest.approx(expected.after, abs=1e-15)
    assert many.during[:300] == pytest.approx(expected.during, abs=1e-13)
    back = ByJumps(_walk(2.0, 0.5)).move(_at(STATES - 4), 40.0)
    assert back.after[::-1][:300] == pytest.approx(expected.after, abs=1e-15)
    assert back.during[::-1][:300] == pytest.approx(expected.during, abs=1e-13)


@pytest.mark.parametrize("states", [3, STATES])
def test_without_rates_everything_stays_where_it_is(states: int) -> None:
    nothing = scipy.sparse.csr_array((states, states))
    row = np.linspace(1.0, 2.0, states)
    moved = ByJumps(nothing).move(row, 3.0)
    assert np.array_equal(moved.after, row)
    assert np.array_equal(moved.during, 3.0 * row)
    if states < 10:
        doubled = ByDoubling(np.zeros((states, states))).move(row, 3.0)
        assert np.array_equal(doubled.after, row)
        assert np.array_equal(doubled.during, 3.0 * row)


def test_an_absorbing_state_is_followed_alone() -> None:
    """The states around the last one, which nobody leaves, have no rates either."""
    rates = scipy.sparse.lil_array((STATES, STATES))
    rates[0, 1] = 1.0
    generator = with_diagonal(scipy.sparse.csr_array(rates))
    moved = ByJumps(generator).move(3.0 * _at(STATES - 1), 5.0)
    assert np.array_equal(moved.after, 3.0 * _at(STATES - 1))
    assert np.array_equal(moved.during, 15.0 * _at(STATES - 1))


def test_the_range_of_a_row_holds_all_but_a_tail_at_each_side() -> None:
    row = np.zeros(100)
    row[[40, 41, 60]] = [1e-19, 0.5, 0.5]
    # from 41 to 60 there are 20 states, a quarter of which is added at both sides
    assert _occupied(row, 2) == slice(41 - 7, 61 + 7)
    row[40] = 1e-17
    assert _occupied(row, 2) == slice(40 - 7, 61 + 7)
    assert _occupied(row[::-1], 2) == slice(39 - 7, 60 + 7)
    assert _occupied(row, 50) == slice(0, 100)
    assert _occupied(7.0 * _at(0, 100), 3) == slice(0, 4)
    assert _occupied(7.0 * _at(99, 100), 3) == slice(96, 100)


@pytest.mark.parametrize("mean", [1e-3, 0.7, 30.0, 2048.0])
def test_weights_of_jumps_are_those_of_a_poisson_number(mean: float) -> None:
    here, later = jump_weights(mean)
    law = stats.poisson(mean)
    counts = np.arange(len(here))
    assert here == pytest.approx(law.pmf(counts), rel=1e-9, abs=1e-20)
    assert later[:-1] == pytest.approx(law.sf(counts[:-1]), rel=1e-6, abs=1e-18)
    assert later.sum() == pytest.approx(mean, rel=1e-13)


def test_the_quicker_method_is_taken() -> None:
    """Doubled matrices of a small chain for a long time; jumps of a sparse or a large one."""
    small = with_diagonal(np.ones((100, 100)))
    assert isinstance(transitions(small, 1e5), ByDoubling)
    assert isinstance(transitions(small, 1e-3), ByJumps)
    assert isinstance(transitions(scipy.sparse.csr_array(small), 1e5), ByJumps)
    assert isinstance(transitions(with_diagonal(np.ones((500, 500))), 1e9), ByJumps)
    row = np.array([0.3, 0.7])
    rates = with_diagonal(np.array([[5.0, 2.0], [3.0, 9.0]]))
    assert np.array_equal(rates, [[-2.0, 2.0], [3.0, -3.0]])
    expected = row @ scipy.linalg.expm(0.9 * rates)
    for method in (ByDoubling(rates), ByJumps(scipy.sparse.csr_array(rates))):
        assert method.move(row, 0.9).after == pytest.approx(expected, rel=1e-13)
