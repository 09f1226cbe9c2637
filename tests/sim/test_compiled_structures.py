"""The structures of the compiled engine that say what comes first, against plain minima."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from sim.compiled_engine import alarms as structures
from sim.compiled_engine.alarms import new_alarms, new_timers


def from_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that calls a function which only kernels can call."""
    return numba.njit(lambda *arguments: function(*arguments))  # type: ignore[no-any-return]  # numba has no types


add_timer = from_python(structures.add_timer)
drop_timer = from_python(structures.drop_timer)
first_timer = from_python(structures.first_timer)
set_alarm = from_python(structures.set_alarm)
soonest = from_python(structures.soonest)

few_times = st.sampled_from([1.0, 2.0, 3.0])
steps = st.lists(st.tuples(st.integers(0, 7), few_times), min_size=1, max_size=40)
quick = settings(max_examples=examples(100))


@pytest.mark.parametrize("slots", [8, 100], ids=["a list", "a tournament"])
@quick
@given(steps)
def test_the_first_timer_is_the_least_and_among_equal_ones_the_earlier_place(
    slots: int, taken: list[tuple[int, float]]
) -> None:
    """A slot without a timer gets one, a slot with one loses it; places count up."""
    timers = new_timers(slots)
    plain = {}
    for place, (slot, time) in enumerate(taken):
        if slot in plain:
            drop_timer(timers, slot)
            del plain[slot]
        else:
            add_timer(timers, slot, place, time)
            plain[slot] = (time, place)
        found_time, found_slot = first_timer(timers)
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


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="interpreted, they are ordinary functions")
def test_functions_of_kernels_refuse_python_which_has_no_entry_to_them() -> None:
    with pytest.raises(TypeError, match="only compiled code"):
        structures.soonest(new_alarms(2))
