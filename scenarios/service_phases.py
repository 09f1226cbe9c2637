"""The phases of a service that a rule may look at."""

from __future__ import annotations

from scenarios.laws import Erlang, Hyperexponential, PhaseType


def seen_phases(service: object) -> PhaseType | None:
    """A service as its phases have it, where it has several; None where a rule sees none.

    Hyperexponential services are in one phase from the beginning to the end, those of an Erlang law
    in one after the other.
    """
    if isinstance(service, Hyperexponential):
        rates = service.rates
        rows = [
            [-rate if a == b else 0.0 for b in range(len(rates))] for a, rate in enumerate(rates)
        ]
        return _phases(list(service.probabilities), rows)
    if isinstance(service, Erlang):
        rate = service.shape / service.mean
        steps = range(service.shape)
        rows = [[{0: -rate, 1: rate}.get(b - a, 0.0) for b in steps] for a in steps]
        return _phases([1.0, *[0.0] * (service.shape - 1)], rows)
    return service if isinstance(service, PhaseType) and len(service.alpha) > 1 else None


def _phases(alpha: list[float], rows: list[list[float]]) -> PhaseType | None:
    if len(alpha) == 1:
        return None
    return PhaseType(alpha=tuple(alpha), T=tuple(map(tuple, rows)))
