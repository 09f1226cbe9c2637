"""Cycles of a page with signals: against draws, another equation, and limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammainc, lambertw
from systems import signals_with

from analytic.signals import crawl_values, cycles, cycles_at, signal_worths
from analytic.signals.cycles import _FORGOTTEN, _signals_forgotten
from scenarios.arrays import Array
from scenarios.signals import SignalRates

CASES = [
    # change rate, precision, recall, level
    (1.0, 0.4, 0.6, 1.7),
    (2.0, 0.2, 0.5, 2.0),
    (0.5, 0.9, 0.9, 30.0),
    (1.0, 0.05, 0.3, 1.0),
    (1.0, 1.0, 0.5, 3.0),
    (3.0, 0.3, 0.8, 0.1),
]


def drawn_cycles(signals: SignalRates, level: float, number: int, seed: int) -> tuple[Array, Array]:
    """Lengths and fresh parts of so many cycles of one page, event by event."""
    stream = np.random.default_rng(seed)
    silent, true, false = (float(each[0]) for each in signals)
    precision = float(signals.precision[0])
    worth = -np.log1p(-precision) / silent if precision < 1 else np.inf
    state, length, fresh_part = np.zeros(number), np.zeros(number), np.zeros(number)
    fresh, going = np.ones(number, dtype=bool), np.ones(number, dtype=bool)
    while going.any():
        step = stream.exponential(1.0 / (silent + true + false), number)
        reached = step >= level - state
        step = np.where(going, np.minimum(step, level - state), 0.0)
        length += step
        fresh_part += step * fresh
        state += step
        which = stream.uniform(0.0, silent + true + false, number)
        fresh &= ~going | reached | (which >= silent + true)
        signalled = going & ~reached & (which >= silent)
        state[signalled] += worth
        going &= ~reached & (state < level)
    return length, fresh_part


def test_the_worked_example() -> None:
    """D = 1, p = 0.4, recall = 0.6, x = 1.7: the fresh share of the contract."""
    found = cycles_at(signals_with(1.0, 0.4, 0.6), np.array([1.7]))
    assert found.fresh_shares[0] == pytest.approx(0.7867, abs=5e-5)


@pytest.mark.parametrize(("change", "precision", "recall", "level"), CASES)
def test_cycles_that_are_drawn(
    change: float, precision: float, recall: float, level: float
) -> None:
    """Twelve means within 4.5 standard errors: a false alarm in 12,000 seeds; 3 % would be seen."""
    signals = signals_with(change, precision, recall)
    found = cycles_at(signals, np.array([level]))
    drawn = drawn_cycles(signals, level, 200_000, seed=7)
    for value, sample in zip(found, drawn, strict=True):
        error = sample.std() / np.sqrt(len(sample))
        assert abs(sample.mean() - value[0]) < 4.5 * error
        assert abs(sample.mean() - 1.03 * value[0]) > 4.5 * error


def renewal_solution(rate: float, again: float, worth: float, times: float, steps: int) -> float:
    """y(x) of ``y' = 1 - rate y + again y(x - worth)``, y = 0 up to 0, by the trapezoidal rule."""
    step = worth / steps
    values = np.zeros(steps + round(times * steps) + 1)  # those up to 0 come first
    for k in range(steps, len(values) - 1):
        source = 1.0 + 0.5 * again * (values[k - steps] + values[k + 1 - steps])
        before = values[k] * (1.0 - 0.5 * rate * step)
        values[k + 1] = (before + step * source) / (1.0 + 0.5 * rate * step)
    return float(values[-1])


@pytest.mark.parametrize(
    ("change", "precision", "recall"), [(1, 0.4, 0.6), (1, 0.05, 0.5), (2, 0.8, 0.8)]
)
def test_the_delay_equations(change: float, precision: float, recall: float) -> None:
    """``T' = 1 - g T + g T(x - b)`` and ``F' = 1 - (a + g) F + nu F(x - b)``, another way.

    A cycle that has lasted a little is one with a level that is less by as much, or by b more.
    """
    signals = signals_with(change, precision, recall)
    worth = float(signal_worths(signals)[0])
    heard, false, silent = (
        float(signals.heard[0]),
        float(signals.false[0]),
        float(signals.silent[0]),
    )
    for times in (0.5, 1.0, 2.5, 7.0):
        found = cycles_at(signals, np.array([times * worth]))
        length = renewal_solution(heard, heard, worth, times, 4000)
        fresh = renewal_solution(silent + heard, false, worth, times, 4000)
        assert found.lengths[0] == pytest.approx(length, rel=2e-6)
        assert found.fresh[0] == pytest.approx(fresh, rel=2e-6)


@pytest.mark.parametrize(("change", "precision", "recall", "level"), CASES)
def test_what_an_access_is_worth_grows_by_the_stale_time(
    change: float, precision: float, recall: float, level: float
) -> None:
    """``V'(x) = w a e^{-a x} T(x)``."""
    signals, weights = signals_with(change, precision, recall), np.array([3.0])
    silent, worth = float(signals.silent[0]), float(signal_worths(signals)[0])
    kinks = [each * worth for each in range(1, 40) if each * worth < level]
    grown = quad(
        lambda x: 3.0 * silent * np.exp(-silent * x) * cycles_at(signals, np.array([x])).lengths[0],
        *(0.0, level),
        points=kinks or None,
    )[0]
    assert crawl_values(signals, weights, np.array([level]))[0] == pytest.approx(grown, rel=1e-9)


