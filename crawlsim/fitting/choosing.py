"""From a trace to a fit, and from a fit to a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from analytic.resolve import resolve
from analytic.start_up import needed_warmup
from crawlsim.fitting.fit import Fit, Options, rows_in_window
from crawlsim.fitting.of_changes import fit_changes
from crawlsim.fitting.of_crawls import fit_crawls
from crawlsim.fitting.of_deliveries import fit_of_deliveries
from crawlsim.fitting.of_sizes import fit_of_sizes
from crawlsim.fitting.trace import UNITS, Trace
from crawlsim.fitting.words import counted
from scenarios import Scenario, ScenarioError, scenario_from
from scenarios.base import listed, nearest

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
    "since": ("changes", "crawls", "deliveries"),
    "until": ("changes", "crawls", "deliveries"),
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


_MOST_PAGES = 1000
"""Pages of a new scenario up to which its warm-up is computed."""


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
        allowed = f"must be {listed(sections)} for a trace of {trace.kind}\
{nearest(options.section, sections)}"
        raise ScenarioError("--section", options.section, allowed)
    section = options.section or _default_section(trace)
    for name, where in _GOES_WITH.items():
        value = getattr(options, name)
        if value is not None and not {trace.kind, section} & set(where):
            option = "--" + name.replace("_", "-")
            raise ScenarioError(option, value, f"does not go with {section} from {trace.kind}")
    found = _FITTERS[trace.kind](rows_in_window(trace, options), options)
    return replace(found, notes=(*trace.doubts, *found.notes))


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
        If the fitted part does not go into that scenario, or is counted in another unit of time.
    """
    unit = fitted.trace.time_unit
    if into is not None:
        if fitted.kind != "sizes" and unit != into.time_unit and {unit, into.time_unit} <= {*UNITS}:
            allowed = f"the trace is counted in {unit}s; read it with this unit"
            raise ScenarioError("time_unit", into.time_unit, allowed)
        return _replaced(fitted, into)
    about = f"Fitted to {counted(fitted.trace.rows, 'row')} of {fitted.kind}"
    made = scenario_from({"name": name, "title": about, "time_unit": unit, **fitted.system})
    return _forgetting_its_start(made)


def _forgetting_its_start(made: Scenario) -> Scenario:
    """The scenario with a warm-up that its most rarely visited page has forgotten its start after.

    And with a window of twenty such times; of very many pages that would take too long.
    """
    if made.pages is None or made.pages.count > _MOST_PAGES:
        return made
    needed = needed_warmup(resolve(made))
    if needed <= made.run.warmup:
        return made
    return made.with_({"run.horizon": 21 * needed, "run.warmup": needed})


def _replaced(fitted: Fit, into: Scenario) -> Scenario:
    """The scenario with the fitted part, or a refusal that says what it lacks and what to do.

    Raises
    ------
    ScenarioError
        If the fitted part does not go into it.
    """
    try:
        return into.with_(_keeping_shares(fitted.changes, into))
    except ScenarioError as error:
        keys = listed(sorted(fitted.changes))
        table = keys.partition(".")[0]
        entry = f"{error.key} {error.allowed}".strip()
        if table in into.as_file():
            why = f"cannot take the fitted {keys}: {entry}"
            what = "change it"
        else:
            why = f"has no [{table}] that the fitted {keys} could go into: {entry}"
            what = f"give one with [{table}] and all that it needs"
        raise ScenarioError(
            "--into", into.name, f"{why}; {what}, or leave --into out for a new one"
        ) from None


def _keeping_shares(changes: Mapping[str, Any], into: Scenario) -> dict[str, Any]:
    """The changes, with the shares that fewer robots deliver as the scenario has them."""
    deliveries = into.as_file().get("robots", {}).get("deliveries", {})
    own = deliveries.get("thinned", {}).get("keep") if isinstance(deliveries, dict) else None
    if own is None or "robots.deliveries" not in changes:
        return dict(changes)
    thinned = {**changes["robots.deliveries"]["thinned"], "keep": own}
    return {**changes, "robots.deliveries": {"thinned": thinned}}


def replaced_keys(before: Scenario, after: Scenario) -> tuple[list[str], list[str]]:
    """The entries of a scenario that have become others, and those that are no longer there.

    Returns
    -------
    replaced, left_out : list of str
        Dotted keys, as deep as an entry of a table. An entry is left out where the fitted one is
        another way to say the same, as deliveries are for access times.
    """
    old, new = (_entries(each) for each in (before, after))
    replaced = [key for key in new if new[key] != old.get(key)]
    return replaced, [key for key in old if key not in new]


def _entries(scenario: Scenario) -> dict[str, Any]:
    """The entries of all tables, by dotted keys."""
    found: dict[str, Any] = {}
    for name, table in scenario.as_file().items():
        inner = table.items() if isinstance(table, dict) else [("", table)]
        found.update({f"{name}.{key}" if key else name: value for key, value in inner})
    return found
