"""The best access frequencies: the equations, extremes, the paper's cases."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from analytic import predict
from analytic.machinery.transforms import complement, log_transform, transform
from analytic.page_refresh import (
    best_random_shares,
    best_shares,
    cyclic_obsolescence,
    erlang_two,
    inverse_excess,
    proportional_bound,
    schedule_bound,
)
from scenarios import load
from scenarios.laws import Deterministic, Exponential, Gamma, Uniform

getcontext().prec = 60

ERLANG = Gamma(shape=2.0, mean=1.0)
LAWS = [Deterministic(value=1.0), Exponential(mean=0.5), ERLANG, Uniform(low=0.0, high=3.0)]

numbers = st.floats(1e-2, 10.0)
problems = st.lists(st.tuples(numbers, numbers), min_size=2, max_size=7).map(
    lambda pairs: (np.array(pairs)[:, 0], np.array(pairs)[:, 1])
)


@pytest.mark.parametrize("value", np.logspace(-9, 6, 31).tolist())
def test_the_inverse_keeps_all_digits(value: float) -> None:
    u = Decimal(value)
    v = float(u - (1 + u).ln())
    assert inverse_excess(v) == pytest.approx(value, rel=1e-15)


@settings(max_examples=examples(60))
@given(problems, st.sampled_from(LAWS))
def test_the_optimum_meets_its_equations(problem: Any, law: Any) -> None:
    """``w P(2, l / x)`` is one number over the visited pages, and no w of another is above it."""
    rates, weights = problem
    shares = best_shares(rates, weights, law)
    w = weights / rates
    seen = shares > 0
    multiplier = w[seen] * erlang_two(log_transform(law, rates[seen]) / shares[seen])
    assert shares.sum() == pytest.approx(1, abs=1e-14)
    assert multiplier == pytest.approx(np.full(seen.sum(), multiplier[0]), rel=1e-9)
    assert np.all(w[~seen] <= multiplier.max() * (1 + 1e-12))


@settings(max_examples=examples(40))
@given(problems, st.sampled_from(LAWS))
def test_the_best_random_choices_meet_theirs(problem: Any, law: Any) -> None:
    """(12)-(15) with the active set: equal slopes ``w b² / (b + x)²``."""
    rates, weights = problem
    shares = best_random_shares(rates, weights, law)
    w = weights / rates
    b = 1 / transform(law, rates) - 1
    seen = shares > 0
    slopes = w * (b / (b + shares)) ** 2
    assert slopes[seen] == pytest.approx(np.full(seen.sum(), slopes[seen][0]), rel=1e-9)
    assert np.all(slopes[~seen] <= slopes[seen].max() * (1 + 1e-9))


def test_the_printed_formulas_without_an_active_set_are_refuted() -> None:
    """(13) for all pages gives a negative frequency here; the optimum is 0 there, and cheaper."""
    rates = np.array([2.0, 1.0, 1.0])
    weights = np.array([0.05, 1.0, 1.0])
    b = 1 / transform(ERLANG, rates) - 1
    w = weights / rates
    printed = b * (np.sqrt(w) * (1 + b.sum()) / (np.sqrt(w) @ b) - 1)
    assert printed.sum() == pytest.approx(1)
    assert printed[0] < 0
    assert best_random_shares(rates, weights, ERLANG) == pytest.approx([0.0, 0.5, 0.5])


def test_pages_of_little_weight_by_change_rate_are_left_out() -> None:
    """The companion paper's Remark 6.1 has it the wrong way round: c / mu SMALL is left out."""
    rates = np.ones(3)
    law = Exponential(mean=1.0)
    assert best_shares(rates, [0.05, 1.0, 1.0], law) == pytest.approx([0.0, 0.5, 0.5])
    assert best_shares(rates, [20.0, 1.0, 1.0], law).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_weights_as_change_rates_have_the_closed_forms(law: Any) -> None:
    """Theorem 3.4 and (10), (11), (16)."""
    rates = np.array([0.7, 0.2, 0.05, 3.0])
    exponent = log_transform(law, rates)
    b = 1 / transform(law, rates) - 1
    assert best_shares(rates, 2 * rates, law) == pytest.approx(exponent / exponent.sum(), rel=1e-12)
    assert best_random_shares(rates, 2 * rates, law) == pytest.approx(b / b.sum(), rel=1e-12)
    assert schedule_bound(rates, rates, law) == pytest.approx(proportional_bound(rates, law))
    mean = {Exponential: 0.5, Uniform: 1.5}.get(type(law), 1.0)
    printed = rates.sum() - (1 - np.prod(1 - complement(law, rates))) / mean
    assert proportional_bound(rates, law) == pytest.approx(printed, rel=1e-12)


