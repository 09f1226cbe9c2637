"""What the replications of a scenario share, and that none changes it for another one."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from systems import EVERY_KIND, queue
from test_engines_agree import assert_same_path

from scenarios import Scenario, load
from sim.compiled_engine import replication, simulate
from sim.compiled_engine.blueprint import blueprint_of

OBSERVED = {"run.observe": 10.0, "interventions": [{"at": 20.0, "robots": 1}]}


@pytest.mark.parametrize(
    "scenario",
    [*EVERY_KIND.values(), queue(OBSERVED), load("pipeline-light")],
    ids=[*EVERY_KIND, "observed", "pipeline-light"],
)
def test_a_replication_leaves_the_blueprint_as_it_was(scenario: Scenario) -> None:
    short = scenario.with_({"run.warmup": 0.0, "run.horizon": 60.0})
    before = pickle.dumps(blueprint_of(short, None).parts)
    simulate(short, 0, 1)
    assert pickle.dumps(blueprint_of(short, None).parts) == before


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
