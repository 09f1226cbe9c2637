"""What the replications of a scenario share, and that none changes it for another one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from systems import EVERY_KIND, queue
from test_engines_agree import assert_same_path

from scenarios import Scenario, load
from sim.compiled_engine import replication, simulate
from sim.compiled_engine.blueprint import blueprint_of

OBSERVED = {"run.observe": 10.0, "interventions": [{"at": 20.0, "robots": 1}]}


def content(parts: Any) -> Any:
    """Of nested tuples, with the bytes of arrays and records."""
    if isinstance(parts, tuple):
        return [content(each) for each in parts]
    return parts.tobytes() if isinstance(parts, np.ndarray | np.void) else parts


@pytest.mark.parametrize(
    "scenario",
    [*EVERY_KIND.values(), queue(OBSERVED), load("pipeline-light")],
    ids=[*EVERY_KIND, "observed", "pipeline-light"],
)
def test_a_replication_leaves_the_blueprint_as_it_was(scenario: Scenario) -> None:
    short = scenario.with_({"run.warmup": 0.0, "run.horizon": 60.0})
    before = content(blueprint_of(short, None).parts)
    simulate(short, 0, 1)
    assert content(blueprint_of(short, None).parts) == before


def test_a_blueprint_that_is_changed_is_noticed() -> None:
    parts = blueprint_of(queue(), None).parts
    before = content(parts)
    parts.run.begun = True
    assert content(parts) != before
    parts.run.begun = False
    assert content(parts) == before


def test_replications_that_share_what_they_change_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shared(parts: Any) -> Any:
        return parts

    monkeypatch.setattr(replication, "copied", shared)
    with pytest.raises(AssertionError):
        assert_same_path(queue({"run.horizon": 100.0, "run.warmup": 0.0}), replications=2)


def test_threads_with_scenarios_of_their_own_get_their_own() -> None:
    scenarios = [queue({"buffer.waiting_places": places}) for places in (1, 2, 3, 4)] * 25
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(blueprint_of, scenarios, [None] * len(scenarios)))
    assert all(made.scenario is own for made, own in zip(found, scenarios, strict=True))
