"""The best frequencies in parts: those in memory, whatever is odd about the pages."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from profiles import examples

from analytic.page_refresh import best_shares, chunk_sums, out_of_core
from analytic.page_refresh.obsolescence import spaced_obsolescence
from analytic.page_refresh.optimum import inverse_excess
from analytic.page_refresh.out_of_core import Block, PageError, best_multiplier
from crawlsim.best_frequencies import LIMITS
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution, Exponential

PARTS = 7
BLOCK = 700
"""Pages handed on at a time: parts of several blocks, the last one shorter."""


@dataclass(frozen=True)
class InMemory:
    """A part for tests."""

    first: int
    rates: Array
    weights: Array

    @property
    def count(self) -> int:
        return len(self.rates)

    def blocks(self) -> Iterator[Block]:
        for start in range(0, self.count, BLOCK):
            some = slice(start, start + BLOCK)
            yield self.rates[some], self.weights[some]


def parts(rates: Array, weights: Array) -> list[InMemory]:
    firsts = np.linspace(0, len(rates), min(PARTS, len(rates)) + 1).astype(int)
    ends = zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True)
    return [InMemory(low, rates[low:high], weights[low:high]) for low, high in ends]


def shares(rates: Array, weights: Array, law: Distribution) -> Array:
    divided = parts(rates, weights)
    found = best_multiplier(divided, law)
    return np.concatenate([found.of(part).shares for part in divided])


def odd_pages() -> dict[str, tuple[Array, Array]]:
    """Pages of many kinds, with their weights."""
    draw = np.random.default_rng(29)
    many = 10_000
    rates = draw.gamma(1.0, size=many) / many
    ties = np.repeat([1e-3, 2e-3, 0.5], [3000, 3000, 4000])
    return {
        "all accessed": (rates * 0.1, draw.random(many) + 0.5),
        "most never accessed": (draw.lognormal(0.0, 2.5, many) * 30 / many, np.ones(many)),
        "equal": (np.full(many, 0.01), np.ones(many)),
        "equal ratios": (rates, rates * 3.0),
        "three kinds": (ties, np.ones(many)),
        "frequent changes": (draw.random(many) * 30.0, draw.random(many)),
        "without changes or weight": (
            np.where(draw.random(many) < 0.3, 0.0, rates),
            np.where(draw.random(many) < 0.3, 0.0, draw.random(many)),
        ),
        "rare changes": (rates * 1e-80, draw.random(many) * 1e200),
        "one": (np.array([0.3]), np.array([2.0])),
        "none with changes": (np.zeros(20), np.ones(20)),
    }


@pytest.mark.parametrize("law", [Deterministic(value=1.0), Exponential(mean=1.0)])
@pytest.mark.parametrize("kind", odd_pages())
def test_frequencies_are_those_in_memory(kind: str, law: Distribution) -> None:
    rates, weights = odd_pages()[kind]
    found = shares(rates, weights, law)
    expected = best_shares(rates, weights, law)
    assert np.abs(found - expected).sum() < 1e-12
    assert abs(found.sum() - 1.0) < 1e-12
    assert found[(rates == 0) & (expected == 0)].sum() == 0.0


def test_the_cost_is_that_of_the_frequencies() -> None:
    rates, weights = odd_pages()["most never accessed"]
    for law in (Deterministic(value=1.0), Exponential(mean=1.0)):
        divided = parts(rates, weights)
        found = best_multiplier(divided, law)
        answers = [found.of(part) for part in divided]
        all_shares = np.concatenate([each.shares for each in answers])
        expected = float(weights @ spaced_obsolescence(rates, all_shares, law))
        assert_allclose(sum(each.cost for each in answers), expected, rtol=1e-13)
        assert sum(each.without for each in answers) == np.count_nonzero(all_shares == 0)


def test_workers_change_no_bit() -> None:
    rates, weights = odd_pages()["most never accessed"]
    divided = parts(rates, weights)
    alone = best_multiplier(divided, Deterministic(value=1.0))
    with ThreadPoolExecutor(3) as executor:
        together = best_multiplier(divided, Deterministic(value=1.0), executor)
    assert alone == together


@pytest.mark.parametrize("planted", ["a block is left out", "the slope has the wrong sign"])
def test_a_wrong_sum_is_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with the answer in memory catches it, or the search stays right."""
    right = chunk_sums.block_sums
    calls = iter(range(10**6))

    def wrong(*given: Any) -> tuple[float, float]:
        total, slope = right(*given)
        if planted == "a block is left out":
            return (0.0, 0.0) if next(calls) % (10_000 // BLOCK) == 3 else (total, slope)
        return total, -slope

    rates, weights = odd_pages()["all accessed"]
    law = Deterministic(value=1.0)
    monkeypatch.setattr(chunk_sums, "block_sums", wrong)
    found = shares(rates, weights, law)
    off = float(np.abs(found - best_shares(rates, weights, law)).sum())
    if planted == "a block is left out":
        assert off > 1e-3
    else:
        assert off < 1e-12  # only slower: the bracket holds without the slope


def test_the_compiled_inverse_is_that_of_the_array() -> None:
    v = np.concatenate([np.logspace(-300, 100, 4001), np.linspace(1e-3, 6.0, 4001)])
    found = [chunk_sums.inverse_excess_of(each) for each in v.tolist()]
    assert_allclose(found, inverse_excess(v), rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "value"),
    [("change rate", np.nan), ("weight", -1.0), ("weight", 1e300), ("change rate", 5e-324)],
)
def test_a_wrong_number_is_named(name: str, value: float) -> None:
    rates, weights = (each.copy() for each in odd_pages()["all accessed"])
    (rates if name == "change rate" else weights)[6543] = value
    with pytest.raises(PageError) as error:
        best_multiplier(parts(rates, weights), Deterministic(value=1.0), limits=LIMITS)
    assert (error.value.page, error.value.name) == (6543, name)


@given(
    arrays(float, st.integers(1, 6), elements=st.floats(-50.0, 50.0)),
    st.floats(-50.0, 50.0),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=examples(100))
def test_numbers_within_the_limits_have_frequencies(
    powers: NDArray[Any], accesses: float, seed: int
) -> None:
    rates = 10.0**powers
    weights = 10.0 ** np.random.default_rng(seed).uniform(-50.0, 50.0, len(rates))
    with np.errstate(all="raise", under="ignore"):
        found = best_multiplier(parts(rates, weights), Deterministic(value=10.0**-accesses))
        frequencies = found.of(InMemory(0, rates, weights))
    assert np.isfinite(frequencies.cost)
    assert_allclose(frequencies.shares.sum(), 1.0, rtol=1e-9)


def test_parts_wait_for_an_executor_a_few_at_a_time() -> None:
    """Frequencies of parts that are done lie in memory until they are taken."""
    rates = np.ones(100)
    divided = [InMemory(page, rates[page : page + 1], rates[:1]) for page in range(100)]
    begun = []
    with ThreadPoolExecutor(2) as executor:
        answers = out_of_core.in_order(lambda part: begun.append(part) or part, divided, executor)
        assert next(answers) is divided[0]
        assert len(begun) <= 6
        assert list(answers) == divided[1:]
