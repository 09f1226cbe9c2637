"""A discipline that nobody has been told of is refused: nobody takes it for one that he knows."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

import pytest

from analytic import predict
from analytic.index.targets import TARGETS, optimize
from analytic.indexing_queue.exact_laws import ExactLaw, exact_laws
from scenarios import Scenario, ScenarioError, load
from scenarios.activation import Optimal
from scenarios.library import library_names
from scenarios.model import Model, model_of
from scenarios.sections import System
from sim import compiled_engine, simpy_engine

NOT_OF_THE_QUEUE = {"crawl_frequency", "crawl_rate", "unchanged_rate"}
"""What does not depend on the buffer; of robots that its level switches nothing is left."""


class Planted(Enum):
    """A discipline of the queue and one of the servers, as later words of the file may be."""

    SHORTEST_FIRST = "shortest-first"
    LARGER_WINS = "larger-wins"


def with_planted(system: System) -> Model:
    """What a scenario decodes to, with disciplines that nobody knows."""
    model = model_of(system)
    queue, traffic = model.queue, model.traffic
    if queue is not None:
        order: Any = Planted.SHORTEST_FIRST
        queue = replace(queue, discipline=replace(queue.discipline, order=order))
    if traffic is not None:
        discipline: Any = Planted.LARGER_WINS
        traffic = replace(traffic, discipline=discipline)
    return replace(model, queue=queue, traffic=traffic)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios.scenario.model_of", with_planted)


def has_discipline(scenario: Scenario) -> bool:
    return scenario.buffer is not None or scenario.servers is not None


NAMES = [name for name in library_names() if has_discipline(load(name))]


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("name", NAMES)
def test_no_formula_answers(name: str) -> None:
    scenario = load(name).with_("name", "of-no-cache")
    if not isinstance(scenario.activation, Optimal):
        assert {row.measure for row in predict(scenario)[0]} <= NOT_OF_THE_QUEUE
        assert not any(isinstance(each, ExactLaw) for each in exact_laws(scenario))
    for target in TARGETS:
        try:
            assert optimize(scenario, target).cost is None
        except ScenarioError:
            continue
        assert target == "frequencies"  # the best for the pages alone, which promise nothing


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("name", ["one-robot", "pipeline-newest-first", "routing-two-servers"])
@pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
def test_neither_engine_simulates(name: str, engine: Any) -> None:
    scenario = load(name).with_({"run.horizon": 50.0, "run.warmup": 0.0})
    with pytest.raises(ScenarioError, match=r"discipline = .*(shortest-first|larger-wins)"):
        engine.simulate(scenario, 0, 1)


def test_they_answer_what_they_know() -> None:
    assert {row.measure for row in predict(load("one-robot"))[0]} > {"loss_probability"}
