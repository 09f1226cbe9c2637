"""The benchmark queue as a C++ program: the same numbers drawn, hence the same counts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from scenarios.files import load
from sim import compiled_engine, rules, simpy_engine

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def cpp_queue(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("cpp_queue", "outcome"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import cpp_queue

    if cpp_queue.compiler() is None:
        pytest.skip("there is no C++ compiler")
    return cpp_queue


@pytest.mark.parametrize("seed", range(3))
def test_a_program_of_its_own_counts_the_same_pages(cpp_queue: Any, seed: int) -> None:
    """Some 4000 pages; a single event that came elsewhere would shift all that follow."""
    scenario = load(BENCHMARKS / "queue.toml").with_("run.horizon", 2000.0)
    peer = cpp_queue.run(2000.0, seed)
    for engine in (compiled_engine, simpy_engine):
        found = engine.simulate(scenario, 0, seed).buffer
        ended = found.ended[rules.OBSOLETE], found.ended[rules.SERVED]
        assert (found.delivered, found.lost, *ended) == tuple(peer[:4])
    assert cpp_queue.run(2000.0, seed + 10)[:4] != peer[:4]
