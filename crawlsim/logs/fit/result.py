"""What may be asked of a fit, what a fit is, and the units of its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from crawlsim.logs.fit.intervals import Parameter
from crawlsim.logs.fit.trace import Trace, read_instant
from crawlsim.logs.read.log import NumberLog
from crawlsim.logs.read.signals import SignalLog
from scenarios import ScenarioError


@dataclass(frozen=True)
class Options:
    """What may be asked of a fit; None is the default of each kind.

    Attributes
    ----------
    section : str, optional
        Which part of a scenario is fitted: "pages" or "source" from changes; "service",
        "obsolescence" or "access_time" from sizes.
    since, until : str, optional
        Window of changes, crawls or deliveries, as dates or numbers.
    shortest : float, optional
        Pages watched for less are left out.
    pieces : int, optional
        Equal pieces of the period.
    breaks : sequence of float, optional
        Where pieces begin instead.
    period : float, optional
        Of the rate of a source; default a week.
    batch_gap, longest_gap : float, optional
        Largest gap within a batch of deliveries, and between deliveries.
    process : str, optional
        Of the batches: "poisson", "renewal", "map" or "mmpp".
    rate, mean : float, optional
        Size that is worked off per unit time, or mean time: sizes become times.
    robots : int
        Of the scenario that deliveries are for.
    rates : {"posterior", "likelihood"}, optional
        Change rates from crawls: under the prior of schedules, the default, or the most likely.
    signals : SignalLog, optional
        Beside crawls: what they are worth is fitted too.
    """

    section: str | None = None
    since: str | None = None
    until: str | None = None
    shortest: float | None = None
    pieces: int | None = None
    breaks: Sequence[float] | None = None
    period: float | None = None
    batch_gap: float | None = None
    longest_gap: float | None = None
    process: str | None = None
    rate: float | None = None
    mean: float | None = None
    robots: int = 1
    rates: str | None = None
    signals: SignalLog | None = None


@dataclass(frozen=True)
class Fit:
    """Parameters with error bars, what to think of them, and where they go in a scenario.

    Attributes
    ----------
    kind, section : str
        What the trace holds, and which part of a scenario comes out.
    trace : Trace
    parameters : tuple of Parameter
        The fitted numbers with 95 % intervals.
    summary : mapping
        Other numbers, such as tests: plain values for JSON.
    notes : tuple of str
        Verdicts and warnings, each a sentence or two.
    changes : mapping
        Key of a scenario file -> fitted value.
    system : mapping
        The other entries of a smallest scenario around it.
    details : object
        What the figures are drawn from.
    """

    kind: str
    section: str
    trace: Trace
    parameters: tuple[Parameter, ...]
    summary: Mapping[str, Any]
    notes: tuple[str, ...]
    changes: Mapping[str, Any]
    system: Mapping[str, Any]
    details: Any = field(repr=False, default=None)

    def find(self, name: str, subject: str | int | None = None) -> Parameter:
        """The parameter of a name.

        Raises
        ------
        KeyError
            If there is none.
        """
        for each in self.parameters:
            if (each.name, each.subject) == (name, subject):
                return each
        raise KeyError(f"no parameter {name!r} of {subject!r}")


def window_of(trace: Trace, options: Options) -> tuple[float | None, float | None]:
    """Since and until when to count, as the trace counts time.

    Raises
    ------
    ScenarioError
        If one is not a time, or they are not in order.
    """
    ends: list[float | None] = []
    for name in ("since", "until"):
        text = getattr(options, name)
        try:
            end = None if text is None else read_instant(text, trace.dated, trace.time_unit)
        except ValueError as error:
            raise ScenarioError(f"--{name}", text, str(error)) from None
        ends.append(end)
    since, until = ends
    if since is not None and until is not None and since >= until:
        raise ScenarioError("--until", options.until, f"must be after --since {options.since}")
    return since, until


def rows_in_window(trace: Trace, options: Options) -> Trace:
    """The crawls or deliveries in the window; all changes: the first says when a page was created.

    Raises
    ------
    ScenarioError
        If there are none, or the window is not one.
    """
    if trace.kind not in ("crawls", "deliveries") or (options.since, options.until) == (None, None):
        return trace
    since, until = window_of(trace, options)
    times = trace.values
    inside = np.ones(len(times), dtype=bool)
    if since is not None:
        inside &= times >= since
    if until is not None:
        inside &= times <= until
    if not inside.any():
        option = "since" if options.since is not None else "until"
        raise ScenarioError(f"--{option}", getattr(options, option), "the window holds no row")
    if isinstance(trace.log, NumberLog):
        return replace(trace, log=replace(trace.log, values=trace.log.values[inside]))
    log = trace.log.where(inside)
    return replace(trace, log=log.of_pages(np.unique(log.page).astype(np.int64)))


_RATES = (
    *("change_rate", "bias_reduced_rate", "naive_rate", "update_rate", "mean_update_rate"),
    *("slow_rate", "fast_rate", "rate_of_speeding_up", "rate_of_slowing_down"),
    *("median_rate", "largest_rate", "total_change_rate"),
)
_TIMES = ("mean_gap", "clock_step", "batch_gap", "period")
_UNITS: Mapping[str, str] = {
    **dict.fromkeys(_RATES, "per {unit}"),
    **dict.fromkeys(_TIMES, "{unit}s"),
    "pages_per_time": "pages per {unit}",
    "mean_batch_size": "pages",
    "mean": "as in the file",
    "branch_mean": "as in the file",
}


def unit_of(name: str, time_unit: str) -> str:
    """The unit of a fitted number, empty where it has none.

    Parameters
    ----------
    name : str
        Of a parameter, or of an entry of the summary.
    time_unit : str
        Of the trace.
    """
    return _UNITS.get(name, "").replace("{unit}", time_unit)
