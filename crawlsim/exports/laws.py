"""How each tool writes a law of times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from analytic.machinery.phase_type import as_phase_type, has_phases, phase_count
from scenarios.laws import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Mixture,
    Pareto,
    PhaseType,
    Uniform,
    Weibull,
)

MOST_NUMBERS = 1000
"""Numbers of one law that a program still shows."""

Writers: TypeAlias = Mapping[type[Distribution], Callable[[Any], str]]


def matrix_text(matrix: Any) -> str:
    """A matrix as a list of lists of numbers that read back as they are."""
    return repr(np.asarray(matrix, dtype=float).tolist())


def gaps_text(D0: Any, D1: Any) -> str:
    """The arguments that a Markovian arrival process has in all tools."""
    return f"{matrix_text(D0)}, {matrix_text(D1)}"


def _scale(law: Gamma | Erlang) -> float:
    return law.mean / law.shape_parameter


def _phases_of_simpy(law: Distribution) -> str:
    phases = as_phase_type(law)
    assert phases is not None
    return f"markovian({gaps_text(phases.generator, np.outer(phases.exit_rates, phases.start))})"


def _phases_of_ciw(law: Distribution) -> str:
    phases = as_phase_type(law)
    assert phases is not None
    order = len(phases.start)
    chain = np.zeros((order + 1, order + 1))
    chain[:order] = np.column_stack([phases.generator, phases.exit_rates])
    start = [*phases.start.tolist(), 0.0]
    return f"ciw.dists.PhaseType(initial_state={start}, absorbing_matrix={matrix_text(chain)})"


def _phases_of_line(law: Distribution) -> str:
    phases = as_phase_type(law)
    assert phases is not None
    return f"PH({phases.start.tolist()}, {matrix_text(phases.generator)})"


def _drawn(expression: str) -> str:
    return f"lambda: {expression}"


def _lognormal(call: str) -> Callable[[Lognormal], str]:
    return lambda law: call.format(*law.of_logarithm)


SIMPY: Writers = {
    Deterministic: lambda law: _drawn(f"{law.value!r}"),
    Exponential: lambda law: _drawn(f"random.expovariate({law.intensity!r})"),
    Erlang: lambda law: _drawn(f"random.gammavariate({law.shape}, {_scale(law)!r})"),
    Gamma: lambda law: _drawn(f"random.gammavariate({law.shape_parameter!r}, {_scale(law)!r})"),
    Hyperexponential: lambda law: _drawn(
        f"random.expovariate(random.choices({list(law.rates)}, {list(law.probabilities)})[0])"
    ),
    PhaseType: _phases_of_simpy,
    Lognormal: lambda law: _drawn(_lognormal("random.lognormvariate({!r}, {!r})")(law)),
    Weibull: lambda law: _drawn(f"random.weibullvariate({law.scale!r}, {law.shape_parameter!r})"),
    Pareto: lambda law: _drawn(f"{law.least!r} * random.paretovariate({law.shape_parameter!r})"),
    Uniform: lambda law: _drawn("random.uniform({!r}, {!r})".format(*law.ends)),
    Empirical: lambda law: _drawn(f"random.choice({list(law.observations)})"),
    Mixture: lambda law: _drawn(
        f"random.choices([{_parts(law, SIMPY)}], {list(law.probabilities)})[0]()"
    ),
}
"""Functions of nothing that draw the next time, with Python's own `random`."""

CIW: Writers = {
    Deterministic: lambda law: f"ciw.dists.Deterministic(value={law.value!r})",
    Exponential: lambda law: f"ciw.dists.Exponential(rate={law.intensity!r})",
    Erlang: lambda law: f"ciw.dists.Erlang(rate={law.shape / law.mean!r}, num_phases={law.shape})",
    Gamma: lambda law: f"ciw.dists.Gamma(shape={law.shape_parameter!r}, scale={_scale(law)!r})",
    Hyperexponential: lambda law: (
        f"ciw.dists.HyperExponential(rates={list(law.rates)}, probs={list(law.probabilities)})"
    ),
    PhaseType: _phases_of_ciw,
    Lognormal: _lognormal("ciw.dists.Lognormal(mean={!r}, sd={!r})"),
    Weibull: lambda law: f"ciw.dists.Weibull(scale={law.scale!r}, shape={law.shape_parameter!r})",
    Uniform: lambda law: "ciw.dists.Uniform(lower={!r}, upper={!r})".format(*law.ends),
    Empirical: lambda law: f"ciw.dists.Empirical({list(law.observations)})",
    Mixture: lambda law: (
        f"ciw.dists.MixtureDistribution([{_parts(law, CIW)}], {list(law.probabilities)})"
    ),
}

LINE: Writers = {
    Exponential: lambda law: f"Exp({law.intensity!r})",
    Erlang: lambda law: f"Erlang.fit_mean_and_order({law.mean!r}, {law.shape})",
    Hyperexponential: _phases_of_line,
    PhaseType: _phases_of_line,
    Mixture: _phases_of_line,
}

LINE_WITHOUT_PHASES: Writers = {
    Deterministic: lambda law: f'{{"type": "det", "d": {law.value!r}}}',
    Gamma: lambda law: (
        f'{{"type": "gamma", "alpha": {law.shape_parameter!r}, "theta": {_scale(law)!r}}}'
    ),
}
"""Services of one server, as LINE's `qsys_mapg1k` takes them."""


def _parts(law: Mixture, writers: Writers) -> str:
    return ", ".join(writers[type(each.simplest)](each.simplest) for each in law.of)


def written(law: Distribution, writers: Writers) -> str | None:
    """A law in the words of a tool; None where the tool has none for it, or it is too long."""
    simplest = law.simplest
    parts: Sequence[Distribution] = simplest.of if isinstance(simplest, Mixture) else ()
    known = all(type(each.simplest) in writers for each in (simplest, *parts))
    if not known or _numbers(simplest) > MOST_NUMBERS:
        return None
    if isinstance(simplest, Mixture) and writers is LINE and not has_phases(simplest):
        return None
    return writers[type(simplest)](simplest)


def _numbers(law: Distribution) -> int:
    if isinstance(law, Empirical):
        return len(law.observations)
    if isinstance(law, Mixture):
        return sum(_numbers(each) for each in law.of)
    if isinstance(law, PhaseType | Hyperexponential):
        return (phase_count(law) or math.isqrt(MOST_NUMBERS)) ** 2
    return 1
