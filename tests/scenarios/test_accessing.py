"""Accessing policies: shares, spacing, and what the paper promises of them."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios import ScenarioError, scenario_from
from scenarios.accessing import POLICIES
from scenarios.accessing.cyclic import Cyclic
from scenarios.accessing.golden_ratio import GoldenRatio, golden_cycle, largest_remainder
from scenarios.accessing.policy import InSequence
from scenarios.accessing.randomized import Randomized
from scenarios.accessing.round_robin import RoundRobin
from scenarios.page_data import access_shares

FIBONACCI = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987]


def distances(cycle: np.ndarray, page: int) -> list[int]:
    """Slots from each access of a page to its next one, around the cycle."""
    slots = np.flatnonzero(cycle == page)
    return [int(gap) for gap in np.diff(np.append(slots, slots[0] + len(cycle)))]


def test_every_policy_in_the_table_gives_pages_without_end() -> None:
    shares = np.array([0.5, 0.25, 0.25])
    numbers = {"exponents": [0.2, 0.1, 0.1], "values": [1.0, 1.0, 2.0]}
    extra = {"cyclic": {"template": [0, 1, 2]}, "whittle": numbers, "crawl-value": numbers}
    for name, policy in POLICIES.items():
        if not issubclass(policy, InSequence):
            assert name == "due"  # whose pages come in no sequence
            continue
        made = policy.model_validate({"policy": name, **extra.get(name, {})})
        blocks = made.sequence(shares, np.random.default_rng(1))
        pages = [page for block in islice(blocks, 40) for page in block.tolist()]
        assert set(pages) == {0, 1, 2}, name


def test_cyclic_and_round_robin_by_hand() -> None:
    shares = np.full(3, 1 / 3)
    cyclic = Cyclic(policy="cyclic", template=(2, 0, 2, 1))
    assert cyclic.cycle_of(shares).tolist() == [2, 0, 2, 1]
    assert RoundRobin(policy="round-robin").cycle_of(shares).tolist() == [0, 1, 2]


def test_largest_remainder_by_hand() -> None:
    """Shares of 10 slots: 4.5, 3.5, 2.0: one slot is left over, the tie goes to page 0."""
    assert largest_remainder(np.array([0.45, 0.35, 0.2]), 10).tolist() == [5, 3, 2]
    assert largest_remainder(np.array([1.0, 0.0]), 5).tolist() == [5, 0]


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=30), st.integers(1, 500))
def test_largest_remainder_misses_no_slot_and_no_share(weights: list[float], slots: int) -> None:
    shares = np.array(weights) / sum(weights)
    counts = largest_remainder(shares, slots)
    assert counts.sum() == slots
    assert np.all(np.abs(counts - shares * slots) < 1 + 1e-9)


def test_a_golden_cycle_by_hand() -> None:
    """F_5 = 5, F_4 = 3: points 0 … 4 stand in slots 0, 3, 1, 4, 2; pages own 2, 2 and 1 of them."""
    assert golden_cycle(np.array([2, 2, 1])).tolist() == [0, 1, 2, 0, 1]


@given(st.integers(5, 13), st.data())
def test_golden_distances_are_three_successive_fibonacci_numbers(
    k: int, data: st.DataObject
) -> None:
    """The counts of docs/theory/golden-ratio.md: F_{k-m} × (M - F_m), F_{k-m+1} × (M - F_{m-1}),
    F_{k-m+2} × (F_{m+1} - M), where F_m <= M < F_{m+1} and F_1 = F_2 = 1.
    """
    slots = FIBONACCI[k - 1]
    first = data.draw(st.integers(1, slots - 1))
    cycle = golden_cycle(np.array([first, slots - first]))
    m = max(index for index, value in enumerate(FIBONACCI, 1) if value <= first)
    fib = lambda index: FIBONACCI[index - 1] if index > 0 else 0  # noqa: E731
    expected: Counter[int] = Counter()
    for distance, count in (
        (fib(k - m), first - fib(m)),
        (fib(k - m + 1), first - fib(m - 1)),
        (fib(k - m + 2), fib(m + 1) - first),
    ):
        expected[distance] += count
    assert Counter(distances(cycle, 0)) == +expected


def test_the_default_golden_cycle_is_the_smallest_that_visits_every_page() -> None:
    policy = GoldenRatio(policy="golden-ratio")
    assert len(policy.cycle_of(np.full(6, 1 / 6))) == 8
    assert len(policy.cycle_of(np.array([0.9, 0.1]))) == 8  # of 5 slots the tie goes to page 0
    assert len(policy.cycle_of(np.array([0.5, 0.0, 0.5]))) == 2
    assert len(policy.cycle_of(np.array([1.0]))) == 1


def test_a_golden_cycle_that_would_be_too_long_is_refused() -> None:
    with pytest.raises(ScenarioError, match="has one for every page"):
        GoldenRatio(policy="golden-ratio").cycle_of(np.array([1 - 1e-12, 1e-12]))


def test_randomized_pages_have_their_shares() -> None:
    """200 blocks of 1024 draws: shares within 5 standard errors (seed 3); zero is never drawn."""
    shares = np.array([0.2, 0.0, 0.7, 0.1, 0.0])
    policy = Randomized(policy="randomized", frequencies=tuple(shares))
    blocks = islice(policy.sequence(shares, np.random.default_rng(3)), 200)
    pages = np.concatenate(list(blocks))
    counts = np.bincount(pages, minlength=5) / len(pages)
    assert np.all(np.abs(counts - shares) <= 5 * np.sqrt(shares * (1 - shares) / len(pages)))


class Largest:
    """A stream of uniforms that gives the largest one there is."""

    def random(self, size: int) -> np.ndarray:
        return np.full(size, 1 - 2**-53)


def test_shares_whose_sum_is_rounded_down_draw_no_page_that_is_not_there() -> None:
    """0.1 ten times sums to 1 - 2**-53; page 10 has no share, page 11 does not exist."""
    shares = np.array([0.1] * 10 + [0.0])
    assert np.cumsum(shares)[-1] == 1 - 2**-53
    policy = Randomized(policy="randomized", frequencies=tuple(shares))
    assert set(next(policy.sequence(shares, Largest())).tolist()) == {9}


class Given:
    """A stream of given numbers."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def random(self, size: int) -> np.ndarray:
        return np.resize(self.numbers, size)


