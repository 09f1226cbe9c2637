"""What is infinite gets no estimate, in all its subjects and in nothing else."""

from __future__ import annotations

import pytest

import sim
from scenarios import load
from scenarios.infinite import infinite_quantities, tail_lines

SECOND = "sojourn_time_second_moment"
HEAVY = {"pareto": {"mean": 1.0, "shape": 1.8}}
HEAVIER = {"pareto": {"mean": 1.0, "shape": 1.4}}
LIGHT = {"pareto": {"mean": 1.0, "shape": 2.1}}
MIXED = {"mixture": {"probabilities": [0.9, 0.1], "of": [{"exponential": {"mean": 1.0}}, HEAVY]}}
NEVER_DRAWN = {
    "mixture": {"probabilities": [1.0, 0.0], "of": [{"gamma": {"mean": 1, "sd": 3}}, HEAVY]}
}
PATIENT = {"pareto": {"mean": 2.0, "shape": 1.1}}
MOMENTS = ("served", "accepted", "all")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"buffer.service": HEAVY}, {SECOND: MOMENTS, "index_age": None}),
        ({"buffer.service": MIXED}, {SECOND: MOMENTS, "index_age": None}),
        ({"buffer.service": LIGHT}, {}),
        ({"buffer.service": NEVER_DRAWN}, {}),
        # Two servers are seldom busy for long at once: t^-0.8 twice, whose integral is finite.
        ({"buffer.service": HEAVY, "buffer.servers": 2}, {SECOND: MOMENTS}),
        ({"buffer.service": HEAVIER, "buffer.servers": 2}, {SECOND: MOMENTS, "index_age": None}),
        # An obsolete page waited: 1.1 + 0.8 <= 2; patience of a finite mean square is enough.
        (
            {"buffer.service": HEAVY, "buffer.obsolescence": PATIENT},
            {SECOND: ("served", "obsolete", "accepted", "all"), "index_age": None},
        ),
        ({"robots.access_time": HEAVY, "activation.static": 1}, {"index_age": None}),
        ({"robots.access_time": HEAVY, "activation.static": 2}, {}),
        ({"robots.access_time": {"renewal": HEAVIER}, "activation.static": 2}, {"index_age": None}),
    ],
)
def test_what_is_infinite_gets_no_row_and_is_named(changes, expected):
    scenario = load("pipeline-more-robots").with_(
        {**changes, "run.horizon": 2000.0, "run.warmup": 500.0}
    )
    assert {name: each.subjects for name, each in infinite_quantities(scenario).items()} == expected
    results = sim.run(scenario, replications=3)
    rows = {(row.measure, row.subject) for row in results.estimates}
    candidates = {("index_age", page) for page in range(20)}
    candidates |= {(SECOND, each) for measure, each in rows if measure == "sojourn_time"}
    for measure, subject in candidates:
        subjects = expected.get(measure, ())
        gone = subjects is None or subject in subjects
        assert ((measure, subject) in rows) is not gone
    said = "\n".join(tail_lines(scenario))
    assert all(measure in said for measure in expected)
