"""Figures of a fit: the data, what was fitted, and how far they are apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from analytic.fitting.crawl_logs import CrawlRates
from analytic.fitting.deliveries import DeliveryFit
from analytic.fitting.fit import Fit
from analytic.fitting.of_pages import PageChanges
from analytic.fitting.of_source import SourceChanges
from analytic.fitting.order_two import correlation_bound
from analytic.fitting.poisson_verdict import Burstiness
from analytic.fitting.poisson_words import duration
from analytic.fitting.service_times import SizeFit
from analytic.report.drawing import SIMULATED, THEORY, axes_for, dress, legend_above, plain

__all__ = [
    "figures_of",
    "plot_batch_sizes",
    "plot_change_rates",
    "plot_correlations",
    "plot_crawl_rates",
    "plot_dispersion",
    "plot_gap_lengths",
    "plot_intensity",
    "plot_rescaled_gaps",
    "plot_size_laws",
]

Array = NDArray[np.float64]

_HEIGHT = 3.0
_POINTS = 400
_COLOURS = ("#c24a00", "#00805e", "#7a5195", "#b07800")


def _thinned(values: Array) -> tuple[Array, Array]:
    """Values and the share of observations above each: at most some hundreds, ends included."""
    ordered = np.sort(values)
    places = np.unique(np.geomspace(1, len(ordered), _POINTS).astype(int))
    above = np.concatenate([len(ordered) - places[::-1], [0]])
    above = np.unique(np.clip(np.concatenate([above, places - 1]), 0, len(ordered) - 1))
    return ordered[above], 1.0 - (above + 0.5) / len(ordered)


def plot_change_rates(found: Fit, ax: Axes | None = None) -> Axes:
    """Change rates in descending order with their 95 % intervals."""
    rates = found.details.rates if isinstance(found.details, PageChanges) else found.details
    ax = axes_for(ax, _HEIGHT)
    dress(ax, "pages, the fastest first", f"changes per {plain(found.trace.time_unit)}")
    order = np.argsort(-rates.rates)
    place = np.arange(1, len(order) + 1)
    floor = np.min(rates.rates[rates.rates > 0], initial=1.0) / 10
    low, high = np.maximum(rates.low[order], floor), rates.high[order]
    high = np.where(np.isfinite(high), high, 10 * rates.rates.max())
    ax.vlines(place, low, high, color=SIMULATED, lw=0.7, alpha=0.35, label="95 % interval")
    ax.plot(place, np.maximum(rates.rates[order], floor), color=THEORY, lw=1.2, label="rate")
    ax.set_yscale("log")
    if len(order) > 20:
        ax.set_xscale("log")
    legend_above(ax)
    return ax


def plot_intensity(found: Fit, ax: Axes | None = None) -> Axes:
    """The periodic rate with its 95 % intervals."""
    intensity = found.details.intensity
    unit = found.trace.time_unit
    ax = axes_for(ax, _HEIGHT)
    period = duration(intensity.period, unit)
    dress(ax, f"{plain(unit)}s, from the start of {period}", f"changes per {plain(unit)}")
    edges = np.append(intensity.breaks, intensity.period)
    ax.stairs(intensity.high, edges, baseline=intensity.low, fill=True, color=SIMULATED, alpha=0.25)
    ax.stairs(intensity.values, edges, color=SIMULATED, lw=1.1, label="fitted, with 95 % intervals")
    mean = intensity.counts.sum() / intensity.exposures.sum()
    ax.axhline(mean, color=THEORY, lw=0.9, ls="--", label=f"mean {mean:.4g}")
    ax.set_ylim(bottom=0)
    legend_above(ax)
    return ax


def _burstiness(found: Fit) -> Burstiness:
    burstiness: Burstiness = found.details.burstiness
    return burstiness


def plot_dispersion(found: Fit, ax: Axes | None = None) -> Axes:
    """Dispersion index of counts against the width of the windows; 1 for a Poisson process."""
    ax = axes_for(ax, _HEIGHT)
    dress(
        ax, f"width of the windows ({plain(found.trace.time_unit)}s)", "variance / mean of counts"
    )
    scales = _burstiness(found).scales
    widths = [each.width for each in scales]
    ax.plot(
        widths, [each.index for each in scales], "o-", color=SIMULATED, ms=4, lw=1, label="seen"
    )
    ax.axhline(1.0, color=THEORY, lw=0.9, ls="--", label="Poisson")
    ax.set_xscale("log")
    ax.set_yscale("log")
    legend_above(ax)
    return ax


def plot_rescaled_gaps(found: Fit, ax: Axes | None = None) -> Axes:
    """Share of rescaled gaps that are longer; a straight line for a Poisson process."""
    ax = axes_for(ax, _HEIGHT)
    dress(ax, "gap, in expected changes", "share of longer gaps")
    gaps, above = _thinned(np.diff(_burstiness(found).rescaled))
    ax.plot(gaps, above, color=SIMULATED, lw=1.2, label="seen")
    grid = np.linspace(0.0, float(gaps.max()), 200)
    ax.plot(grid, np.exp(-grid), color=THEORY, lw=0.9, ls="--", label="Poisson")
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.5 * float(above.min()), top=1.3)
    legend_above(ax)
    return ax


def plot_crawl_rates(found: Fit, ax: Axes | None = None) -> Axes:
    """Naive and bias-reduced rates of each page against the most likely one."""
    rates = found.details
    ax = axes_for(ax, _HEIGHT)
    unit = plain(found.trace.time_unit)
    dress(ax, f"most likely rate per {unit}", f"other estimates per {unit}")
    marks: dict[str, Any] = {"ls": "none", "ms": 3.5, "mew": 0.7}
    ax.plot(rates.rates, rates.bias_reduced, "o", mfc="none", color=SIMULATED,
            label="bias-reduced", **marks)  # fmt: skip
    ax.plot(rates.rates, rates.naive, "x", color=_COLOURS[0], label="naive", **marks)
    ends = [rates.rates.min(), rates.rates.max()]
    ax.plot(ends, ends, color=THEORY, lw=0.9, ls="--", label="equal")
    ax.set_xscale("log")
    ax.set_yscale("log")
    legend_above(ax, columns=3)
    return ax


def plot_gap_lengths(found: Fit, ax: Axes | None = None) -> Axes:
    """How long the gaps between deliveries are, and where batches are cut."""
    ax = axes_for(ax, _HEIGHT)
    dress(ax, f"gap ({plain(found.trace.time_unit)}s)", "gaps")
    gaps = np.diff(np.sort(found.trace.values))
    gaps = gaps[gaps > 0]
    edges = np.geomspace(gaps.min(), gaps.max() * 1.001, 60).tolist()
    ax.hist(gaps, edges, color=SIMULATED, alpha=0.7)
    threshold = found.details.batches.threshold
    if threshold > 0:
        ax.axvline(threshold, color=THEORY, lw=1, ls="--", label=f"one batch up to {threshold:.3g}")
        legend_above(ax)
    ax.set_xscale("log")
    return ax


def plot_batch_sizes(found: Fit, ax: Axes | None = None) -> Axes:
    """Shares of the batch sizes."""
    ax = axes_for(ax, _HEIGHT)
    dress(ax, "pages in a batch", "share of the batches")
    counts = np.bincount(found.details.batches.sizes)
    sizes = np.flatnonzero(counts)
    ax.bar(sizes, counts[sizes] / counts.sum(), color=SIMULATED, alpha=0.8)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    return ax


def plot_correlations(found: Fit, ax: Axes | None = None) -> Axes:
    """Correlations of gaps some lags apart, and the largest that order two can have."""
    details = found.details
    ax = axes_for(ax, _HEIGHT)
    dress(ax, "lag", "correlation of gaps between batches")
    lags = np.arange(1, len(details.correlations) + 1)
    ax.plot(lags, details.correlations, "o-", color=SIMULATED, ms=4, lw=1, label="seen")
    gaps = details.batches.gaps
    bound = correlation_bound(float(gaps.var() / gaps.mean() ** 2))
    ax.axhline(bound, color=THEORY, lw=0.9, ls="--", label="bound of order two")
    noise = 1.96 / np.sqrt(len(gaps))
    ax.axhspan(-noise, noise, color=THEORY, alpha=0.1, lw=0, label="95 % if independent")
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    legend_above(ax, columns=3)
    return ax


def plot_size_laws(found: Fit, ax: Axes | None = None) -> Axes:
    """Share of larger observations, and that of the best laws."""
    ax = axes_for(ax, _HEIGHT)
    dress(ax, "size", "share of larger ones")
    values, above = _thinned(found.trace.values)
    ax.plot(values, above, color=SIMULATED, lw=2.2, alpha=0.6, label="seen")
    grid = np.geomspace(values.min(), values.max(), 200)
    for candidate, colour in zip(found.details.candidates, _COLOURS[:3], strict=False):
        label = f"{candidate.name}, {candidate.how}"
        ax.plot(grid, candidate.law.survival(grid), color=colour, lw=1, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
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


def figures_of(found: Fit) -> list[Plot]:
    """The figures for which the fit has something to show."""
    burstiness = getattr(found.details, "burstiness", None)
    empty: set[Plot] = set()
    if burstiness is not None and not burstiness.scales:
        empty.add(plot_dispersion)
    if burstiness is not None and burstiness.rescaling is None:
        empty.add(plot_rescaled_gaps)
    return [plot for plot in _FIGURES[type(found.details)] if plot not in empty]