def test_the_bound_is_attained_where_distances_can_be_equal() -> None:
    """Shares 1/2, 1/4, 1/4 and the schedule 0 1 0 2."""
    law = Deterministic(value=1.0)
    rates = np.array([0.2, 0.1, 0.1])
    cost = rates @ cyclic_obsolescence(rates, [0, 1, 0, 2], law)
    assert cost == pytest.approx(proportional_bound(rates, law), rel=1e-13)
    assert rates @ cyclic_obsolescence(rates, [0, 0, 1, 2], law) > cost * 1.01


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 50.0, 1e4])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_no_digit_is_lost_at_tiny_and_huge_rates(scale: float, law: Any) -> None:
    rates = scale * np.array([1.0, 2.0, 5.0])
    for weights in (rates, np.ones(3), np.array([1.0, 4.0, 5.0]) * scale):
        for find in (best_shares, best_random_shares):
            shares = find(rates, weights, law)
            assert shares.sum() == pytest.approx(1, abs=1e-14)
            assert np.all(shares >= 0)
    if scale <= 1e-6:  # l ~ mu m, and frequencies go as the square root of c mu (P ~ u² / 2)
        roots = np.sqrt(rates) / np.sqrt(rates).sum()
        assert best_shares(rates, np.ones(3), law) == pytest.approx(roots, rel=30 * scale)


def test_digits_of_the_bound_for_slow_pages() -> None:
    """60 digits of (10) as printed, at mu = 1e-9: there 1 - e^-x would leave no digit."""
    rates = [Decimal("1e-9"), Decimal("3e-9")]
    transforms = [(1 + mu / 2) ** -2 for mu in rates]
    printed = sum(rates) - (1 - transforms[0] * transforms[1])
    found = proportional_bound([1e-9, 3e-9], ERLANG)
    assert found == pytest.approx(float(printed), rel=1e-13)


def test_many_pages_and_pages_that_ask_for_nothing() -> None:
    generator = np.random.default_rng(5)
    rates = generator.gamma(1.0, size=100_000) / 1e5
    weights = generator.random(100_000)
    shares = best_shares(rates, weights, ERLANG)
    seen = shares > 0
    multiplier = weights[seen] / rates[seen]
    multiplier *= erlang_two(log_transform(ERLANG, rates[seen]) / shares[seen])
    assert 0.02 < (~seen).mean() < 0.5
    assert np.ptp(multiplier) <= 1e-9 * multiplier.mean()
    assert best_shares([0.0, 1.0, 1.0], [1.0, 0.0, 2.0], ERLANG).tolist() == [0.0, 0.0, 1.0]
    assert best_shares([0.0, 0.0], [1.0, 1.0], ERLANG).tolist() == [0.5, 0.5]
    assert best_random_shares([0.0, 0.0], [1.0, 1.0], ERLANG).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_rates_and_weights_that_are_none_are_refused(wrong: float) -> None:
    for find in (best_shares, best_random_shares):
        with pytest.raises(ValueError, match="must be finite and >= 0"):
            find([1.0, wrong], [1.0, 1.0], ERLANG)
        with pytest.raises(ValueError, match="must be finite and >= 0"):
            find([1.0, 1.0], [1.0, wrong], ERLANG)


def test_solve_gives_the_bound_over_all_schedules() -> None:
    """One of Theorem 3.4 and (7), the other says why not; for random choices their own as well."""
    scenario = load("randomized-erlang")
    for weights, source, other in (
        ("change-rate", "coffman1998 Theorem 3.4", "coffman1998 (7)"),
        ("uniform", "coffman1998 (7)", "coffman1998 Theorem 3.4"),
    ):
        made = scenario.with_("pages.weights", weights)
        predictions, others = predict(made)
        rows = {each.source: each for each in predictions if each.measure[0] == "w"}
        reasons = {each.source: each.reason for each in others}
        assert rows[source].kind == "lower bound"
        assert "proportional to change rates" in reasons[other]
        exact = rows["coffman1998 Lemma 4.1"].value
        assert rows[source].value < rows["coffman1998 (12)-(15)"].value <= exact * (1 + 1e-12)
