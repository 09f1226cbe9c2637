"""Figures of a search for the best decision: the cost, or the decision itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator

from analytic.page_refresh import FrequencySearch
from analytic.pipeline.best_robots import BestTargets
from analytic.pipeline.best_thresholds import BestThresholds
from analytic.probing.search import ProbeSearch
from analytic.probing.shared import BudgetSearch
from analytic.robot_control.switching import TargetSearch
from analytic.routing.search import WordSearch
from analytic.rules.choices import ChoiceSearch
from analytic.rules.environment import EnvironmentSearch
from analytic.rules.fixed import StaticSearch
from analytic.rules.hysteresis import HysteresisSearch
from analytic.rules.levels import RuleMap
from analytic.rules.thresholds import ThresholdSearch
from crawlsim.report.drawing import (
    COLOURS,
    MANY_POINTS,
    SIMULATED,
    THEORY,
    axes_for,
    legend_above,
    logarithmic,
    panel,
    plain,
    whole_numbers,
)
from crawlsim.report.rule_figures import NEVER_ASKED, draw_choices, draw_numbers, of_the_first
from crawlsim.report.run_figures import plot_probes, plot_shared_probes
from scenarios.arrays import Array
from scenarios.text import counted, quantity

_MARKERS = "os^Dv<"
_GREY = "#8a8f98"
_HEIGHT = 3.2
_WORD_HEIGHT = 3.4
_FEW_LEVELS = 40
_LEGEND = 24
_ALONE = 56
"""Letters on a line of a legend of two columns, and of one."""

_MOST_SLOTS = 60
_MARK = 5.0
_ROWS = 150.0
"""Size of a mark, and of all rows together, in points."""

_MARGIN = 1.25
_USED = {"server": "used", "page": "accessed"}


def plot_threshold_costs(search: ThresholdSearch | BestThresholds, ax: Axes | None = None) -> Axes:
    """Cost against the threshold between two numbers of robots, and the optimum over all lists.

    Parameters
    ----------
    search : ThresholdSearch or BestThresholds
        Of `analytic.optimize(scenario, "threshold").search`. At most six pairs are drawn, those
        with the least cost at their best threshold.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    TypeError
        If it is another search, such as that of fixed numbers (`plot_static_costs`).

    Notes
    -----
    At the highest level as threshold the robots are never switched. With a single number allowed
    there is no threshold, and only the optimum is drawn.
    """
    if not isinstance(search, ThresholdSearch | BestThresholds):
        kind = type(search).__name__
        raise TypeError(f'must be the search of optimize(scenario, "threshold"), not a {kind}')
    unit = plain(search.time_unit)
    ax = panel(ax, "threshold (pages in the system)", f"cost per {unit}", _HEIGHT)
    pairs = sorted((row for row in search.table if len(row.robots) == 2), key=lambda row: row.cost)
    for row, colour, marker in zip(pairs, COLOURS, _MARKERS, strict=False):
        costs = search.costs_against_threshold(row.robots)
        label = f"{counted(row.robots[0], 'robot')}, then {row.robots[1]}"
        _curve(ax, costs, colour, marker, label=label)
    best = search.optimum
    levels = f" at {_numbers(best.at)}" if best.at else ""
    label = f"optimum: {'' if best.at else 'always '}{_numbers(best.robots)}{levels}"
    ax.axhline(best.cost, color=THEORY, lw=0.9, ls="--", label=label)
    if search.other is not None and np.isfinite(search.other[1]):
        label = _other(*search.other)
        ax.axhline(search.other[1], color=COLOURS[1], lw=0.9, ls=":", label=label)
    whole_numbers(ax.xaxis)
    ax.set_xlim(-0.03 * max(search.top, 1), 1.03 * max(search.top, 1))
    legend_above(ax, columns=2)
    return ax


def plot_hysteresis(search: HysteresisSearch, ax: Axes | None = None) -> Axes:
    """Active robots at each level, while it rises and while it falls.

    Parameters
    ----------
    search : HysteresisSearch
        Of `analytic.optimize(scenario, "threshold").search`, where switches have a price or take a
        time.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    best = search.optimum
    ax = panel(ax, "pages in the system", "active robots", _HEIGHT)
    levels = np.arange(search.top + 1)
    ways = {"while it rises": (best.at, THEORY), "while it falls": (best.back, SIMULATED)}
    for way, (thresholds, colour) in ways.items():
        passed = np.searchsorted(np.array(thresholds, dtype=int), levels)
        ax.step(levels, np.array(best.robots)[passed], where="mid", color=colour, label=way)
    whole_numbers(ax.xaxis, ax.yaxis)
    ax.set_ylim(bottom=0)
    legend_above(ax, columns=2)
    return ax


