"""From a trace to a fit, and from a fit to a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from analytic.index.targets import resolve
from analytic.transient.start_up import needed_warmup
from crawlsim.logs.fit.crawl_logs import fit_crawls
from crawlsim.logs.fit.deliveries import fit_of_deliveries
from crawlsim.logs.fit.page_changes import fit_pages
from crawlsim.logs.fit.result import Fit, Options, rows_in_window
from crawlsim.logs.fit.sizes import fit_of_sizes
from crawlsim.logs.fit.source_changes import fit_source
from crawlsim.logs.fit.trace import UNITS, Trace
from scenarios import Scenario, ScenarioError, scenario_from
from scenarios.base import listed, nearest, one_of
from scenarios.errors import MISSING
from scenarios.text import counted, visible

Fitter = Callable[[Trace, Options], Fit]

_FITTERS: Mapping[str, Mapping[str, Fitter]] = {
    "changes": {"pages": fit_pages, "source": fit_source},
    "crawls": {"pages": fit_crawls},
    "deliveries": {"deliveries": fit_of_deliveries},
    "sizes": dict.fromkeys(("service", "obsolescence", "access_time"), fit_of_sizes),
}
"""Kind of trace -> section of a scenario that it can give -> how; the first is the default."""

_WINDOW = ("changes", "crawls", "deliveries")
_GOES_WITH: Mapping[str, tuple[str, ...]] = {
    "since": _WINDOW,
    "until": _WINDOW,
    "shortest": ("pages",),
    "pieces": ("source",),
    "breaks": ("source",),
    "period": ("source",),
    "batch_gap": ("deliveries",),
    "longest_gap": ("deliveries",),
    "process": ("deliveries",),
    "rate": ("sizes",),
    "mean": ("sizes",),
    "rates": ("crawls",),
    "signals": ("crawls",),
}
"""Option -> kinds of traces or sections to which it applies."""

RATES = ("posterior", "likelihood")
"""Estimators of the change rates of a crawl log."""

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
    if options.rates not in (None, *RATES):
        raise ScenarioError("--rates", options.rates, f"must be {one_of(options.rates, RATES)}")
    fitters = _FITTERS[trace.kind]
    section = options.section
    if section is None:
        one_page = trace.kind == "changes" and len(trace.pages) == 1
        section = "source" if one_page else next(iter(fitters))
    if section not in fitters:
        allowed = (
            f"must be {listed(fitters)} for a trace of {trace.kind}{nearest(section, fitters)}"
        )
        raise ScenarioError("--section", section, allowed)
    for name, where in _GOES_WITH.items():
        value = getattr(options, name)
        if value is not None and not {trace.kind, section} & set(where):
            option = "--" + name.replace("_", "-")
            shown = MISSING if name == "signals" else value
            raise ScenarioError(option, shown, f"does not go with {section} from {trace.kind}")
    try:
        fitted = fitters[section](rows_in_window(trace, options), replace(options, section=section))
    except ScenarioError:
        raise
    except ValueError as error:
        rows = f"{counted(trace.rows, 'row')} of {trace.kind}"
        raise ScenarioError("trace", rows, str(error)) from None
    return replace(fitted, notes=(*trace.doubts, *fitted.notes))


def fitted_scenario(fitted: Fit, name: str, into: Scenario | None = None) -> Scenario:
    """The scenario with the fitted part in place.

    Parameters
    ----------
    fitted : Fit
    name : str
        Of a new scenario.
    into : Scenario, optional
        Whose part is replaced; without it the smallest possible scenario is made around the fit,
        with a warm-up that suits it.

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
    title = f"Fitted to {counted(fitted.trace.rows, 'row')} of {fitted.kind}"
    made = scenario_from({"name": name, "title": title, "time_unit": unit, **fitted.system})
    made = made.with_(_names(fitted))
    if made.pages is None or made.pages.count > _MOST_PAGES:
        return made
    needed = needed_warmup(resolve(made))  # until the page accessed most rarely forgets its start
    if needed <= made.run.warmup:
        return made
    return made.with_({"run.horizon": 21 * needed, "run.warmup": needed})


def _names(fitted: Fit) -> dict[str, Any]:
    """The names of the pages, as a change of a scenario that gets their rates."""
    if fitted.section != "pages":
        return {}
    rates = [each for each in fitted.parameters if each.name == "change_rate"]
    return {"pages.names": [visible(str(each.subject)) for each in rates]}


def _replaced(fitted: Fit, into: Scenario) -> Scenario:
    """The scenario with the fitted part; shares of fewer robots stay as the scenario has them.

    Raises
    ------
    ScenarioError
        If the fitted part does not go into it, with what it lacks and what to do.
    """
    changes: dict[str, Any] = {**fitted.changes, **_names(fitted)}
    deliveries = into.as_file().get("robots", {}).get("deliveries", {})
    keep = deliveries.get("thinned", {}).get("keep") if isinstance(deliveries, dict) else None
    if keep is not None and "robots.deliveries" in changes:
        changes["robots.deliveries"] = {
            "thinned": {**changes["robots.deliveries"]["thinned"], "keep": keep}
        }
    try:
        return into.with_(changes)
    except ScenarioError as error:
        keys = listed(sorted(fitted.changes))
        table = keys.partition(".")[0]
        entry = f"{error.key} {error.allowed}".strip()
        if table in into.as_file():
            why = f"cannot take the fitted {keys}: {entry}; change it"
        else:
            why = (
                f"has no [{table}] that the fitted {keys} could go into: {entry}; give one with "
                f"[{table}] and all that it needs"
            )
        allowed = f"{why}, or leave --into out for a new one"
        raise ScenarioError("--into", into.name, allowed) from None


def replaced_keys(before: Scenario, after: Scenario) -> tuple[list[str], list[str]]:
    """The entries of a scenario that have changed, and those that are gone.

    Returns
    -------
    replaced, left_out : list of str
        Dotted keys, as deep as an entry of a table. An entry is left out where the fitted one is
        another way to say the same, as deliveries are for access times.
    """
    old, new = (
        {
            f"{name}.{key}" if key else name: value
            for name, table in scenario.as_file().items()
            for key, value in (table.items() if isinstance(table, dict) else [("", table)])
        }
        for scenario in (before, after)
    )
    return [key for key in new if new[key] != old.get(key)], [key for key in old if key not in new]
