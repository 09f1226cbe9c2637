"""Plans that replications share, and the search in compiled code against the readable forms."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
from analytic import resolve
from scenarios import load
from scenarios.accessing.compiling import CRAWL_VALUE, DEFICIT, WHITTLE, urgencies
from scenarios.accessing.crawl_value import CrawlValue
from scenarios.accessing.deadline import Deadline
from scenarios.accessing.whittle import Whittle
from sim.page_source import SharedPlan

SHARES = [0.5, 0.2, 0.2, 0.1]
DEADLINE = Deadline.model_validate({"policy": "deadline", "frequencies": SHARES})


def pages() -> Any:
    return load("deadline-frequencies").model.pages


def first(blocks: Iterator[Any], count: int) -> list[int]:
    """The first pages of blocks that are longer than 100 each."""
    return np.concatenate(list(islice(blocks, count // 100)))[:count].tolist()


def test_a_shared_plan_is_the_plan_for_everyone() -> None:
    expected = first(DEADLINE.plan(np.array(SHARES)), 5000)
    shared = SharedPlan(DEADLINE, pages())
    for _ in range(2):
        assert first(iter(shared), 5000) == expected
    fresh = SharedPlan(DEADLINE, pages())
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: first(iter(fresh), 5000), range(8)))
    assert all(each == expected for each in found)


def test_what_is_not_kept_is_planned_anew() -> None:
    expected = first(DEADLINE.plan(np.array(SHARES)), 5000)
    for _ in range(2):
        assert first(iter(SharedPlan(DEADLINE, pages(), kept=1500)), 5000) == expected


def test_an_interrupted_plan_starts_again() -> None:
    """Else the ended generator would end every later run."""
    shared = SharedPlan(DEADLINE, pages())
    one = iter(shared)
    begun = next(one).tolist()

    def interrupted() -> Iterator[Any]:
        raise KeyboardInterrupt
        yield  # it is a generator

    shared._plan = interrupted()
    with pytest.raises(KeyboardInterrupt):
        next(one)
    assert next(iter(shared)).tolist() == begun


def test_runs_share_plans_only_where_all_is_the_same() -> None:
    """The same policy on other pages: a plan kept for the first would give other numbers."""
    base = resolve(load("deadline-frequencies")).with_("run.horizon", 1500.0)
    other = base.with_("robots.accessing.frequencies", [0.1, 0.2, 0.2, 0.5])
    apart = [sim.run(each, replications=2) for each in (base, other)]
    again = [sim.run(each, replications=2) for each in (other, base)]
    assert apart[0].replications_frame().equals(again[1].replications_frame())
    assert not apart[0].replications_frame().equals(apart[1].replications_frame())


@given(
    st.lists(st.tuples(st.floats(0, 30), st.floats(0, 5)), min_size=1, max_size=6),
    st.integers(1, 10**6),
)
def test_compiled_indices_are_the_readable_ones(
    numbers: list[tuple[float, float]], age: int
) -> None:
    """1e-12 relative; at small x both keep their digits."""
    exponents, values = np.array(numbers).T
    past = np.full(len(numbers), -age)
    everyone = np.arange(len(numbers))
    for kind, policy in (
        (WHITTLE, Whittle(policy="whittle")),
        (CRAWL_VALUE, CrawlValue(policy="crawl-value")),
    ):
        columns = policy.columns(exponents, values)
        found = urgencies(kind, np.column_stack(columns), past, everyone, 0)
        assert found == pytest.approx(policy.index(columns, age), rel=1e-11, abs=1e-300)


def test_compiled_deficits_by_hand() -> None:
    found = urgencies(DEFICIT, np.array([[0.5], [0.25]]), np.array([3, 0]), np.arange(2), 7)
    assert found.tolist() == [1.0, 2.0]


def deadlines_by_heaps(shares: list[float]) -> Iterator[int]:
    """Tijdeman's rule with Python's heaps."""
    count = len(shares)
    slack = 1.0 / (2 * count - 2) if count > 1 else 0.0
    later = [(slack / share, page, 0) for page, share in enumerate(shares)]
    heapq.heapify(later)
    ready: list[tuple[float, int, int]] = []
    slot = 0
    while True:
        slot += 1
        while later and (later[0][0] <= slot or not ready):
            _, page, visits = heapq.heappop(later)
            heapq.heappush(ready, ((visits + 1 - slack) / shares[page], page, visits))
        _, page, visits = heapq.heappop(ready)
        heapq.heappush(later, ((visits + 1 + slack) / shares[page], page, visits + 1))
        yield page


@given(st.lists(st.sampled_from([0.3, 1.0, 2.0, 2.5]), min_size=1, max_size=30))
def test_compiled_deadlines_are_those_of_heaps(weights: list[float]) -> None:
    """Ties included, and over the ends of blocks."""
    shares = np.array(weights) / sum(weights)
    expected = list(islice(deadlines_by_heaps(shares.tolist()), 3000))
    assert first(DEADLINE.plan(shares), 3000) == expected
