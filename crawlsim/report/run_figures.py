"""Figures of a run or a check: levels, pages, probes, differences from theory, distributions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy.special import stdtrit

from analytic.index.formula import Prediction
from analytic.probing import Profile, probe_times, times_of_each
from analytic.routing import cyclic_distances, spacing_cost
from analytic.verdicts.crosscheck import Comparison
from analytic.verdicts.law_check import LAW_TOLERANCE, LawComparison
from crawlsim.report.drawing import (
    COLOURS,
    MANY_POINTS,
    SIMULATED,
    THEORY,
    VERDICT_COLOURS,
    dress,
    half_widths,
    legend_above,
    logarithmic,
    panel,
    plain,
    whole_numbers,
)
from crawlsim.report.words import name_of, rows_of
from crawlsim.summary import Naming
from scenarios import Results, Scenario, ScenarioError
from scenarios.arrays import Array
from scenarios.page_groups import is_group
from scenarios.rates import PiecewiseConstant
from scenarios.results import Estimate
from scenarios.sections import Period, Random, Source

_MOST_STEPS = 150
_FEW_PAGES = 20
_FEW_PROBES = 60
_MOST_LANES = 12
_LANE = 0.8
"""Share of a lane that is drawn in."""
_FAR_APART = 40
"""Points whose intervals have room for caps."""

_BOUND = "#8a8f98"
_BAR = "#d3d8de"
_STYLES = {"exact": "-", "lower bound": "--", "upper bound": "-."}
_LABELS = {"exact": "theory"}
_IMPORTANCE = "#b07800"

_DASHES: tuple[Any, ...] = ("-", (0, (6, 6)), (0, (2, 10)))
"""Lines that lie on each other."""

_FEW_SLOTS = 8
_MOST_SLOTS = 400
"""Distances up to which costs are drawn."""
_MOST_GROUPS = 20
_MARKERS = {"agrees": "o", "disagrees": "X", "inconclusive": "s", "not judged": "d"}
_BOUNDS = ("lower bound", "upper bound")
_LEAST = 1.6
_MOST = 6.0
"""Tolerances to each side of the axis of differences."""

ROWS_OF_A_PAGE = 24
ROWS_OF_A_SLIDE = 10
"""Of differences; as many as a slide has room for in letters that are read from far away."""

_ERRORS = 2.0
_LAW_HEIGHT = 3.6
_CROWDED = 10.0
"""How far the last point of a distribution is, in medians, where half of them have no room."""


def plot_levels(
    results: Results, predictions: Iterable[Prediction] = (), ax: Axes | None = None
) -> Axes:
    """Distribution of the pages in the system: theory as bars, simulation as points.

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
    ax = panel(ax, "pages in the system", "fraction of time")
    for kind, (levels, values) in _predicted(predictions, "level_probability").items():
        name = _LABELS.get(kind, kind)
        if kind == "exact":
            ax.bar(levels, values, 0.8, color=_BAR, label=name)
        else:
            ax.plot(levels, values, _STYLES.get(kind, ":"), color=THEORY, lw=1.2, label=name)
    _draw_estimates(ax, np.array(list(estimates)), list(estimates.values()))
    ax.set_ylim(bottom=0)
    whole_numbers(ax.xaxis)
    legend_above(ax)
    return ax


