"""The phases of a service that a rule may look at."""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.laws import Erlang, Exponential, Hyperexponential, Law, Mixture, PhaseType


def seen_phases(service: object) -> PhaseType | None:
    """A service as its phases have it, where it has several; None where a rule sees none.

    Hyperexponential services are in one phase from the beginning to the end, those of an Erlang law
    in one after the other, and those of a mixture in the phases of the law that was drawn.
    """
    phases = _phases(service.simplest) if isinstance(service, Law) else None
    return None if phases is None or len(phases.alpha) == 1 else phases


def _phases(law: Law) -> PhaseType | None:
    """The phases of a law, also where there is only one; None where it has none."""
    if isinstance(law, Exponential):
        rate = 1.0 / law.mean if law.mean else law.rate
        return PhaseType(alpha=(1.0,), T=((-(rate or 0.0),),))
    if isinstance(law, Hyperexponential):
        return _beside(law.probabilities, [_phases(Exponential(rate=rate)) for rate in law.rates])
    if isinstance(law, Mixture):
        return _beside(law.probabilities, [_phases(each.simplest) for each in law.of])
    if isinstance(law, Erlang):
        rate = law.shape / law.mean
        steps = range(law.shape)
        rows = tuple(tuple({0: -rate, 1: rate}.get(b - a, 0.0) for b in steps) for a in steps)
        return PhaseType(alpha=(1.0, *[0.0] * (law.shape - 1)), T=rows)
    return law if isinstance(law, PhaseType) else None


def _beside(probabilities: Sequence[float], laws: Sequence[PhaseType | None]) -> PhaseType | None:
    """The phases of a mixture of laws; None where one of them has none."""
    known = [law for law in laws if law is not None]
    if len(known) < len(laws):
        return None
    alpha: list[float] = []
    rows: list[tuple[float, ...]] = []
    order = sum(len(law.alpha) for law in known)
    for probability, law in zip(probabilities, known, strict=True):
        before = len(rows)
        alpha += [probability * share for share in law.alpha]
        after = order - before - len(law.alpha)
        rows += [(*[0.0] * before, *row, *[0.0] * after) for row in law.T]
    return PhaseType(alpha=tuple(alpha), T=tuple(rows))
