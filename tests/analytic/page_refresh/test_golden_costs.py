"""Costs of the golden-ratio policy, and the claims of coffman1998 that are false as printed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytic.machinery.phase_type import as_phase_type
from analytic.machinery.transforms import exc, transform
from analytic.page_refresh import (
    WORST_GOLDEN_RATIO,
    cyclic_obsolescence,
    equal_spacing_bound,
    golden_guarantee,
    many_pages_cost,
    proportional_bound,
    randomized_obsolescence,
    slot_distances,
    worst_golden_cost,
)
from papers.coffman1998 import golden_distances, golden_limit, golden_obsolescence
from scenarios.accessing.golden_ratio import golden_cycle, largest_remainder
from scenarios.laws import (
    Deterministic,
    Distribution,
    Exponential,
    Gamma,
    Hyperexponential,
    PhaseType,
)

PHI = (1 + math.sqrt(5)) / 2
FIBONACCI = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597]
ERLANG = Gamma(shape=2.0, mean=1.0)
CONSTANT = Deterministic(value=1.0)


@given(st.sampled_from(FIBONACCI), st.data())
def test_the_exact_distances_are_those_of_the_slots(slots: int, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, slots), max_size=6)))
    counts = np.diff([0, *cuts, slots])
    page, distance = slot_distances(golden_cycle(counts), len(counts))
    for each, (values, times) in enumerate(zip(*golden_distances(counts), strict=True)):
        listed = np.repeat(values, times)
        assert sorted(listed.tolist()) == sorted(distance[page == each].astype(int).tolist())


def test_the_exact_distances_cost_what_the_slots_cost() -> None:
    counts = np.array([3, 10, 0, 8])
    rates = np.array([0.1, 0.2, 0.3, 1.0])
    slot_by_slot = cyclic_obsolescence(rates, golden_cycle(counts), ERLANG)
    assert golden_obsolescence(rates, counts, ERLANG) == pytest.approx(slot_by_slot, rel=1e-13)
    wrong = golden_obsolescence(rates, counts[[1, 0, 2, 3]], ERLANG)
    assert np.abs(wrong / slot_by_slot - 1).max() > 0.1


@pytest.mark.parametrize("counts", [[2, 2], [-1, 4], [0, 0, 7]])
def test_counts_of_no_golden_cycle_are_refused(counts: list[int]) -> None:
    with pytest.raises(ValueError, match="sum to a Fibonacci number"):
        golden_distances(counts)


def test_long_cycles_approach_the_limit() -> None:
    """75025 slots; with the printed j = floor(ln_phi x) the distances would not exist (j < 0)."""
    shares = np.array([0.52, 0.31, 0.17])
    rates = np.array([0.5, 0.3, 0.2])
    counts = largest_remainder(shares, 75025)
    exact = golden_obsolescence(rates, counts, ERLANG)
    assert golden_limit(rates, shares, ERLANG) == pytest.approx(exact, rel=1e-4)
    even = np.array([PHI**-1, PHI**-2])
    assert golden_limit(rates[:2], even, ERLANG) == pytest.approx(
        golden_obsolescence(rates[:2], [46368, 28657], ERLANG), rel=1e-7
    )


def test_many_slow_pages_cost_exc_of_the_load() -> None:
    """(17), for access times of any law with a mean."""
    for law in (CONSTANT, Exponential(mean=1.0), Gamma(shape=0.2, mean=1.0)):
        costs = [proportional_bound(np.full(n, 0.8 / n), law) for n in (10, 1000, 100_000)]
        gaps = np.abs(np.array(costs) - many_pages_cost(0.8))
        assert gaps[2] < 1e-4
        assert law is CONSTANT or gaps[0] > 50 * gaps[1]


def test_theorem_5_1_and_corollary_5_1_are_false_as_printed() -> None:
    """246 equal pages on 17711 slots, q = 0.1: 1.1014, above G(q, 1) and above 2 phi² / 5."""
    load = 0.1
    pages = 246
    rates = np.full(pages, load / pages)
    counts = largest_remainder(np.full(pages, 1 / pages), 17711)
    cost = float(rates @ golden_obsolescence(rates, counts, CONSTANT))
    ratio = cost / float(exc(load))
    k = load / math.sqrt(5)
    printed = float((1 - 1 / PHI) * exc(k * PHI) + (PHI - 1) * exc(k * PHI**2))
    assert round(ratio, 4) == 1.1014
    assert cost > printed * 1.05
    assert round(printed / float(exc(load)), 4) == 1.0443
    assert ratio > 2 * PHI**2 / 5 * 1.05
    assert ratio <= golden_guarantee(load) * (1 + 1 / pages)  # it holds in the limit


def test_the_corrected_guarantee_is_the_largest_over_all_loads() -> None:
    """phi^5 / 10 at s = phi² / 2, approached as q -> 0 and decreasing in q."""
    loads = np.logspace(-5, 2, 60)
    ratios = [golden_guarantee(load) for load in loads.tolist()]
    assert math.isclose(WORST_GOLDEN_RATIO, PHI**5 / 10, rel_tol=1e-14)
    assert ratios[0] == pytest.approx(WORST_GOLDEN_RATIO, rel=1e-5)
    assert ratios == sorted(ratios, reverse=True)
    assert worst_golden_cost(1e-6)[1] == pytest.approx(PHI**2 / 2, rel=1e-5)


@pytest.mark.parametrize("pages", [7, 20, 101, 246, 500])
def test_no_golden_cycle_of_equal_pages_is_worse_than_the_guarantee(pages: int) -> None:
    rates = np.full(pages, 0.1 / pages)
    counts = largest_remainder(np.full(pages, 1 / pages), 832040)
    cost = float(rates @ golden_obsolescence(rates, counts, CONSTANT))
    slack = 1 + 4 / pages  # the guarantee holds in the limit of many pages
    assert cost <= worst_golden_cost(0.1)[0] * slack


def shifted(law: Hyperexponential, by: float) -> Distribution:
    """X + a constant, the constant as an Erlang law of 300 phases."""
    phases = as_phase_type(law)
    stages = 300
    assert phases is not None
    size = stages + len(phases.start)
    generator = np.zeros((size, size))
    generator[:stages, :stages] = (np.eye(stages, k=1) - np.eye(stages)) * stages / by
    generator[stages - 1, stages:] = phases.start * stages / by
    generator[stages:, stages:] = phases.generator
    start = [1.0] + [0.0] * (size - 1)
    return PhaseType.model_validate({"alpha": start, "T": generator.tolist()})


@pytest.mark.thorough
def test_theorem_3_1_is_false_as_printed() -> None:
    """X + 1 is larger than X in the increasing convex order, and its obsolescence is smaller.

    A robot that needs longer for every access leaves copies fresher: 0.6782 against 0.9602 (the
    constant 1 is an Erlang time here, of 300 phases).
    """
    law = Hyperexponential(probabilities=(1 / 32, 31 / 32), rates=(1 / 32, 96.875))
    short = cyclic_obsolescence([1.0], [0], law)[0]
    long = cyclic_obsolescence([1.0], [0], shifted(law, 1.0))[0]
    assert round(float(short), 4) == 0.9602
    assert long == pytest.approx(0.6782, abs=5e-4)
    by_hand = 1 - (1 - math.exp(-1) * transform(law, 1.0)) / (1.01 + 1)
    assert round(float(by_hand), 4) == 0.6782


@given(
    st.lists(st.integers(0, 2), min_size=3, max_size=10),
    st.floats(0.05, 5.0),
    st.floats(0.1, 0.9),
    st.integers(1, 5),
)
def test_theorem_3_1_holds_for_equal_means_and_for_shorter_times(
    template: list[int], rate: float, factor: float, shape: int
) -> None:
    """Of equal means the less variable law (convex order) is fresher; so is aX, a < 1."""
    rates = np.full(3, rate)
    wide = cyclic_obsolescence(rates, template, Gamma(shape=float(shape), mean=1.0))
    narrow = cyclic_obsolescence(rates, template, Gamma(shape=shape + 1.0, mean=1.0))
    short = cyclic_obsolescence(rates, template, Gamma(shape=float(shape), mean=factor))
    assert np.all(narrow <= wide * (1 + 1e-12))
    assert np.all(short <= wide * (1 + 1e-12))


def test_expansions_after_lemma_4_1() -> None:
    """At f -> 0: nu h / (mu (1 - h)) f²; at f -> 1: (nu h / mu) (h - 1 - ln h) (1 - f).

    Printed are nu h / mu f² and (nu h / mu) (1 + ln h) (f - 1), which can be negative.
    """
    mu = 0.7
    law = ERLANG
    h = float(transform(law, mu))

    def gap(f: Any) -> float:
        random = randomized_obsolescence([mu], [f], law)[0]
        return float(random - equal_spacing_bound([mu], [f], law)[0])

    assert gap(1e-5) / 1e-10 == pytest.approx(h / (mu * (1 - h)), rel=1e-3)
    assert gap(1 - 1e-6) / 1e-6 == pytest.approx(h / mu * (h - 1 - math.log(h)), rel=1e-3)
    assert abs(gap(1e-5) / 1e-10 / (h / mu) - 1) > 0.5
    assert abs(gap(1 - 1e-6) / 1e-6 / (-h / mu * (1 + math.log(h))) - 1) > 0.5