@pytest.mark.parametrize("pages", [1, 2, 3, 6, 7, 8, 100, 5000, 300_000])
@pytest.mark.parametrize("power", [0, 1, 20])
def test_a_page_is_drawn_where_the_sums_of_shares_first_exceed_the_number(
    pages: int, power: int
) -> None:
    """However few or many they are, how unlike, and whether some are never accessed.

    The numbers are sums of shares, where a page begins, and those beside them: to the last digit.
    """
    chance = np.random.default_rng(pages)
    weights = chance.random(pages) ** power * (chance.random(pages) < 0.8)
    weights[pages // 2] = 1.0
    shares = weights / weights.sum()
    sums = np.cumsum(shares)
    begins = chance.permutation(sums)[:300]
    beside = [np.nextafter(begins, 0.0), begins, np.nextafter(begins, 1.0), chance.random(100)]
    numbers = np.clip(np.concatenate(beside), 0.0, np.nextafter(1.0, 0.0))
    drawn = next(Randomized(policy="randomized").sequence(shares, Given(numbers)))  # type: ignore[arg-type]
    last = np.flatnonzero(shares)[-1]
    expected = np.minimum(np.searchsorted(sums, numbers, side="right"), last)
    assert drawn.tolist() == np.resize(expected, len(drawn)).tolist()


def with_pages(pages: dict[str, object], accessing: dict[str, object]) -> object:
    return scenario_from(
        {
            "name": "pages",
            "pages": pages,
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0}},
                "accessing": accessing,
            },
        }
    )


def test_the_words_of_pages_and_frequencies_stand_for_numbers() -> None:
    zipf = {"zipf": {"pages": 3, "exponent": 1.0, "total": 11.0}}
    made = with_pages(
        {"change_rates": zipf}, {"policy": "randomized", "frequencies": "change-rate"}
    )
    assert made.model.pages.change_rates == pytest.approx([6.0, 3.0, 2.0])
    assert made.model.pages.weights == pytest.approx([6.0, 3.0, 2.0])
    assert access_shares(made.robots.accessing, made.model.pages) == pytest.approx(
        [6 / 11, 3 / 11, 2 / 11]
    )
    even = with_pages(
        {"change_rates": [1.0, 2.0], "weights": "uniform"},
        {"policy": "cyclic", "template": [0, 1, 1]},
    )
    assert even.model.pages.weights.tolist() == [1.0, 1.0]
    assert access_shares(even.robots.accessing, even.model.pages) == pytest.approx([1 / 3, 2 / 3])