def _plot_thresholds(search: Any, ax: Axes | None = None) -> Axes:
    if isinstance(search, HysteresisSearch):
        return plot_hysteresis(search, ax)
    plot = plot_rule_map if isinstance(search, RuleMap) else plot_threshold_costs
    return plot(search, ax)


def plot_static_costs(search: StaticSearch, ax: Axes | None = None) -> Axes:
    """Cost against a fixed number of robots, with its least value marked.

    Parameters
    ----------
    search : StaticSearch
        Of `analytic.optimize(scenario, "static").search`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    ax = panel(ax, "active robots", f"cost per {plain(search.time_unit)}", _HEIGHT)
    _curve(ax, search.costs, COLOURS[0])
    best = search.optimum
    label = f"optimum: {best}, {search.costs[best]:.6g}"
    ax.plot(best, search.costs[best], "D", color=THEORY, ms=6, mfc="none", label=label)
    if search.other is not None and np.isfinite(search.other[1]):
        criterion, cost, robots = search.other
        name = _other(criterion, cost, _ALONE, f"{robots}, ")
        ax.plot(robots, cost, "s", color=COLOURS[1], ms=8, mfc="none", label=name)
    whole_numbers(ax.xaxis)
    legend_above(ax, columns=1)
    return ax


def plot_switching_policy(
    search: TargetSearch, event: str, ax: Axes | None = None, phase: int = 0
) -> Axes:
    """Where the optimal rule switches a robot on, as in Figures 2 to 4 of talim2001.

    Parameters
    ----------
    search : TargetSearch
        Of `analytic.optimize(scenario, "switching").search`.
    event : {"service", "delivery"}
        The paper's s = 0 and s = 1.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    phase : int
        Of the service, where it has several.
    """
    ax = panel(ax, "active robots before the event", "pages before the event", _HEIGHT)
    curves = search.curves(phase)
    top = search.queue.levels.capacity
    first = 1 if event == "service" else 0
    highest = curves.after_service if event == "service" else curves.after_delivery
    for level in range(first, top + 1):
        robots = np.arange(1 - first, search.queue.modes.available + 1)
        on = highest[robots] >= level
        marks: dict[str, Any] = {"color": COLOURS[first], "ls": "none", "ms": 4.5}
        ax.plot(robots[on], np.full(on.sum(), level), "o", **marks)
        ax.plot(robots[~on], np.full((~on).sum(), level), "o", mfc="none", mew=0.7, **marks)
    name = "service completion" if event == "service" else "delivery"
    cost = f"cost {search.cost:.6g}"
    ax.set_title(f"{name} (filled: switch on), {cost}", fontsize=9, loc="left", color="#333333")
    whole_numbers(ax.xaxis, ax.yaxis)
    ax.set_ylim(-0.5, top + 0.5)
    return ax


def plot_switching_curves(search: TargetSearch, ax: Axes | None = None) -> Axes:
    """The two switching curves of the optimal rule, of the first phase of the service.

    Parameters
    ----------
    search : TargetSearch
        Of `analytic.optimize(scenario, "switching").search`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    ax = panel(ax, "active robots before the event", "highest level to switch on at", _HEIGHT)
    curves = search.curves()
    phases = search.queue.levels.phases
    of_phase = f" (service phase 0 of 0 … {phases - 1})" if phases > 1 else ""
    for values, least, name, colour in (
        (curves.after_service, 1, "at a service", COLOURS[0]),
        (curves.after_delivery, 0, "at a delivery", COLOURS[1]),
    ):
        shown = np.where(values < least, np.nan, values)
        _curve(ax, shown[: search.queue.modes.available + 1], colour, label=name + of_phase)
    whole_numbers(ax.xaxis, ax.yaxis)
    legend_above(ax)
    return ax


