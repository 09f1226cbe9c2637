"""The logs and the estimator of schedules for `crawlsim fit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from crawlsim.logs.fit.change_rates import groups_of
from crawlsim.logs.fit.crawl_logs import in_order
from crawlsim.logs.fit.intervals import parameters_of
from crawlsim.logs.fit.page_changes import pages_around
from crawlsim.logs.fit.reading import UNITS, Trace, read_trace
from crawlsim.logs.fit.result import Fit, Options
from crawlsim.logs.fit.to_scenario import fit
from crawlsim.logs.plan.gone import PAGE, states_of
from crawlsim.logs.plan.planning import forecast_of
from crawlsim.logs.read.columns import MONDAY
from crawlsim.logs.read.csv_lines import Broken, blocks, fields_of
from crawlsim.logs.read.gaps import gaps_of_visits
from crawlsim.logs.read.log import ChangeLog, VisitLog
from crawlsim.logs.read.named import NAMES
from crawlsim.logs.read.read import form_of_file, read_logs
from scenarios import ScenarioError
from scenarios.base import one_of
from scenarios.text import counted

if TYPE_CHECKING:
    from crawlsim.logs.fit.reading import Kind

_KINDS_OF_LOGS: Mapping[str | None, Literal["visits", "changes"]] = {
    "crawls": "visits",
    "changes": "changes",
}

RATES = ("posterior", "likelihood")
"""Estimators of the change rates of a crawl log."""


def read_traces(
    paths: Sequence[str | Path], kind: Kind | None = None, time_unit: str | None = None
) -> Trace:
    """The trace in a CSV file, or the history in logs of crawlers of any format.

    Parameters
    ----------
    paths : sequence of str or Path
    kind, time_unit : str, optional
        As of `crawlsim.fitting.read_trace`.

    Raises
    ------
    ScenarioError
        If a file cannot be read, or they do not go together.
    """
    of_pages = kind in (None, "changes", "crawls")
    if len(paths) == 1 and not (of_pages and _is_log(Path(paths[0]))):
        return read_trace(paths[0], kind, time_unit)
    if not of_pages:
        raise ScenarioError("--kind", kind, "is read from one CSV file; logs are crawls or changes")
    log = read_logs(paths, kind=_KINDS_OF_LOGS.get(kind))
    if isinstance(log, VisitLog) and kind == "changes":
        raise ScenarioError("--kind", kind, "the logs hold digests, so these are crawls")
    return trace_of(log, time_unit)


def _is_log(path: Path) -> bool:
    """Whether a file is a log of a crawler: of a known format, and if it is CSV, with URLs."""
    try:
        if not path.is_file():  # a pipe is read only once
            return path.is_dir()
        if form_of_file(path) != "csv":
            return True
        first = next(blocks(path)).text.partition(b"\n")[0]
        names = [name.strip().lower() for name in fields_of(first)]
    except (ScenarioError, OSError, StopIteration, ValueError):
        return False
    answers = {*NAMES["status"], *NAMES["mime"], *NAMES["method"]} & set(names)
    return bool(answers) or ("url" in names and "page" not in names)


def trace_of(log: VisitLog | ChangeLog, time_unit: str | None = None) -> Trace:
    """A log of visits or changes as the trace that `crawlsim.fitting.fit` takes.

    Raises
    ------
    ScenarioError
        If the unit is none of time.
    """
    unit = time_unit or "day"
    doubts = log.notes
    if isinstance(log, VisitLog):
        states = states_of(log)
        gone = int((states != PAGE).sum())
        if gone:
            log = log.of_pages(np.flatnonzero(states == PAGE))
            doubts += (f"Left out, since no longer a page: {counted(gone, 'URL')}.",)
    if unit not in UNITS:
        raise ScenarioError("--time-unit", unit, f"must be {one_of(unit, UNITS)}")
    kind: Kind = "crawls" if isinstance(log, VisitLog) else "changes"
    return Trace(
        kind=kind,
        values=(log.time + MONDAY) / UNITS[unit],
        page=log.page,
        pages=tuple(log.urls.tolist()),
        changed=log.changed if isinstance(log, VisitLog) else np.empty(0, np.bool_),
        dated=True,
        time_unit=unit,
        broken=Broken(),
        doubts=doubts,
    )


def fit_with_rates(trace: Trace, options: Options, rates: str | None = None) -> Fit:
    """The fit of a trace; of crawls with the rates that schedules use, or the most likely ones.

    Parameters
    ----------
    trace : Trace
    options : Options
    rates : {"posterior", "likelihood"}, optional
        Default: posterior for crawls, which no other trace has.

    Raises
    ------
    ScenarioError
        If the trace says too little, or an option does not go with it.
    """
    if rates not in (None, *RATES):
        raise ScenarioError("--rates", rates, f"must be {one_of(rates, RATES)}")
    if rates == "likelihood" or (rates is None and trace.kind != "crawls"):
        return fit(trace, options)
    if options.shortest is None:
        options = replace(options, shortest=0.0)
    return with_posterior_rates(fit(trace, options))


def with_posterior_rates(fitted: Fit) -> Fit:
    """The fit of a crawl log with the rates that schedules use, in place of the most likely ones.

    Parameters
    ----------
    fitted : Fit
        Of crawls.

    Raises
    ------
    ScenarioError
        If it is of another kind.

    Notes
    -----
    Posterior means under a prior that the pages of a host and folder share, with 95 % intervals;
    of pages that were seldom crawled they are much nearer to the true rates.
    """
    if fitted.kind != "crawls":
        raise ScenarioError("--rates", "posterior", f"is for logs of crawls, not of {fitted.kind}")
    trace = fitted.trace
    index = fitted.details.index
    page, time, changed = in_order(trace.page, trace.values, trace.changed)
    kept = np.isin(page, index)
    page = np.searchsorted(index, page[kept]).astype(np.int32)
    urls = np.array([trace.pages[each] for each in index.tolist()], object)
    scale = UNITS.get(trace.time_unit, 1.0)
    log = VisitLog(urls, page, time[kept] * scale, changed[kept])
    gaps = gaps_of_visits(log)
    estimates = forecast_of(gaps, groups_of(urls), 1 / float(gaps.length.mean())).estimates
    rates, low, high = (each * scale for each in (estimates.rates, estimates.low, estimates.high))
    others = tuple(each for each in fitted.parameters if each.name != "change_rate")
    values = rates.tolist()
    return replace(
        fitted,
        parameters=(*parameters_of("change_rate", urls.tolist(), rates, low, high), *others),
        summary={
            **fitted.summary,
            "median_rate": float(np.median(rates)),
            "largest_rate": float(rates.max()),
        },
        notes=(
            "The change rates are posterior means under a prior that the pages of a host and "
            "folder share, as in a schedule; the notes below are on the most likely rates.",
            *fitted.notes,
        ),
        changes={"pages.change_rates": values},
        system=pages_around(values),
    )
