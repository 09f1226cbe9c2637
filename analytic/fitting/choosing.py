"""From a trace to a fit, and from a fit to a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from analytic.fitting.fit import Fit, Options
from analytic.fitting.of_changes import fit_changes
from analytic.fitting.of_crawls import fit_crawls
from analytic.fitting.of_deliveries import fit_of_deliveries
from analytic.fitting.of_sizes import fit_of_sizes
from analytic.fitting.reading import Trace
from scenarios import Scenario, ScenarioError, scenario_from
from scenarios.base import listed

__all__ = ["SECTIONS", "fit", "fitted_scenario"]

_FITTERS: Mapping[str, Callable[[Trace, Options], Fit]] = {
    "changes": fit_changes,
    "crawls": fit_crawls,
    "deliveries": fit_of_deliveries,
    "sizes": fit_of_sizes,
}

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "changes": ("pages", "source"),
    "crawls": ("pages",),
    "deliveries": ("deliveries",),
    "sizes": ("service", "obsolescence", "access_time"),
}
"""Which parts of a scenario each kind of trace can give."""

_GOES_WITH: Mapping[str, tuple[str, ...]] = {
    "since": ("changes",),
    "until": ("changes",),
    "shortest": ("pages",),
    "pieces": ("source",),
    "breaks": ("source",),
    "period": ("source",),
    "batch_gap": ("deliveries",),
    "longest_gap": ("deliveries",),
    "process": ("deliveries",),
    "rate": ("sizes",),
    "mean": ("sizes",),
}


def fit(trace: Trace, options: Options | None = None) -> Fit:
    """Parameters with error bars, and the part of a scenario that they are.

    Parameters
    ----------
    trace : Trace
        Of `read_trace`.
    options : Options, optional

    Raises
    ------
    ScenarioError
        If the trace says too little, or an option does not go with it.
    """
    options = options or Options()
    sections = SECTIONS[trace.kind]
    if options.section is not None and options.section not in sections:
        allowed = f"must be {listed(sections)} for a trace of {trace.kind}"
        raise ScenarioError("--section", options.section, allowed)
    section = options.section or _default_section(trace)
    for name, where in _GOES_WITH.items():
        value = getattr(options, name)
        if value is not None and not {trace.kind, section} & set(where):
            option = "--" + name.replace("_", "-")
            raise ScenarioError(option, value, f"does not go with {section} from {trace.kind}")
    return _FITTERS[trace.kind](trace, options)


def _default_section(trace: Trace) -> str:
    several = trace.kind != "changes" or len(trace.pages) > 1
    return SECTIONS[trace.kind][0 if several else 1]


def fitted_scenario(fitted: Fit, name: str, into: Scenario | None = None) -> Scenario:
    """The scenario with the fitted part in place.

    Parameters
    ----------
    fitted : Fit
    name : str
        Of a new scenario.
    into : Scenario, optional
        Whose part is replaced; without it a smallest one is made around the fit.

    Raises
    ------
    ScenarioError
        If the fitted part does not go into that scenario.
    """
    unit = fitted.trace.time_unit
    if into is not None:
        changes = _keeping_shares(fitted.changes, into)
        if fitted.trace.kind != "sizes" and "time_unit" not in into.model_fields_set:
            changes["time_unit"] = unit
        return into.with_(changes)
    about = f"Fitted to {fitted.trace.rows} rows of {fitted.kind}"
    return scenario_from({"name": name, "title": about, "time_unit": unit, **fitted.system})


def _keeping_shares(changes: Mapping[str, Any], into: Scenario) -> dict[str, Any]:
    """The changes, with the shares that fewer robots deliver as the scenario has them."""
    deliveries = into.as_file().get("robots", {}).get("deliveries", {})
    own = deliveries.get("thinned", {}).get("keep") if isinstance(deliveries, dict) else None
    if own is None or "robots.deliveries" not in changes:
        return dict(changes)
    thinned = {**changes["robots.deliveries"]["thinned"], "keep": own}
    return {**changes, "robots.deliveries": {"thinned": thinned}}
