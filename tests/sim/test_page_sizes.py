"""Services that depend on the page: whose time it is, in every order of service."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import numpy as np
import pytest

import sim
from scenarios import Scenario, scenario_from
from sim.event_log import EventLog

SIZES = [1.0, 0.0, 7.0, 3.0]
TIMES = [1.1, 0.6, 4.1, 2.1]


def by_size(changes: dict[str, Any]) -> Scenario:
    tables = {
        "name": "by-size",
        "pages": {"change_rates": [0.1, 0.5, 0.02, 0.1], "sizes": SIZES},
        "robots": {
            "available": 2,
            "access_time": {"exponential": {"mean": 3.0}},
            "accessing": {"policy": "randomized"},
        },
        "buffer": {
            "waiting_places": 3,
            "service": {"page-size": {"time_per_unit": 0.5, "constant": 0.6}},
        },
        "run": {"horizon": 1500.0, "warmup": 0.0, "replications": 1},
    }
    return scenario_from(tables).with_(changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"buffer.discipline": "lifo", "buffer.when_full": "push-out"},
        {"buffer.replace_older_copy": True, "buffer.obsolescence": "page-change"},
        {"activation.switching.targets": [2, 2, 1, 1, 0]},
    ],
    ids=["fifo", "lifo-push-out", "replaced", "switched"],
)
def test_a_page_is_served_for_its_own_time(changes: dict[str, Any]) -> None:
    text = StringIO()
    sim.run(by_size(changes), engine="simpy", log=EventLog(text))
    start = None
    served = [0] * len(TIMES)
    for row in csv.DictReader(StringIO(text.getvalue())):
        time = float(row["time"])
        if row["event"] == "delivery" and start is None:
            start = time
        elif row["event"] == "service":
            page = int(row["page"])
            assert start is not None
            assert time - start == pytest.approx(TIMES[page], abs=1e-9)
            served[page] += 1
            start = time if int(row["level"]) > 0 else None
    assert min(served) > 30


def test_changing_a_size_leaves_the_random_numbers_alone() -> None:
    deliveries = [
        sim.run(by_size({"pages.sizes": sizes})).replications["arrival_rate", None]
        for sizes in (SIZES, SIZES[::-1])
    ]
    assert deliveries[0] == deliveries[1]


def test_sizes_by_a_power_law_have_their_mean_and_are_spread() -> None:
    scenario = by_size({"pages.sizes": {"zipf": {"exponent": 0.5, "mean": 9.0}}})
    assert scenario.pages is not None
    sizes = scenario.model.pages.sizes
    assert sizes.mean() == pytest.approx(9.0)
    assert np.sort(sizes)[::-1] == pytest.approx(sizes.max() * np.arange(1.0, 5.0) ** -0.5)
    assert not (np.diff(sizes) < 0).all()
