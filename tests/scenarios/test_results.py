"""What a simulation gave, read as a sequence of rows, and compared."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scenarios.course import NO_COURSE, CourseEstimates
from scenarios.results import Columns, Estimate, Replications, Results, Rows

LEVELS = np.arange(18.0).reshape(6, 3)
ROWS = Rows(
    [
        Columns("throughput", (None,), np.arange(6.0)[:, None] / 10),
        Columns("loss_rate", (), np.zeros((6, 0))),
        Columns("level_probability", range(3), LEVELS),
        Columns("mean_level", (None,), np.arange(6.0)[:, None] / 7),
    ]
)
EVERY = [
    Estimate("throughput", None, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    *(Estimate("level_probability", n, *LEVELS[:, n].tolist()) for n in range(3)),
    Estimate("mean_level", None, *(np.arange(6.0) / 7).tolist()),
]


def test_rows_are_read_from_either_end_and_in_slices() -> None:
    assert list(ROWS) == EVERY
    assert [ROWS[place] for place in range(-5, 5)] == EVERY + EVERY
    assert ROWS[1:3] == EVERY[1:3]
    assert ROWS[::-2] == EVERY[::-2]
    assert ROWS[4:1] == []
    for beyond in (5, -6):
        with pytest.raises(IndexError):
            ROWS[beyond]
    assert repr(ROWS) == "<5 estimates>"
    assert repr(Rows(ROWS.blocks[:1])) == "<1 estimate>"


def test_rows_are_equal_where_all_estimates_are() -> None:
    assert Rows.of(EVERY) == ROWS
    assert Rows.of(EVERY[:3]) != ROWS
    assert ROWS != EVERY
    assert Rows([]) == Rows(ROWS.blocks[1:2])
    for place in range(5):
        other = EVERY.copy()
        other[place] = EVERY[place - 1]
        assert Rows.of(other) != ROWS


def test_an_estimate_is_found_by_its_subject() -> None:
    assert ROWS.find("level_probability", 2) == EVERY[3]
    assert ROWS.find("throughput") == EVERY[0]
    assert ROWS.find("level_probability") is None
    assert ROWS.find("level_probability", "1") is None
    assert ROWS.find("loss_rate", 0) is None
    assert list(ROWS.of_measure("level_probability")) == EVERY[1:4]


def test_what_a_run_has_not_is_named_with_what_it_has() -> None:
    results = Results("three-levels", "simpy", 1, 1, ROWS, {})
    assert repr(results) == "<Results of three-levels: 5 estimates, 1 replication>"
    has = "it has throughput, loss_rate (), level_probability (0, 1, 2), mean_level"
    cases = {
        ("troughput", None): (
            f"three-levels has no estimate of 'troughput' (did you mean throughput?); {has}"
        ),
        ("level_probability 1", None): (
            "three-levels has no estimate of 'level_probability 1' "
            f"(write 'level_probability' and its subject as two arguments); {has}"
        ),
        ("level 1", None): f"three-levels has no estimate of 'level 1'; {has}",
        ("quantile", None): (
            "three-levels has no estimate of 'quantile' "
            f"(buffer.sojourn_quantiles = [0.95] asks for sojourn_quantile); {has}"
        ),
        ("level_probability", None): (
            "level_probability of three-levels needs a subject: level_probability (0, 1, 2)"
        ),
        ("level_probability", 3): (
            "three-levels has no level_probability with subject 3; it has "
            "level_probability (0, 1, 2)"
        ),
    }
    for (measure, subject), said in cases.items():
        with pytest.raises(LookupError) as caught:
            results.find(measure, subject)
        assert caught.value.args == (said,)


def test_replications_are_found_by_measure_and_subject() -> None:
    each = Replications(
        [
            Columns("throughput", (None,), np.array([[1.0], [2.0]])),
            Columns("level_probability", range(9), np.arange(18.0).reshape(2, 9)),
        ]
    )
    assert len(each) == 10
    assert each["throughput"] == each["throughput", None] == (1.0, 2.0)
    assert each["level_probability", 4] == (4.0, 13.0)
    levels = [("level_probability", n) for n in range(9)]
    assert list(each) == [("throughput", None), *levels]
    eight = Replications([Columns("level_probability", range(8), np.zeros((2, 8)))])
    with pytest.raises(KeyError, match=r"\(0, 1, 2, 3, 4, 5, 6, 7\)"):
        eight["level_probability", 9]
    with pytest.raises(KeyError) as caught:
        each["level_probability", 9]
    said = "the run has no level_probability with subject 9; it has level_probability "
    assert caught.value.args == (f"{said}(0, 1, 2, 3, 4, 5, 6, 7, …)",)


def _course(times: list[float], **columns: float) -> CourseEstimates:
    return CourseEstimates(
        np.array(times),
        {(name, None): np.full((7, len(times)), value) for name, value in columns.items()},
    )


def test_courses_are_equal_where_times_and_numbers_are() -> None:
    course = _course([0.0, 1.0], throughput=math.nan, mean_level=2.0)
    assert course == _course([0.0, 1.0], throughput=math.nan, mean_level=2.0)
    assert course != _course([0.0, 2.0], throughput=math.nan, mean_level=2.0)
    assert course != _course([0.0], throughput=math.nan, mean_level=2.0)
    assert course != _course([0.0, 1.0], throughput=1.0, mean_level=2.0)
    assert course != _course([0.0, 1.0], throughput=math.nan, mean_level=math.nan)
    assert course != _course([0.0, 1.0], throughput=math.nan)
    assert course != _course([0.0, 1.0], mean_level=math.nan, throughput=2.0)
    assert course != list(course)
    assert len(course) == 4
    assert len(_course([0.0, 1.0, 3.0], throughput=1.0)) == 3
    assert [each[:4] for each in course][2:] == [
        (1.0, "throughput", None, pytest.approx(math.nan, nan_ok=True)),
        (1.0, "mean_level", None, 2.0),
    ]
    assert CourseEstimates(np.empty(0), {}) == NO_COURSE