def plot_obsolescence_rates(
    results: Results,
    predictions: Iterable[Prediction] = (),
    ax: Axes | None = None,
    change_rates: Sequence[float] | None = None,
    time_unit: str = "unit of time",
    names: Mapping[int, str] | None = None,
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
    time_unit : str
        Of the change rates, for the label of the axis.
    names : mapping page -> str, optional
        Of pages whose points are labelled.

    Raises
    ------
    ValueError
        If the results have no pages.
    """
    estimates = _by_index(results, "obsolescence_rate")
    place = np.arange(max(estimates) + 1, dtype=float)
    across = "page"
    if change_rates is not None:
        place = np.array(change_rates, dtype=float)
        across = f"change rate (per {plain(time_unit)})"
    ax = panel(ax, across, "fraction of time out of date")
    for kind, (pages, values) in _predicted(predictions, "obsolescence_rate").items():
        _draw_theory(ax, place[pages], values, kind)
    _draw_estimates(ax, place[list(estimates)], list(estimates.values()))
    middle = (place.min() + place.max()) / 2
    for page, name in (names or {}).items():
        left = place[page] <= middle
        ax.annotate(
            plain(name),
            (float(place[page]), estimates[page].estimate),
            xytext=(10 if left else -10, -3),
            textcoords="offset points",
            ha="left" if left else "right",
            fontsize=7,
            color="#333333",
        )
    if change_rates is None:
        whole_numbers(ax.xaxis)
        if len(place) <= _FEW_PAGES:
            ax.set_xlim(-0.5, len(place) - 0.5)
        if len(place) == 1:
            ax.set_xticks([0])
    elif place.min() > 0 and place.max() > 20 * place.min():
        logarithmic(ax, "x")
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
    shown = _shown_of(source, probing.horizon)
    unit = plain(scenario.time_unit)
    part = f", the first {shown:g} of {probing.horizon:g}" if shown < probing.horizon else ""
    ax = panel(ax, f"time ({unit}){part}", f"updates per {unit}")
    _draw_rate(ax, source.updates, shown, SIMULATED)
    top = ax.get_ylim()[1]
    try:
        probes = probe_times(scenario)
    except ScenarioError:  # they are still to be found
        probes = ()
    if times := [time for time in probes if time <= shown]:
        x = np.repeat(np.array(times, dtype=float), 3)
        y = np.tile([0.0, top, np.nan], len(times))
        ax.plot(x, y, color=THEORY, lw=0.7, alpha=0.4, label="probes")
        if len(times) <= _FEW_PROBES:
            ax.plot(times, [top] * len(times), "v", color=THEORY, ms=4, clip_on=False)
        legend_above(ax)
    ticks = [tick for tick in ax.get_yticks() if tick <= top]
    strip = _strip_above(ax, "importance", top, ticks, 1.55 * top, 0.26)
    _draw_rate(strip, source.importance, shown, _IMPORTANCE)
    return ax


def plot_spacing_costs(scenario: Scenario, ax: Axes | None = None) -> Axes:
    """What a packet costs by its distance from the one before, server by server.

    Marks are the distances of the routing's period; a vertical line the mean distance of a server
    that is drawn. Weights are included; costs that fade in time are means over the arrivals. What
    costs as much as an earlier server is dashed, and its marks are smaller.

    Parameters
    ----------
    scenario : Scenario
        With ``servers.spacing_cost``.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    ValueError
        If the scenario has no such costs.
    """
    servers = scenario.servers
    if servers is None or servers.spacing_cost is None:
        raise ValueError(f"{scenario.name} has no servers.spacing_cost to draw")
    period = servers.routing.root if isinstance(servers.routing, Period) else ()
    distances = cyclic_distances(period) if period else {}
    drawn = servers.routing.root if isinstance(servers.routing, Random) else ()
    far = [max(own) for own in distances.values()] + [1.0 / share for share in drawn if share]
    n = np.arange(1, min(max(2 * max(far, default=_FEW_SLOTS), _FEW_SLOTS), _MOST_SLOTS) + 1)
    ax = panel(ax, "distance (packets)", "cost of a packet")
    seen: Counter[bytes] = Counter()
    for server, cost in enumerate(servers.spacing_costs[:_MOST_LANES]):
        values = servers.weight_of_each[server] * spacing_cost(cost, servers.arrivals, n)
        colour = COLOURS[server % len(COLOURS)]
        alike = min(seen[values.tobytes()], len(_DASHES) - 1)
        seen[values.tobytes()] += 1
        ax.plot(n, values, color=colour, lw=1.1, ls=_DASHES[alike], label=f"server {server}")
        own = np.array(
            [each for each in set(distances.get(server, ())) if each <= n[-1]], dtype=int
        )
        ax.plot(own, values[own - 1], "o", color=colour, ms=5 - 1.5 * alike, ls="none")
        if drawn and drawn[server]:
            ax.axvline(1.0 / drawn[server], color=colour, lw=0.7, ls=":")
    ax.set_ylim(bottom=0.0)
    whole_numbers(ax.xaxis)
    legend_above(ax, columns=min(servers.count, 4))
    return ax


def plot_shared_probes(scenario: Scenario, ax: Axes | None = None) -> Axes:
    """Probe times of several sources, above what would be at stake at that time.

    The height of a lane is ``sqrt(lambda a)`` of its source, to which the density of the best
    probes tends as they become many, on one scale for all. Of many sources the first are shown, of
    a long horizon the first part, and the labels say so.

    Parameters
    ----------
    scenario : Scenario
        With sources and [probing].
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    ValueError
        If the scenario has no sources.
    """
    probing = scenario.probing
    if scenario.sources is None or probing is None:
        raise ValueError(f"{scenario.name} has no sources and [probing] to draw")
    sources = scenario.sources[:_MOST_LANES]
    shown = min([probing.horizon, *(_shown_of(source, probing.horizon) for source in sources)])
    try:
        times = times_of_each(scenario)
    except ScenarioError:  # they are still to be found
        times = ((),) * len(scenario.sources)
    unit = plain(scenario.time_unit)
    part = f", the first {shown:g} of {probing.horizon:g}" if shown < probing.horizon else ""
    rest = len(scenario.sources) - len(sources)
    others = f" ({rest} more are not shown)" if rest else ""
    ax = panel(ax, f"time ({unit}){part}", f"source and its probes{others}", _lanes(len(sources)))
    stakes = [_at_stake(source, shown) for source in sources]
    highest = max(float(values.max()) for _, values in stakes)
    lanes = range(len(sources) - 1, -1, -1)
    for lane, (edges, values), own in zip(lanes, stakes, times, strict=False):
        level = lane + _LANE * values / highest
        ax.fill_between(edges, lane, level, step="post", color=SIMULATED, alpha=0.25, lw=0)
        inside = [time for time in own if time <= shown]
        ax.plot(inside, [lane + _LANE / 2] * len(inside), "|", ms=14, color=THEORY)
    ax.plot([], [], "|", ms=14, color=THEORY, label="probe")
    ax.fill_between([], [], color=SIMULATED, alpha=0.25, lw=0, label="√(updates × importance)")
    ax.set_yticks(lanes, [f"{k}: {len(times[k])}" for k in range(len(sources))])
    ax.set_ylim(-0.1, len(sources) - 0.1)
    ax.set_xlim(0, shown)
    legend_above(ax)
    return ax


def _shown_of(source: Source, horizon: float) -> float:
    """All of the horizon, or as much as a figure can show: at least one period."""
    rates = (source.updates, source.importance)
    steps = max(len(rate.breaks) / rate.period for rate in rates)
    return min(horizon, max(_MOST_STEPS / steps, *(rate.period for rate in rates)))


def _lanes(count: int) -> float:
    """Height of a figure with this many lanes."""
    return 1.6 + 0.5 * count


def _at_stake(source: Source, shown: float) -> tuple[Array, Array]:
    """Edges of the cells, and in each ``sqrt(lambda a)``; the last value twice."""
    profile = Profile(source.updates, source.importance, shown)
    values = np.sqrt(profile.updates * profile.importance)
    return profile.edges, np.append(values, values[-1])


def plot_groups(
    results: Results, predictions: Iterable[Prediction] = (), ax: Axes | None = None
) -> Axes:
    """Obsolescence rate of each group of many pages, from the slowest to the fastest.

    Parameters
    ----------
    results : Results
        Its `obsolescence_rate` estimates of groups are drawn with their 95 % intervals.
    predictions : iterable of Prediction
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    ValueError
        If the results have no groups.
    """
    rows = results.rows.of_measure("obsolescence_rate")
    estimates = [row for row in rows if is_group(row.subject)][:_MOST_GROUPS]
    if not estimates:
        raise ValueError(f"{results.scenario} has no groups of pages to draw")
    place = {row.subject: number for number, row in enumerate(estimates)}
    ax = panel(ax, "group of pages", "fraction of time out of date")
    kinds: dict[str, dict[int, float]] = {}
    for each in predictions:
        if each.measure == "obsolescence_rate" and each.subject in place:
            kinds.setdefault(each.kind, {}).setdefault(place[each.subject], each.value)
    for kind, values in kinds.items():
        _draw_theory(ax, np.array([*values]), np.array([*values.values()]), kind)
    _draw_estimates(ax, np.arange(float(len(estimates))), estimates)
    ax.set_xticks(range(len(estimates)), [str(row.subject) for row in estimates])
    ax.tick_params(axis="x", rotation=60)
    ax.set_ylim(bottom=0)
    legend_above(ax)
    return ax


def _by_index(results: Results, measure: str) -> dict[int, Estimate]:
    rows = results.rows.of_measure(measure)
    estimates = {row.subject: row for row in rows if isinstance(row.subject, int)}
    if not estimates:
        raise ValueError(f"{results.scenario} has no {measure} to draw")
    return {subject: estimates[subject] for subject in sorted(estimates)}


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
        ms=1.5 if not few else 14 if exact else 20,  # a bound that theory reaches sticks out
        color=THEORY if exact else _BOUND,
        lw=0.9 if exact else 1.8,
        zorder=3.0 if exact else 2.9,
        label=_LABELS.get(kind, kind),
        rasterized=len(values) > MANY_POINTS,
    )


def _draw_rate(ax: Axes, rate: PiecewiseConstant, shown: float, colour: str) -> None:
    """A periodic step function up to the end of what is shown."""
    periods = int(np.ceil(shown / rate.period))
    times = np.add.outer(np.arange(periods) * rate.period, rate.breaks).ravel()
    values = np.tile(rate.values, periods)[times < shown]
    times = np.append(times[times < shown], shown)
    values = np.append(values, values[-1])
    ax.fill_between(times, values, step="post", color=colour, alpha=0.18, lw=0)
    ax.step(times, values, where="post", color=colour, lw=1.0)
    ax.set_xlim(0, shown)
    ax.set_ylim(0, 1.12 * max(values))
    ax.yaxis.set_major_locator(MaxNLocator(4))


def _strip_above(
    ax: Axes, label: str, top: float, ticks: Sequence[float], limit: float, height: float
) -> Axes:
    """Axes in the upper part of `ax`, for a second function of the same variable.

    Parameters
    ----------
    ax : Axes
    label : str
        Of the second function.
    top : float
        Where the first function ends.
    ticks : sequence of float
        Of the first function.
    limit : float
        Of the vertical axis, so that both have room.
    height : float
        Of the strip, as a share of the axes.
    """
    ax.set_yticks(ticks)
    ax.set_ylim(0, limit)
    ax.spines["left"].set_bounds(0, top)
    ax.yaxis.label.set_y(0.32)
    strip = ax.inset_axes((0.0, 1.0 - height, 1.0, height))
    dress(strip, "", label)
    strip.tick_params(labelbottom=False)
    return strip


def plot_comparison(
    comparisons: Iterable[Comparison],
    ax: Axes | None = None,
    naming: Naming | None = None,
    most: int = ROWS_OF_A_PAGE,
) -> Axes:
    """Difference of estimate and prediction, in tolerances; agreement lies between -1 and 1.

    Judged rows, each number once, bounds only where violated; of many the largest differences.
    Bars are two standard errors to each side; an arrow stands for a difference beyond the axis.

    Parameters
    ----------
    comparisons : iterable of Comparison
    ax : Axes, optional
        Where to draw; a new figure of the height needed otherwise.
    naming : callable, optional
        How subjects are shown (`crawlsim.summary.naming_of`); by default as they are.
    most : int
        Rows that are shown.

    Raises
    ------
    ValueError
        If no row is a difference that has a scale.
    """
    drawable = [each.comparison for each in rows_of(comparisons) if is_drawable(each.comparison)]
    every = [row for row in drawable if row.verdict != "not judged"] or drawable
    if not every:
        raise ValueError("there is no difference to draw")
    sizes = [-abs(row.estimated - row.predicted) / row.tolerance for row in every]
    largest = np.sort(np.argsort(sizes, kind="stable")[:most])
    rows = [every[n] for n in largest]
    label = "(simulation − prediction) / tolerance"
    if len(rows) < len(every):
        label += f"\n{len(rows)} largest of {len(every)}"
    ax = panel(ax, label, "", 0.9 + 0.23 * max(len(rows), 2))
    differences = np.array([(row.estimated - row.predicted) / row.tolerance for row in rows])
    errors = np.array([_ERRORS * row.standard_error / row.tolerance for row in rows])
    errors = np.where(np.isfinite(errors), errors, 0.0)
    limit = min(_MOST, max(_LEAST, 1.1 * float(np.max(np.abs(differences) + errors))))
    ax.axvspan(-1, 1, color="#eef1f4", lw=0, zorder=0)
    ax.axvline(0, color="#999999", lw=0.8, zorder=1)
    inside = np.abs(differences) <= 0.97 * limit
    heights = np.arange(len(rows))
    for verdict, marker in _MARKERS.items():
        mine = np.array([row.verdict == verdict for row in rows])
        if not mine.any():
            continue
        colour = VERDICT_COLOURS[verdict]
        near = mine & inside
        style: Any = {"fmt": marker, "ms": 5, "lw": 1.3, "mew": 0, "color": colour}
        ax.errorbar(differences[near], heights[near], xerr=errors[near], label=verdict, **style)
        for n in np.flatnonzero(mine & ~inside):
            right = differences[n] > 0
            end = limit if right else -limit
            ax.plot([0.97 * end], [n], marker=">" if right else "<", color=colour)
            words = f"{differences[n]:+.2g}".replace("-", "−")
            how: Any = {"ha": "right" if right else "left", "va": "center", "fontsize": 8}
            ax.annotate(words, (0.92 * end, n), color=colour, **how)
    # flush right: it may be longer than the axes where the names of the rows are long
    ax.set_xlabel(ax.get_xlabel(), loc="right")
    ax.grid(visible=False)
    named = naming or (lambda _, subject: subject)
    names = [plain(name_of(row.measure, named(row.measure, row.subject))) for row in rows]
    ax.set_yticks(range(len(rows)), names)
    ax.set_xlim(-limit, limit)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    legend_above(ax, 3)
    return ax


def is_drawable(row: Comparison) -> bool:
    """Whether a difference has a scale and is one: not that of a bound that holds."""
    is_difference = row.kind not in _BOUNDS or row.verdict == "disagrees"
    return is_difference and row.tolerance > 0 and math.isfinite(row.estimated)


def plot_law(row: LawComparison, time_unit: str, ax: Axes | None = None) -> Axes:
    """A distribution function, and in a strip above it the difference in percentage points.

    Parameters
    ----------
    row : LawComparison
    time_unit : str
        Of the scenario, for the label of the axis.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    ValueError
        If there is no exact distribution to draw.
    """
    if not row.points:
        raise ValueError(f"there is no distribution to draw: {row.reason}")
    at = np.array([point.at for point in row.points])
    predicted = np.array([point.predicted for point in row.points])
    seen = np.array([point.estimated for point in row.points])
    quantile = float(stdtrit(row.replications - 1, 0.975))
    half = quantile * np.array([point.standard_error for point in row.points])
    is_level = row.law.measure == "level_at_arrival"
    unit = "pages" if is_level else plain(time_unit)
    name = name_of(row.law.measure, row.law.subject)
    ax = panel(ax, f"{name} ({unit})", f"share of the {row.law.counted}", _LAW_HEIGHT)
    style: Any = {"drawstyle": "steps-post"} if is_level else {}
    ax.plot(*(row.curve or (at, predicted)), color=THEORY, lw=1.2, label="theory", **style)
    points: Any = {"fmt": "o", "ms": 3.5, "lw": 1.0, "capsize": 2, "mew": 0, "color": SIMULATED}
    ax.errorbar(at, seen, half, label="simulation, 95 % interval", **points)
    if is_level:
        whole_numbers(ax.xaxis)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    strip = _strip_above(ax, "diff. (% points)", 1, ticks, 1.65, 0.32)
    tolerance = 100 * LAW_TOLERANCE  # within it a difference counts as agreement
    strip.axhspan(-tolerance, tolerance, color="#eef1f4", lw=0, zorder=0)
    strip.axhline(0, color=THEORY, lw=0.8)
    difference = 100 * (seen - predicted)
    strip.errorbar(at, difference, 100 * half, **points)
    reach = max(1.3 * tolerance, 1.1 * float(np.nanmax(np.abs(difference) + 100 * half)))
    strip.set_ylim(-reach, reach)
    if not is_level and at.max() > _CROWDED * np.median(at):
        ax.set_xlim(at[at > 0].min() / 2.0, 2.0 * at.max())
        logarithmic(ax, "x")
        strip.set_xscale("log")
        strip.set_xlim(ax.get_xlim())
    legend_above(ax)
    return ax
