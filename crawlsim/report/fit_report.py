"""The report of a fit: figures of the data and of what was fitted, and the page that holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from crawlsim.logs.fit.crawl_logs import CrawlRates
from crawlsim.logs.fit.deliveries import DeliveryFit
from crawlsim.logs.fit.intervals import Parameter
from crawlsim.logs.fit.order_two import correlation_bound, gap_correlations
from crawlsim.logs.fit.page_changes import PageChanges
from crawlsim.logs.fit.poisson_verdict import duration
from crawlsim.logs.fit.result import Fit, unit_of
from crawlsim.logs.fit.sizes import SizeFit
from crawlsim.logs.fit.source_changes import SourceChanges
from crawlsim.report.drawing import (
    SIMULATED,
    THEORY,
    integers,
    legend_above,
    logarithmic,
    panel,
    places_of_many,
    plain,
    svg_text,
)
from crawlsim.report.pages import beginning, rendered
from crawlsim.report.words import number
from scenarios import Scenario, dumps
from scenarios.arrays import Array, but_for_rounding, spans_decades
from scenarios.text import counted

_HEIGHT = 3.0
_POINTS = 400
_COLOURS = ("#c24a00", "#00805e", "#7a5195")
_LINES = ("-", "--", ":")
_FEW = 20
_MOST_ROWS = 300
_MOST_UNFOLDED = 50


def plot_change_rates(fit: Fit, ax: Axes | None = None) -> Axes:
    """Change rates in descending order with their 95 % intervals."""
    found = [each for each in fit.parameters if each.name == "change_rate"]
    rates, lower, upper = np.array([(each.estimate, each.low, each.high) for each in found]).T
    ax = panel(ax, "pages, the fastest first", f"changes per {plain(fit.trace.time_unit)}", _HEIGHT)
    place = places_of_many(len(rates)) + 1
    order = np.argsort(-but_for_rounding(rates), kind="stable")[place - 1]
    low = np.maximum(lower[order], rates.min() / 10)
    high = upper[order]
    high = np.where(np.isfinite(high), high, 10 * rates.max())
    ax.vlines(place, low, high, color=SIMULATED, lw=0.7, alpha=0.35, label="95 % interval")
    few = len(rates) <= _FEW
    ax.plot(place, rates[order], "o" if few else "-", color=THEORY, ms=4, lw=1.2, label="rate")
    logarithmic(ax, *("y" if few else "xy"))
    if few:
        ax.set_xlim(0.5, len(order) + 0.5)
        integers(ax)
    legend_above(ax)
    return ax


def plot_intensity(fit: Fit, ax: Axes | None = None) -> Axes:
    """The periodic rate with its 95 % intervals."""
    intensity = fit.details.intensity
    unit = fit.trace.time_unit
    across = f"{plain(unit)}s, from the start of {duration(intensity.period, unit)}"
    ax = panel(ax, across, f"changes per {plain(unit)}", _HEIGHT)
    edges = np.append(intensity.breaks, intensity.period)
    ax.stairs(intensity.high, edges, baseline=intensity.low, fill=True, color=SIMULATED, alpha=0.25)
    ax.stairs(intensity.values, edges, color=SIMULATED, lw=1.1, label="fitted, with 95 % intervals")
    mean = intensity.counts.sum() / intensity.exposures.sum()
    ax.axhline(mean, color=THEORY, lw=0.9, ls="--", label=f"mean {mean:.4g}")
    ax.set_ylim(bottom=0)
    legend_above(ax)
    return ax


def plot_dispersion(fit: Fit, ax: Axes | None = None) -> Axes:
    """Dispersion index of counts against the width of the windows; 1 for a Poisson process."""
    unit = plain(fit.trace.time_unit)
    ax = panel(ax, f"width of the windows ({unit}s)", "variance / mean of counts", _HEIGHT)
    scales = fit.details.burstiness.scales
    widths = [each.width for each in scales]
    indices = [each.index for each in scales]
    ax.plot(widths, indices, "o-", color=SIMULATED, ms=4, lw=1, label="seen")
    ax.axhline(1.0, color=THEORY, lw=0.9, ls="--", label="Poisson")
    logarithmic(ax, *"xy")
    legend_above(ax)
    return ax


def plot_rescaled_gaps(fit: Fit, ax: Axes | None = None) -> Axes:
    """Share of rescaled gaps that are longer; a straight line for a Poisson process."""
    ax = panel(ax, "gap, in expected changes", "share of longer gaps", _HEIGHT)
    gaps, above = _thinned(np.diff(fit.details.burstiness.rescaled))
    ax.plot(gaps, above, color=SIMULATED, lw=1.2, label="seen")
    grid = np.linspace(0.0, float(gaps.max()), 200)
    ax.plot(grid, np.exp(-grid), color=THEORY, lw=0.9, ls="--", label="Poisson")
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.5 * float(above.min()), top=1.3)
    legend_above(ax)
    return ax


def plot_crawl_rates(fit: Fit, ax: Axes | None = None) -> Axes:
    """Naive and bias-reduced rates of each page against the most likely one."""
    rates = fit.details
    unit = plain(fit.trace.time_unit)
    ax = panel(ax, f"most likely rate per {unit}", f"other estimates per {unit}", _HEIGHT)
    marks: dict[str, Any] = {"ls": "none", "ms": 3.5, "mew": 0.7}
    some = np.argsort(-but_for_rounding(rates.rates), kind="stable")[
        places_of_many(len(rates.rates))
    ]
    likely = rates.rates[some]
    reduced = rates.bias_reduced[some]
    ax.plot(likely, reduced, "o", mfc="none", color=SIMULATED, label="bias-reduced", **marks)
    ax.plot(likely, rates.naive[some], "x", color=_COLOURS[0], label="naive", **marks)
    ends = [likely.min() / 1.2, likely.max() * 1.2]
    ax.plot(ends, ends, color=THEORY, lw=0.9, ls="--", label="equal")
    logarithmic(ax, *"xy")
    legend_above(ax, columns=3)
    return ax


def plot_gap_lengths(fit: Fit, ax: Axes | None = None) -> Axes:
    """How long the gaps between deliveries are, and where batches are cut."""
    unit = plain(fit.trace.time_unit)
    ax = panel(ax, f"gap ({unit}s)", "gaps", _HEIGHT)
    gaps = np.diff(np.sort(fit.trace.values))
    gaps = gaps[gaps > 0]
    edges = np.geomspace(gaps.min(), gaps.max() * 1.001, 60).tolist()
    ax.hist(gaps, edges, color=SIMULATED, alpha=0.7)
    threshold = fit.details.batches.threshold
    if threshold > 0:
        label = f"one batch up to {threshold:.3g} {unit}s"
        ax.axvline(threshold, color=THEORY, lw=1, ls="--", label=label)
        legend_above(ax)
    logarithmic(ax, "x")
    return ax


def plot_batch_sizes(fit: Fit, ax: Axes | None = None) -> Axes:
    """Shares of the batch sizes."""
    ax = panel(ax, "pages in a batch", "share of the batches", _HEIGHT)
    counts = np.bincount(fit.details.batches.sizes)
    sizes = np.flatnonzero(counts)
    shares = counts[sizes] / counts.sum()
    ax.bar(sizes, shares, color=SIMULATED, alpha=0.8)
    ax.set_xlim(0.3, max(sizes.max(), 5) + 0.7)
    integers(ax)
    if spans_decades(shares):
        ax.set_yscale("log")
        ax.set_ylim(0.5 * shares.min(), 1.3)
    return ax


def plot_correlations(fit: Fit, ax: Axes | None = None) -> Axes:
    """Correlations of gaps some lags apart, seen and of the fitted process."""
    details = fit.details
    ax = panel(ax, "lag", "correlation of gaps between batches", _HEIGHT)
    lags = np.arange(1, len(details.correlations) + 1)
    ax.plot(lags, details.correlations, "o-", color=SIMULATED, ms=4, lw=1, label="seen")
    fitted = gap_correlations(details.process, len(lags))
    ax.plot(lags, fitted, "s--", color=_COLOURS[0], ms=3.5, lw=1, label=f"fitted: {details.chosen}")
    gaps = details.batches.gaps
    bound = correlation_bound(float(gaps.var() / gaps.mean() ** 2))
    ax.axhline(bound, color=THEORY, lw=0.9, ls="--", label="bound of order two")
    noise = 1.96 / np.sqrt(len(gaps))
    ax.axhspan(-noise, noise, color=THEORY, alpha=0.1, lw=0, label="95 % if independent")
    integers(ax)
    legend_above(ax, columns=2)
    return ax


def plot_size_laws(fit: Fit, ax: Axes | None = None) -> Axes:
    """Share of larger observations, and that of the best laws."""
    ax = panel(ax, "size, as in the file", "share of larger ones", _HEIGHT)
    values, above = _thinned(fit.trace.values)
    ax.plot(values, above, color=SIMULATED, lw=2.2, alpha=0.6, label="seen")
    grid = np.geomspace(values.min(), values.max(), 200)
    for candidate, *style in zip(fit.details.candidates, _COLOURS, _LINES, strict=False):
        label = f"{candidate.name}, {candidate.how}"
        share = candidate.law.survival(grid)
        ax.plot(grid, share, color=style[0], ls=style[1], lw=1.2, label=label)
    logarithmic(ax, *"xy")
    ax.set_ylim(bottom=0.5 * float(above.min()), top=1.3)
    legend_above(ax, columns=1)
    return ax


Plot = Callable[[Fit, Axes | None], Axes]

_FIGURES: dict[type, tuple[Plot, ...]] = {
    PageChanges: (plot_change_rates, plot_dispersion, plot_rescaled_gaps),
    SourceChanges: (plot_intensity, plot_dispersion, plot_rescaled_gaps),
    CrawlRates: (plot_change_rates, plot_crawl_rates),
    DeliveryFit: (plot_gap_lengths, plot_batch_sizes, plot_correlations),
    SizeFit: (plot_size_laws,),
}
"""The figures of each kind of fit, by the class of its details."""


def figures_of(fit: Fit) -> list[Plot]:
    """The figures for which the fit has something to show."""
    burstiness = getattr(fit.details, "burstiness", None)
    empty: set[Plot] = set()
    if burstiness is not None and not burstiness.scales:
        empty.add(plot_dispersion)
    if burstiness is not None and burstiness.rescaling is None:
        empty.add(plot_rescaled_gaps)
    return [plot for plot in _FIGURES[type(fit.details)] if plot not in empty]


def fit_page(fit: Fit, scenario: Scenario, trace: str) -> str:
    """The report of a fit as one HTML page: no script, nothing fetched, the same text every time.

    Parameters
    ----------
    fit : Fit
    scenario : Scenario
        With the fitted part in place.
    trace : str
        Name of the file.
    """
    unit = partial(unit_of, time_unit=fit.trace.time_unit)
    return rendered(
        "fit.html",
        {"number": _number, "counted": counted, "unit": unit},
        fit=fit,
        scenario=scenario,
        trace=trace,
        pictures=[
            (Markup(svg_text(plot(fit, None), f"figure-{place}")), plot.__doc__)
            for place, plot in enumerate(figures_of(fit))
        ],
        summary=_flat(fit.summary, fit.trace.time_unit),
        candidates=fit.summary.get("candidates", ()),
        file=beginning(dumps(scenario)),
        rows=_ordered(fit),
        folded=len(fit.parameters) > _MOST_UNFOLDED,
        most_rows=_MOST_ROWS,
    )


def _ordered(fit: Fit) -> list[Parameter]:
    """The parameters; of pages those of each name with the largest estimates first."""
    if fit.section != "pages":
        return list(fit.parameters)
    names = list(dict.fromkeys(each.name for each in fit.parameters))
    name = [names.index(each.name) for each in fit.parameters]
    estimate = but_for_rounding([each.estimate for each in fit.parameters])
    return [fit.parameters[place] for place in np.lexsort((-estimate, np.array(name))).tolist()]


def _number(value: float | None) -> str:
    """A number for people; a dash where there is none, an infinite one as such."""
    if value is not None and value == float("inf"):
        return "∞"
    return number(value)


def _flat(summary: Mapping[str, Any], time_unit: str) -> list[tuple[str, str]]:
    """The plain entries of a summary in words, with their units."""
    return [
        (name.replace("_", " "), f"{_plain(value)} {unit_of(name, time_unit)}".rstrip())
        for name, value in summary.items()
        if isinstance(value, str | int | float)
    ]


def _plain(value: str | float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else str(value)


# Axes


def _thinned(values: Array) -> tuple[Array, Array]:
    """Values and the share of observations above each: at most some hundreds, ends included."""
    ordered = np.sort(values)
    places = np.unique(np.geomspace(1, len(ordered), _POINTS).astype(int))
    above = np.concatenate([len(ordered) - places[::-1], [0]])
    above = np.unique(np.clip(np.concatenate([above, places - 1]), 0, len(ordered) - 1))
    return ordered[above], 1.0 - (above + 0.5) / len(ordered)
