"""Sizes up to which a formula is evaluated: the largest is, one more is not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from systems import queue

from analytic.transient.formulas import course_fits
from scenarios import Scenario, load

PAGES = queue(
    {
        "robots.accessing": {"policy": "round-robin"},
        "pages": {"change_rates": [0.1, 0.2, 0.4, 0.8, 1.6], "weights": "uniform"},
        "activation": {"static": 2},
        "buffer.waiting_places": 3,
        "buffer.obsolescence": "never",
        "buffer.service": {"erlang": {"shape": 2, "mean": 1.0}},
    }
)
"""Two exponential robots, five pages in turn, two phases of service at each of levels 1 to 4."""

STATES = 1 + 2 * 4
OLD_AND_NEW = 1 + 2 * 2 * (1 + 2 + 3 + 4)
COPY = 1 + (1 + 2 + 3 + 4)

TARGETS = load("talim-switching")
LEVELS = len(TARGETS.activation.targets[0])  # type: ignore[union-attr]  # it switches
MOST = TARGETS.activation.targets[0][0]  # type: ignore[union-attr]  # the same


@pytest.mark.parametrize(
    ("condition", "limit", "size", "scenario"),
    [
        ("indexing_queue.formulas._few_states", "_LARGEST_SPECTRUM", STATES, PAGES),
        ("indexing_queue.unordered_sojourns.waiting_page_fits", "MOST_STATES", 2 * 6, PAGES),
        ("indexing_queue.measures.closure_fits", "_MOST_UNKNOWNS", 2 * 6, PAGES),
        ("indexing_queue.measures.closure_fits", "_MOST_WORK", 12 * 2**3, PAGES),
        ("indexing_queue.one_robot.accesses_fit", "_MOST_STATES", STATES, PAGES),
        ("pipeline.random_pages.band_is_solved", "MOST_WORK", 5 * 8 * 4**2, PAGES),
        ("pipeline.patience.counts_fit", "MOST_STATES", OLD_AND_NEW, PAGES),
        ("pipeline.patience.counts_fit", "MOST_SOLUTIONS", 5 * OLD_AND_NEW, PAGES),
        ("pipeline.approximations._discounts_fit", "_MOST_FOLLOWED", 5 * STATES, PAGES),
        ("pipeline.approximations._followed_copies_fit", "MOST_STATES", COPY, PAGES),
        ("pipeline.periodic_lists.one_fits", "MOST_WORK", 5 * (30 * 9**3 + 20 * 9**2), PAGES),
        ("pipeline.periodic_lists.shared_fits", "MOST_STATES", 5 * 3 * STATES, PAGES),
        ("pipeline.periodic_lists.shared_fits", "MOST_SOLUTIONS", 25 * 3 * STATES, PAGES),
        ("page_refresh.formulas.short_rounds", "MOST_ENTRIES", 5 * 2 * 5, PAGES),
        ("transient.queue_start._quickly_factorised", "_MOST_PRODUCTS", STATES * 2**2, PAGES),
        ("transient.formulas.course_fits", "_MOST_RATES", STATES * (1 + 2 + 1), PAGES),
        ("transient.formulas.few_numbers", "_MOST_NUMBERS", 5 * STATES * (2 + 2), PAGES),
        ("index.conditions.phase_type_service", "MOST_PHASES", 2, PAGES),
        ("routing.conditions.few_pages", "MOST_BOUNDED", 5, PAGES),
        ("robot_control.formulas.falling_targets", "MOST_LEVELS", LEVELS, TARGETS),
        ("robot_control.formulas.falling_targets", "LARGEST", MOST * LEVELS**2, TARGETS),
    ],
)
def test_the_limit_itself_is_allowed(
    condition: str, limit: str, size: int, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, _, name = condition.rpartition(".")
    module: Any = import_module(f"analytic.{place}")
    reason = getattr(module, name)
    assert getattr(module, limit) > size
    monkeypatch.setattr(module, limit, size)
    assert reason(scenario) is None
    monkeypatch.setattr(module, limit, size - 1)
    assert reason(scenario) is not None


@pytest.mark.parametrize(
    ("timer", "reason"),
    [
        ({"exponential": {"mean": 3.0}}, None),
        (
            {"hyperexponential": {"probabilities": [0.5, 0.5], "rates": [1.0, 0.2]}},
            "its chain has more than 10^15 states, too many to be followed",
        ),
    ],
)
def test_a_long_buffer_is_followed_where_its_timers_have_one_phase(
    timer: dict[str, Any], reason: str | None
) -> None:
    assert (
        course_fits(queue({"buffer.waiting_places": 100, "buffer.obsolescence": timer})) == reason
    )
