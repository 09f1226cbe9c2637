"""The most urgent page of each slot, among few contenders and among everybody."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest

from scenarios.accessing import urgency
from scenarios.accessing.crawl_value import CrawlValue
from scenarios.accessing.deficit import Deficit
from scenarios.accessing.whittle import Whittle

Array = Any
SLOTS = 250


def _first(policy: Any, shares: Array) -> list[int]:
    blocks = policy.plan(shares)
    pages = [page for block in islice(blocks, SLOTS) for page in block.tolist()]
    return pages[:SLOTS]


def _one_by_one(count: int, worth: Callable[[Array, int], Array], start: Array) -> list[int]:
    """Everybody's urgency anew in each slot; `argmax` takes the first of equal ones."""
    past, chosen = start.copy(), []
    for slot in range(SLOTS):
        page = int(np.argmax(worth(past, slot)))
        chosen.append(page)
        past[page] = slot
    assert len(start) == count
    return chosen


@pytest.mark.parametrize("shortest", [4, 64])
@pytest.mark.parametrize("kind", [Whittle, CrawlValue])
def test_the_greatest_index_is_found_whatever_the_blocks(
    kind: type[Whittle | CrawlValue], shortest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(urgency, "_SHORTEST", shortest)
    rng = np.random.default_rng(3)
    exponents, values = rng.gamma(0.5, 0.02, 240), rng.gamma(0.7, 1.0, 240)
    exponents[100:110], values[100:110] = exponents[100], values[100]  # equal ones, in turn
    name = kind.model_fields["policy"].annotation.__args__[0]  # type: ignore[union-attr]
    policy = kind(policy=name, exponents=tuple(exponents), values=tuple(values))
    columns = policy.columns(exponents, values)
    expected = _one_by_one(
        240, lambda past, slot: policy.index(columns, slot - past), np.arange(240) - 240
    )
    assert len(set(expected)) > 30
    assert _first(policy, np.ones(240) / 240) == expected


@pytest.mark.parametrize("shortest", [4, 64])
def test_the_largest_deficit_is_found_whatever_the_blocks(
    shortest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(urgency, "_SHORTEST", shortest)
    shares = np.random.default_rng(4).integers(1, 9, 240) / 1024.0  # no rounding: real ties
    shares[7] += 1.0 - shares.sum()
    accesses, expected = np.zeros(240), []
    for slot in range(SLOTS):
        page = int(np.argmax(shares * (slot + 1) - accesses))
        accesses[page] += 1
        expected.append(page)
    assert _first(Deficit(policy="deficit"), shares) == expected


def test_contenders_of_many_slots_are_found_in_quarters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 7, 7, 7 and 4 slots of a block of 25, each of at least the shortest."""
    monkeypatch.setattr(urgency, "_SHORTEST", 4)
    asked: list[tuple[int, int]] = []
    chosen = urgency._chosen

    def counted(of: Any, pages: Array, first: int, length: int) -> Array:
        asked.append((first, length))
        return chosen(of, pages, first, length)

    monkeypatch.setattr(urgency, "_chosen", counted)
    rates = np.linspace(0.1, 1.0, 200)
    policy = Whittle(policy="whittle", exponents=tuple(rates), values=tuple(rates))
    blocks = policy.plan(rates)
    assert [len(next(blocks)) for _ in range(2)] == [25, 25]
    assert asked[:2] == [(0, 25), (0, 7)]
    parts = {(first, length) for first, length in asked if length <= 7 and first < 25}
    assert {(0, 7), (7, 7), (14, 7), (21, 4)} <= parts
    assert asked[asked.index((25, 25)) + 1] == (25, 7)
