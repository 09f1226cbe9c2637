"""The structures of the compiled engine that say what comes first, against plain minima."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.compiled_engine.alarms import new_alarms, set_alarm, soonest
from sim.compiled_engine.deadlines import add, drop, first_deadline, new_deadlines

few_times = st.sampled_from([1.0, 2.0, 3.0])
steps = st.lists(st.tuples(st.integers(0, 7), few_times), min_size=1, max_size=40)
quick = settings(deadline=None, max_examples=100)


@pytest.mark.parametrize("slots", [8, 100], ids=["a list", "a tournament"])
@quick
@given(steps)
def test_the_first_deadline_is_the_least_and_among_equal_ones_the_earlier_place(
    slots: int, taken: list[tuple[int, float]]
) -> None:
    """A slot without a deadline gets one, a slot with one loses it; places count up."""
    deadlines = new_deadlines(slots)
    plain = {}
    for place, (slot, time) in enumerate(taken):
        if slot in plain:
            drop(deadlines, slot)
            del plain[slot]
        else:
            add(deadlines, slot, place, time)
            plain[slot] = (time, place)
        found_time, found_slot = first_deadline(deadlines)
        expected = min(plain, key=lambda each: plain[each], default=None)
        assert found_time == (math.inf if expected is None else plain[expected][0])
        if expected is not None:
            assert found_slot == expected


@pytest.mark.parametrize("count", [1, 2, 5, 8])
@quick
@given(steps)
def test_the_soonest_alarm_is_the_least_and_among_equal_ones_the_lower_number(
    count: int, taken: list[tuple[int, float]]
) -> None:
    alarms = new_alarms(count)
    plain = np.full(count, np.inf)
    for index, time in taken:
        plain[index % count] = math.inf if plain[index % count] == time else time
        set_alarm(alarms, index % count, plain[index % count])
        if np.isfinite(plain).any():
            assert soonest(alarms) == np.argmin(plain)
        else:
            assert alarms.time[soonest(alarms)] == math.inf
