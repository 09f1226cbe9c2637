"""Memory of runs of very many pages: each in processes of their own, by `benchmarks`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def measured(pages: int, replications: int, *how: str) -> dict[str, Any]:
    """What `benchmarks/bench_many_pages.py` finds: peaks in GB, and the answer."""
    words = ["--here", "--pages", str(pages), "--replications", str(replications), *how]
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "bench_many_pages.py"), *words],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.thorough
@pytest.mark.large
def test_memory_does_not_grow_with_the_replications_of_a_million_pages() -> None:
    """Rows would take 40 MB more for each of them."""
    few, more = (measured(1_000_000, count) for count in (2, 6))
    assert more["GB"] < 0.45
    assert more["GB"] < few["GB"] + 0.04


@pytest.mark.large
@pytest.mark.nightly
def test_ten_million_pages_take_less_than_three_gigabytes() -> None:
    few, more = (measured(10_000_000, count) for count in (2, 5))
    assert more["GB"] < 3.0
    assert more["GB"] < few["GB"] + 0.1


@pytest.mark.large
@pytest.mark.nightly
def test_workers_of_a_cluster_need_no_more_for_more_replications() -> None:
    """Two processes; one that has had a replication still holds what single pages did in it."""
    pytest.importorskip("distributed")
    alone = measured(3_000_000, 10)
    some, more = (measured(3_000_000, count, "--cluster") for count in (6, 10))
    assert more["answer"] == alone["answer"]
    for before, after in zip(some["GB of each worker"], more["GB of each worker"], strict=True):
        assert after < 1.1 * before
    assert more["GB"] < 1.1 * some["GB"]
