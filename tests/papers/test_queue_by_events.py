"""The queue written down event by event, against the formulas that it checks elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from systems import EVERY_KIND, PHASES

from analytic import exact_values
from papers import queue_by_events
from scenarios import Scenario

ONE_LIST = EVERY_KIND["switching"].with_("buffer.service", PHASES)
BY_LEVEL: dict[str, Any] = {"activation": {"levels": [3, 1, 2, 0, 1]}}


@pytest.mark.parametrize(
    "scenario",
    [
        ONE_LIST,
        EVERY_KIND["switching-by-phase"],
        EVERY_KIND["threshold"].with_(BY_LEVEL),
        EVERY_KIND["lifo-push-out"],
        EVERY_KIND["rejected"],
        EVERY_KIND["complete"],
    ],
    ids=["one-list-of-targets", "targets-by-phase", "levels", "push-out", "rejected", "complete"],
)
def test_events_and_formulas_give_the_same_measures(scenario: Scenario) -> None:
    by_events = queue_by_events.measures(scenario)
    exact = {key: value for key, (value, _) in exact_values(scenario).items()}
    both = by_events.keys() & exact.keys()
    assert {("arrival_rate", None), ("loss_rate", None), ("mean_active_robots", None)} <= both
    assert [exact[each] for each in both] == pytest.approx([by_events[each] for each in both])