def plot_targets(search: BestTargets, ax: Axes | None = None) -> Axes:
    """Targets of the switching rule by level, end to end and by the papers' criterion.

    Parameters
    ----------
    search : BestTargets
        Of `analytic.optimize(scenario, "switching").search` where staleness has a price.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    ax = panel(ax, "pages in the system", "robots wanted", _HEIGHT)
    name = f"best found: {search.cost:.6g}"
    _curve(ax, search.targets, COLOURS[0], mfc="none", label=name)
    if search.other is not None and search.other_targets:
        name = _other(*search.other, _ALONE)
        how: Any = {"mfc": "none", "ms": 7.0}  # open around the other where both are alike
        _curve(ax, search.other_targets, COLOURS[1], "s", label=name, **how)
    whole_numbers(ax.xaxis, ax.yaxis)
    legend_above(ax, columns=1)
    return ax


def _curve(
    ax: Axes, values: Sequence[float] | Array, colour: str, marker: str = "o", **how: Any
) -> None:
    """Values at 0, 1, 2 …, with marks where these are few."""
    mark = marker if len(values) - 1 <= _FEW_LEVELS else None
    ax.plot(values, **{"color": colour, "marker": mark, "ms": 3.5, "lw": 1.1, **how})


def plot_best_probes(search: ProbeSearch | BudgetSearch, ax: Axes | None = None) -> Axes:
    """Intensity of the updates, their importance, and the best probe times.

    Parameters
    ----------
    search : ProbeSearch or BudgetSearch
        Of `analytic.optimize(scenario, "probes").search`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    if isinstance(search, BudgetSearch):
        return plot_shared_probes(search.scenario, ax)
    return plot_probes(search.scenario, axes_for(ax, _HEIGHT))


def plot_frequencies(search: FrequencySearch, ax: Axes | None = None) -> Axes:
    """Frequency against change rate, page by page; pages that get none are marked below.

    Parameters
    ----------
    search : FrequencySearch
        Of `analytic.optimize(scenario, "frequencies").search`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Notes
    -----
    The line is what accesses in proportion to change rates would be; hollow squares are the
    frequencies that would be best without a buffer, where pages go through one. Both scales are
    logarithmic; pages that never change have no place on them, and the legend says how many there
    are.
    """
    rates = search.change_rates
    ax = panel(ax, f"change rate (per {plain(search.time_unit)})", "share of the accesses", _HEIGHT)
    changes = rates > 0
    accessed = changes & (search.shares > 0)
    left_out = changes & ~accessed
    style: dict[str, Any] = {"ls": "none", "rasterized": len(rates) > MANY_POINTS}
    label = _counted("page", int(accessed.sum()))
    shares = search.shares[accessed]
    ax.plot(rates[accessed], shares, "o", color=SIMULATED, ms=3.5, label=label, **style)
    style |= {"color": COLOURS[1], "ms": 4.5}
    if search.alone is not None:
        some = changes & (search.alone > 0)
        label = "best without a buffer"
        ax.plot(rates[some], search.alone[some], "s", mfc="none", label=label, **style)
    if left_out.any():
        label = f"{_counted('page', int(left_out.sum()))} without accesses"
        where = np.full(int(left_out.sum()), 0.02)
        style["transform"] = ax.get_xaxis_transform()
        ax.plot(rates[left_out], where, "x", label=label, **style)
    if changes.any():
        changing = rates[changes]
        ends = np.array([changing.min() / _MARGIN, changing.max() * _MARGIN])
        ax.plot(
            ends, ends / changing.sum(), "--", color=THEORY, lw=0.9, label="as the change rates"
        )
        logarithmic(ax, *"xy")
    if not changes.all():
        constant = _counted("page", int((~changes).sum()))
        ax.plot([], [], ls="none", label=f"{constant} without changes")
    legend_above(ax)
    return ax


def _counted(what: str, number: int) -> str:
    return quantity(f"{number:,}", what)


def plot_word(search: WordSearch, ax: Axes | None = None) -> Axes:
    """Two periods, or the first slots, of the best order: which server or page has which slot.

    Parameters
    ----------
    search : WordSearch
        Of `analytic.optimize(scenario, "routing").search` or `"template"`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Notes
    -----
    The line marks the end of the first period. At most 60 slots are drawn, and the title says so;
    what the order first uses later has a triangle at the right edge, what it never uses a cross at
    the left one.
    """
    subject = search.costs.subject
    count = search.costs.count
    word = np.array(search.word)
    shown = np.tile(word, 2)[:_MOST_SLOTS]
    cut = len(shown) < len(word)
    across = f"slot (first {len(shown)} of {len(word)} slots)" if cut else "slot"
    ax = panel(ax, across, subject, _WORD_HEIGHT)
    size = min(_MARK, max(_ROWS / count, 1.0))
    for each in np.unique(shown).tolist():
        slots = np.flatnonzero(shown == each)
        colour = COLOURS[each % len(COLOURS)]
        ax.plot(slots, np.full(len(slots), each), "s", color=colour, ms=size)
    if len(word) < len(shown):
        ax.axvline(len(word) - 0.5, color=THEORY, lw=0.9, ls="--")
    later = np.setdiff1d(word, shown)
    never = np.setdiff1d(np.arange(count), word)
    for rows, slot, marker, label in (
        (later, len(shown), ">", f"not before slot {len(shown)}"),
        (never, -1, "x", f"never {_USED[subject]}"),
    ):
        if rows.size:
            ax.plot(np.full(len(rows), slot), rows, marker, color=_GREY, ms=size, label=label)
    above = None
    if later.size or never.size:
        legend_above(ax)
        above = 1.09
    part = f", first {len(shown)} slots drawn" if cut else ""
    proof = "no order costs less" if search.proved else f"at most {search.gap:.3g} % above the best"
    title = f"period of {len(word)}{part}\ncost {search.cost:.6g}: {proof}"
    ax.set_title(title, fontsize=9, loc="left", color="#333333", y=above)
    ax.xaxis.set_major_locator(FixedLocator(_ticks(len(shown), last=False)))
    ax.yaxis.set_major_locator(FixedLocator(_ticks(count, last=True)))
    ax.set_xlim(-1.8 if never.size else -0.9, len(shown) + 0.8)
    ax.set_ylim(count - 0.5, -0.5)
    return ax


