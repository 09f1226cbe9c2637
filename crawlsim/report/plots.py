"""Figures of a scenario: its levels, its pages, its probes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from analytic.formula import Prediction
from analytic.probing import probe_times
from crawlsim.report.drawing import (
    MANY_POINTS,
    SIMULATED,
    THEORY,
    axes_for,
    dress,
    half_widths,
    legend_above,
    plain,
)
from scenarios import Results, Scenario, ScenarioError
from scenarios.arrays import Array
from scenarios.processes import Rate
from scenarios.results import Estimate

_MOST_STEPS = 150
_FEW_PAGES = 20
_FEW_PROBES = 60
_FAR_APART = 40
"""Points whose intervals have room for caps."""
_BOUND = "#8a8f98"
_STYLES = {"exact": "-", "lower bound": "--", "upper bound": "-."}
_IMPORTANCE = "#b07800"


def plot_levels(
    results: Results, predictions: Iterable[Prediction] = (), ax: Axes | None = None
) -> Axes:
    """Distribution of the pages in the system: theory as a line, simulation as points.

    Parameters
    ----------
    results : Results
        Its `level_probability` estimates are drawn with their 95 % intervals.
    predictions : iterable of Prediction
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    ValueError
        If the results have no levels.
    """
    estimates = _by_index(results, "level_probability")
    ax = axes_for(ax)
    for kind, (levels, values) in _predicted(predictions, "level_probability").items():
        ax.plot(levels, values, _STYLES.get(kind, ":"), color=THEORY, lw=1.2, label=_theory(kind))
    _draw_estimates(ax, np.array(sorted(estimates)), [estimates[n] for n in sorted(estimates)])
    dress(ax, "pages in the system", "fraction of time")
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    legend_above(ax)
    return ax


def plot_obsolescence_rates(
    results: Results,
    predictions: Iterable[Prediction] = (),
    ax: Axes | None = None,
    change_rates: Sequence[float] | None = None,
) -> Axes:
    """Obsolescence rate of each page: theory as a line, simulation as points with intervals.

    Parameters
    ----------
    results : Results
        Its `obsolescence_rate` estimates are drawn with their 95 % intervals.
    predictions : iterable of Prediction
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    change_rates : sequence of float, shape (pages,), optional
        Places of the pages on the horizontal axis; otherwise their numbers.

    Raises
    ------
    ValueError
        If the results have no pages.
    """
    estimates = _by_index(results, "obsolescence_rate")
    ax = axes_for(ax)
    place = np.arange(max(estimates) + 1, dtype=float)
    if change_rates is not None:
        place = np.array(change_rates, dtype=float)
    for kind, (pages, values) in _predicted(predictions, "obsolescence_rate").items():
        _draw_theory(ax, place[pages], values, kind)
    simulated = sorted(estimates)
    _draw_estimates(ax, place[simulated], [estimates[page] for page in simulated])
    dress(
        ax,
        "page" if change_rates is None else "change rate (per unit of time)",
        "fraction of time out of date",
    )
    if change_rates is None:
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    elif place.min() > 0 and place.max() > 20 * place.min():
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    legend_above(ax)
    return ax


def plot_probes(scenario: Scenario, ax: Axes | None = None) -> Axes:
    """Intensity of the updates, their importance, and the probe times.

    Of a horizon of very many steps the first part is shown, and the axis says so.

    Parameters
    ----------
    scenario : Scenario
        With [source] and [probing].
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    ValueError
        If the scenario has no source.
    """
    source = scenario.source
    probing = scenario.probing
    if source is None or probing is None:
        raise ValueError(f"{scenario.name} has no [source] and [probing] to draw")
    ax = axes_for(ax)
    shown = _shown_time(probing.horizon, (source.updates, source.importance))
    unit = plain(scenario.time_unit)
    part = f", the first {shown:g} of {probing.horizon:g}" if shown < probing.horizon else ""
    dress(ax, f"time ({unit}){part}", f"updates per {unit}")
    _draw_rate(ax, source.updates, shown, SIMULATED)
    _draw_probes(ax, [time for time in _probe_times(scenario) if time <= shown])
    strip = _strip_above(ax)
    dress(strip, "", "importance")
    _draw_rate(strip, source.importance, shown, _IMPORTANCE)
    return ax


def _by_index(results: Results, measure: str) -> dict[int, Estimate]:
    rows = results.rows.of_measure(measure)
    estimates = {row.subject: row for row in rows if isinstance(row.subject, int)}
    if not estimates:
        raise ValueError(f"{results.scenario} has no {measure} to draw")
    return estimates


def _predicted(
    predictions: Iterable[Prediction], measure: str
) -> dict[str, tuple[NDArray[np.intp], Array]]:
    """Kind -> subjects and values; of several predictions of one number the first."""
    kinds: dict[str, dict[int, float]] = {}
    for each in predictions:
        if each.measure == measure and isinstance(each.subject, int):
            kinds.setdefault(each.kind, {}).setdefault(each.subject, each.value)
    return {
        kind: (np.array(sorted(of)), np.array([of[index] for index in sorted(of)]))
        for kind, of in kinds.items()
    }


def _theory(kind: str) -> str:
    return "theory" if kind == "exact" else kind


def _draw_estimates(ax: Axes, x: Array, estimates: Sequence[Estimate]) -> None:
    """Points with their intervals; smaller where they would touch, many as an image."""
    many = len(estimates) > MANY_POINTS
    close = len(estimates) > _FAR_APART
    ax.errorbar(
        x,
        [row.estimate for row in estimates],
        half_widths(estimates),
        fmt="o",
        ms=2 if close else 4.5,
        lw=0.5 if many else 0.8 if close else 1.2,
        capsize=0 if close else 2.5,
        color=SIMULATED,
        alpha=0.5 if many else 1.0,
        mew=0,
        label="simulation, 95 % interval",
        rasterized=many,
    )


def _draw_theory(ax: Axes, x: Array, values: Array, kind: str) -> None:
    """A dash for each of few pages; of many a line, and points where that would zigzag."""
    order = np.argsort(x, kind="stable")
    height = values.max() - values.min()
    smooth = np.abs(np.diff(values[order])).sum() <= 3 * height
    few = len(values) <= _FEW_PAGES
    exact = kind == "exact"
    ax.plot(
        x[order],
        values[order],
        linestyle=_STYLES.get(kind, ":") if smooth and not few else "none",
        marker="_" if few else "none" if smooth else ".",
        ms=14 if few else 1.5,
        color=THEORY if exact else _BOUND,
        lw=0.9,
        zorder=3,
        label=_theory(kind),
        rasterized=len(values) > MANY_POINTS,
    )


def _shown_time(horizon: float, rates: Sequence[Rate]) -> float:
    """The horizon, or as much of it as a figure can show: at least one period."""
    steps = max(len(rate.breaks) / rate.period for rate in rates)
    return min(horizon, max(_MOST_STEPS / steps, *(rate.period for rate in rates)))


def _steps(rate: Rate, horizon: float) -> tuple[Array, Array]:
    """Times at which a rate begins to hold its value, and the values; the end included."""
    periods = int(np.ceil(horizon / rate.period))
    times = np.add.outer(np.arange(periods) * rate.period, rate.breaks).ravel()
    values = np.tile(rate.values, periods)[times < horizon]
    return np.append(times[times < horizon], horizon), np.append(values, values[-1])


def _probe_times(scenario: Scenario) -> Sequence[float]:
    """Probe times of the scenario's policy; none where they are still to be found."""
    try:
        return probe_times(scenario)
    except ScenarioError:
        return ()