def test_limits() -> None:
    levels = np.array([0.7])
    nothing_heard = cycles_at(signals_with(2.0, 0.5, 0.0), levels)
    assert nothing_heard.lengths[0] == 0.7
    assert nothing_heard.fresh[0] == pytest.approx(-np.expm1(-1.4) / 2.0, rel=1e-14)
    always_true = cycles_at(signals_with(2.0, 1.0, 0.5), levels)
    assert always_true.lengths[0] == pytest.approx(-np.expm1(-0.7), rel=1e-14)
    assert always_true.fresh[0] == pytest.approx(-np.expm1(-1.4) / 2.0, rel=1e-14)
    counted = cycles_at(signals_with(2.0, 0.5, 1.0), np.array([3.0]))
    assert counted.lengths[0] == pytest.approx(3.0 / 4.0)
    assert counted.fresh[0] == pytest.approx((1.0 - 0.5**3) / 2.0)
    said_at_once = cycles_at(signals_with(2.0, 1.0, 1.0), np.array([3.0]))
    assert said_at_once.lengths[0] == said_at_once.fresh[0] == 0.5
    for silent_never in (signals_with(2.0, 0.5, 0.5), signals_with(2.0, 1.0, 0.5)):
        for_ever = cycles_at(silent_never, np.array([np.inf]))
        assert for_ever.fresh[0] == pytest.approx(0.5)
    assert np.isinf(cycles_at(signals_with(2.0, 0.5, 0.5), np.array([np.inf])).lengths[0])
    assert cycles_at(signals_with(2.0, 1.0, 0.5), np.array([np.inf])).lengths[0] == 1.0


def test_pages_that_never_change_are_fresh() -> None:
    signals = SignalRates(np.zeros(1), np.zeros(1), np.ones(1))
    found = cycles_at(signals, np.array([1.0]))
    assert found.rates[0] == 0.0
    assert found.fresh_shares[0] == 1.0
    assert crawl_values(signals, np.ones(1), np.array([1.0]))[0] == 0.0


def test_signals_that_are_hardly_ever_true_are_a_clock() -> None:
    """With p to 0 they come so often that tau goes as fast as changes: ``a tau = D t``."""
    change, recall, level = 1.0, 0.5, 3.0
    waited = (1.0 - recall) * level / change
    for precision in (1e-3, 1e-5, 1e-8, 1e-12):
        found = cycles_at(signals_with(change, precision, recall), np.array([level]))
        assert found.lengths[0] == pytest.approx(waited, rel=precision)
        assert found.fresh[0] == pytest.approx(-np.expm1(-change * waited), rel=precision)
    meaningless = SignalRates(np.ones(1), np.zeros(1), np.full(1, 5.0))
    assert cycles_at(meaningless, np.array([3.0])).lengths[0] == 3.0


@pytest.mark.parametrize(
    ("precision", "recall", "age", "within"),
    [
        (0.01, 0.5, 1.0, 1e-13),
        (0.001, 0.9, 5.0, 1e-13),
        (0.3, 0.3, 5.0, 1e-13),
        (0.01, 0.99, 1.0, 1e-4),
    ],
)
def test_far_from_the_last_access(
    precision: float, recall: float, age: float, within: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where signals are many the sums are what they come near to."""
    signals = signals_with(1.0, precision, recall)
    levels = age / signals.silent
    monkeypatch.setattr(cycles, "_FORGOTTEN", np.inf)
    summed = cycles_at(signals, levels)
    monkeypatch.setattr(cycles, "_FORGOTTEN", 0.0)
    limits = cycles_at(signals, levels)
    for each, limit in zip(summed, limits, strict=True):
        assert limit[0] == pytest.approx(each[0], rel=within)
    if within > 1e-5:
        assert limits.lengths[0] != pytest.approx(summed.lengths[0], rel=1e-7)


def test_how_soon_the_last_access_is_forgotten() -> None:
    """The roots of ``z + G (1 - e^{-z}) = 0`` but 0, by Lambert's function, lie where we say."""
    for per_worth in np.geomspace(1e-4, 80.0, 40):
        root = lambertw(per_worth * np.exp(per_worth), 1) - per_worth
        assert abs(root + per_worth * (1.0 - np.exp(-root))) < 1e-9 * max(per_worth, 1.0)
        assert -root.real * _signals_forgotten(per_worth) >= _FORGOTTEN


def test_a_sum_without_its_certain_terms() -> None:
    """Tens of thousands of terms: all of them, one by one."""
    signals = signals_with(1.0, 0.001, 0.6)
    level, worth = 8.0, float(signal_worths(signals)[0])
    silent, heard, false = (
        float(each[0]) for each in (signals.silent, signals.heard, signals.false)
    )
    i = np.arange(np.ceil(level / worth))
    left = level - i * worth
    length = gammainc(i + 1, heard * left).sum() / heard
    both = silent + heard
    fresh = ((false / both) ** i * gammainc(i + 1, both * left)).sum() / both
    found = cycles_at(signals, np.array([level]))
    assert found.lengths[0] == pytest.approx(length, rel=1e-12)
    assert found.fresh[0] == pytest.approx(fresh, rel=1e-12)