def _ticks(count: int, last: bool) -> list[float]:
    """Whole numbers from 0 to below a count; the last of them too, where asked for."""
    most = count - 1
    inner = list(MaxNLocator(9, integer=True).tick_values(0, max(most, 1)))
    if not last:
        return [each for each in inner if 0 <= each <= most]
    step = inner[1] - inner[0]
    return [*(each for each in inner if 0 <= each <= most - step / 2), most]


def _plot_switching(
    search: TargetSearch | BestTargets | EnvironmentSearch | ChoiceSearch,
    ax: Axes | None = None,
) -> Axes:
    """The figure of the best switching rule: its curves, or its targets where there are none."""
    if isinstance(search, BestTargets):
        return plot_targets(search, ax)
    if isinstance(search, ChoiceSearch):
        return plot_choices(search, ax)
    if isinstance(search, EnvironmentSearch):
        return plot_targets_by_state(search, ax)
    return plot_switching_curves(search, ax)


def plot_choices(search: ChoiceSearch, ax: Axes | None = None) -> Axes:
    """Which class is switched on, by pages in the system and active robots of each class.

    Parameters
    ----------
    search : ChoiceSearch
        Of `analytic.optimize(scenario, "switching").search` with ``robots.classes``.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Notes
    -----
    Active robots are counted after the event and before the decision. States in which the rule is
    never asked are left white. Where the rule looks at the state of an environment or the phase of
    the service, that of state 0 and phase 0.
    """
    asked = search.asked[0, :, : search.queue.modes.combinations] > 0
    places = np.flatnonzero(asked.any(axis=0))
    chosen = np.where(asked, search.tables[0, :, : asked.shape[1]], NEVER_ASKED)[:, places]
    first = of_the_first(search.queue.modes.states, search.queue.levels.phases)
    title = f"who is switched on after an event{first}, cost {search.cost:.6g}"
    return draw_choices(chosen, search.queue.modes.active[places], search.classes, title, ax)


def plot_rule_map(search: RuleMap, ax: Axes | None = None) -> Axes:
    """How many robots at each level, a row for each rule or phase: darker cells have more.

    Parameters
    ----------
    search : RuleMap
        Of `analytic.optimize(scenario, "levels").search`, or "free".
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    return draw_numbers(search.rows, "active robots", ax)


def plot_targets_by_state(search: EnvironmentSearch, ax: Axes | None = None) -> Axes:
    """Targets at each level, a row for each state of the environment and one for all of them.

    Parameters
    ----------
    search : EnvironmentSearch
        Of `analytic.optimize(scenario, "switching").search` with ``robots.environment``.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    return draw_numbers(search.rows, "active robots up to which one more is switched on", ax)


PLOTS: dict[str, Callable[[Any, Axes | None], Axes]] = {
    "static": plot_static_costs,
    "threshold": _plot_thresholds,
    "levels": plot_rule_map,
    "free": plot_rule_map,
    "switching": _plot_switching,
    "template": plot_word,
    "routing": plot_word,
    "frequencies": plot_frequencies,
    "probes": plot_best_probes,
}
"""The figure of each target of `crawlsim optimize` that has one."""


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


def _other(criterion: str, cost: float, letters: int = _LEGEND, decided: str = "") -> str:
    """Another criterion in a legend, what it decides, and what that costs."""
    return "\n".join(wrap(f"by {criterion}: {decided}{cost:.6g}", letters))