def _draw_rate(ax: Axes, rate: Rate, shown: float, colour: str) -> None:
    times, values = _steps(rate, shown)
    ax.fill_between(times, values, step="post", color=colour, alpha=0.18, lw=0)
    ax.step(times, values, where="post", color=colour, lw=1.0)
    ax.set_xlim(0, shown)
    ax.set_ylim(0, 1.12 * max(values))
    ax.yaxis.set_major_locator(MaxNLocator(4))


def _draw_probes(ax: Axes, times: Sequence[float]) -> None:
    """A vertical line at each probe; with a mark on top where there are few."""
    if not times:
        return
    top = ax.get_ylim()[1]
    x = np.repeat(np.array(times, dtype=float), 3)
    y = np.tile([0.0, top, np.nan], len(times))
    ax.plot(x, y, color=THEORY, lw=0.7, alpha=0.4, label="probes")
    if len(times) <= _FEW_PROBES:
        ax.plot(times, [top] * len(times), "v", color=THEORY, ms=4, clip_on=False)
    legend_above(ax)


def _strip_above(ax: Axes) -> Axes:
    """Axes in the upper third of `ax`, for a second function of the same time."""
    top = ax.get_ylim()[1]
    ticks = [tick for tick in ax.get_yticks() if tick <= top]
    ax.set_yticks(ticks)
    ax.set_ylim(0, 1.55 * top)
    ax.spines["left"].set_bounds(0, top)
    ax.yaxis.label.set_y(0.32)
    strip = ax.inset_axes((0.0, 0.74, 1.0, 0.26))
    strip.tick_params(labelbottom=False)
    return strip
