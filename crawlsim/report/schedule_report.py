"""The report of a schedule: what a log says, what the plan makes of it, and the page for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from numpy.typing import NDArray

from crawlsim.logs.plan import allocation
from crawlsim.logs.plan.allocation import DAY, Limits, Worth, leave_room
from crawlsim.logs.plan.planning import Forecast, planned, stale_share, stale_shares
from crawlsim.logs.plan.quantities import day_of, in_words
from crawlsim.logs.plan.schedule import COST_IN_WORDS, IN_WORDS, Schedule
from crawlsim.logs.plan.simulation import SimulatedPlan
from crawlsim.report.drawing import (
    SIMULATED,
    THEORY,
    integers,
    legend_above,
    logarithmic,
    panel,
    places_of_many,
    svg_text,
)
from crawlsim.report.pages import rendered
from crawlsim.report.words import number
from scenarios.arrays import Array, but_for_rounding
from scenarios.text import quantity, shortened

_HEIGHT = 3.0
_VISITS = "#c24a00"
_FEW = 20
_SCALES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
_MOST_PAGES = 8192
_MOST_REPLANNED = 50_000
_MOST_ROWS = 20
_LONGEST_URL = 120
_VERDICTS = {
    "pays": "Plans of earlier years paid",
    "does not pay": "Plans of earlier years did not pay",
    "unknown": "The earlier years do not show whether plans pay here",
}
_BADGES = {"pays": "agrees", "does not pay": "disagrees", "unknown": "inconclusive"}


def plot_rates(schedule: Schedule, ax: Axes | None = None) -> Axes:
    """Change rates of the pages in descending order with 95 % intervals, and the visits of each."""
    ax = panel(ax, "pages, those that change most first", "per day", _HEIGHT)
    pages = len(schedule.urls)
    shown = places_of_many(pages)
    order = np.argsort(-but_for_rounding(schedule.estimates.rates), kind="stable")[shown]
    place = shown + 1
    rates = schedule.estimates.rates[order] * DAY
    floor = rates.min() / 100
    low = np.maximum(schedule.estimates.low[order] * DAY, floor)
    high = schedule.estimates.high[order] * DAY
    few = pages <= _FEW
    ax.vlines(place, low, high, color=SIMULATED, lw=0.7, alpha=0.35, label="95 % interval")
    ax.plot(place, rates, "o" if few else "-", color=THEORY, ms=4, lw=1.2, label="changes")
    visits = DAY / schedule.intervals[order]
    ax.plot(place, visits, "D", color=_VISITS, ms=4 if few else 2.2, mew=0, label="visits")
    logarithmic(ax, *("y" if few else "xy"))
    if few:
        ax.set_xlim(0.5, pages + 0.5)
        integers(ax)
    legend_above(ax, columns=3)
    return ax


@dataclass(frozen=True)
class BudgetPoint:
    """Stale shares at a multiple of the budget; of the plan and of uniform visits."""

    scale: float
    plan: float
    uniform: float


def budget_points(schedule: Schedule) -> list[BudgetPoint]:
    """Stale shares from a quarter to four times the budget, where the limits can be kept.

    Parameters
    ----------
    schedule : Schedule
        Of more than 50 000 pages as many at equal distances in the list are planned anew.

    Returns
    -------
    list of BudgetPoint
        Each planned for its budget, with the same share spread evenly; none where the visits are
        shared out by a rule of others, or nothing is promised. Those of a part of the pages are
        made to agree with what is expected of all with the budget as it is. None with signals.
    """
    if schedule.asked.rule != "freshness" or schedule.expected is None or schedule.by_signals:
        return []
    number = len(schedule.urls)
    some = np.linspace(0, number - 1, min(number, _MOST_REPLANNED)).astype(np.int64)
    forecast = _forecast_for(schedule.forecast, some)
    importance = schedule.importance[some]
    points = []
    for scale in _SCALES:
        limits = _limits_of(schedule.limits, some, scale)
        if forecast.fetched is not None:
            limits = replace(limits, takes=forecast.fetched.bytes)
        if not leave_room(limits):
            continue
        plan = planned(forecast, importance, limits, schedule.even_share)
        if schedule.asked.tiers:
            tiers = 1 / np.sort(schedule.asked.tiers)[::-1]
            plan = allocation.in_tiers(plan, tiers, limits)
        rules = (plan, allocation.evenly(limits))
        shares = [float(stale_shares(forecast, each, importance).mean()) for each in rules]
        points.append(BudgetPoint(scale, *shares))
    now = next((each for each in points if each.scale == 1), None)
    if now is None or len(some) == number:
        return points
    of_plan = schedule.expected["plan"].mean / now.plan
    of_uniform = schedule.expected["uniform"].mean / now.uniform
    return [
        BudgetPoint(each.scale, each.plan * of_plan, each.uniform * of_uniform) for each in points
    ]


def _forecast_for(forecast: Forecast, some: NDArray[np.int64]) -> Forecast:
    """What is known of some pages."""
    worth = Worth(forecast.worth.log_visits, forecast.worth.log_values[some])
    draws = forecast.draws[some]
    every = np.arange(len(some))
    fetched = None if forecast.fetched is None else forecast.fetched.of(some)
    return replace(
        forecast, draws=draws, sampled=every, together=draws, worth=worth, fetched=fetched
    )


def _limits_of(limits: Limits, some: NDArray[np.int64], scale: float) -> Limits:
    """Limits of some pages, with their part of a multiple of the budget and of each host's."""
    of_all = np.bincount(limits.host)
    hosts, host = np.unique(limits.host[some], return_inverse=True)
    part = np.bincount(host) / of_all[hosts]
    budget = scale * limits.budget * len(some) / len(limits.host)
    return replace(limits, budget=budget, host=host, host_budgets=part * limits.host_budgets[hosts])


def plot_budget(schedule: Schedule, points: Sequence[BudgetPoint], ax: Axes | None = None) -> Axes:
    """Stale share against the budget, of the plan and of uniform visits."""
    what = "visits" if schedule.asked.bytes is None else "bytes"
    ax = panel(ax, f"{what} per day", "stale share (%)", _HEIGHT)
    budget = schedule.asked.budget * DAY
    visits = [each.scale * budget for each in points]
    uniform = [100 * each.uniform for each in points]
    plan = [100 * each.plan for each in points]
    ax.plot(visits, uniform, "s--", color=THEORY, ms=3.5, lw=1, label="uniform")
    ax.plot(visits, plan, "o-", color=SIMULATED, ms=4, lw=1.2, label="this plan")
    ax.axvline(budget, color=_VISITS, lw=0.9, ls=":", label="present budget")
    logarithmic(ax, "x")
    ax.set_ylim(bottom=0)
    legend_above(ax, columns=3)
    return ax


def plot_backtest(schedule: Schedule, ax: Axes | None = None) -> Axes:
    """Stale time of uniform visits that the plan of each year promised to save, and what it paid.

    Raises
    ------
    ValueError
        If no back-test was asked for, or it had no year to replay.
    """
    if not schedule.windows:
        raise ValueError("the schedule has no back-test to draw")
    saved = f"{COST_IN_WORDS[schedule.asked.objective]} saved (%)"
    ax = panel(ax, "year that begins on", saved, _HEIGHT)
    place = np.arange(len(schedule.windows))
    promised = _in_percent([each.promised for each in schedule.windows])
    paid = _in_percent([each.paid for each in schedule.windows])
    ax.axhline(0.0, color=THEORY, lw=0.9)
    ax.vlines(place, promised, paid, color="#999999", lw=0.8)
    ax.plot(place, promised, "o", mfc="white", color=THEORY, ms=6, label="promised")
    ax.plot(place, paid, "o", color=SIMULATED, ms=6, label="paid")
    days = [day_of(each.cut) for each in schedule.windows]
    if len(days) > _FEW:
        ax.set_xticks(place[:: len(days) // _FEW + 1], days[:: len(days) // _FEW + 1])
    else:
        ax.set_xticks(place, days)
    ax.tick_params(axis="x", labelrotation=45 if len(days) > 3 else 0)
    ax.set_xlim(-0.5, len(days) - 0.5)
    legend_above(ax)
    return ax


def _in_percent(shares: Sequence[float | None]) -> Array:
    return np.array([np.nan if share is None else 100 * share for share in shares])


def stale_shares_of_pages(schedule: Schedule) -> Array:
    """Expected share of time for which the copy of each page is out of date, shape (pages,).

    NaN where nothing is promised.
    """
    stale = np.full(len(schedule.urls), np.nan)
    if schedule.expected is None:
        return stale
    if schedule.by_signals is not None:
        return schedule.by_signals.stale().mean(axis=1)
    for first in range(0, len(stale), _MOST_PAGES):
        part = slice(first, first + _MOST_PAGES)
        rates = schedule.forecast.grid[schedule.forecast.draws[part]]
        stale[part] = stale_share(rates, 1 / schedule.intervals[part, None]).mean(axis=1)
    return stale


@dataclass(frozen=True)
class Place:
    """Pages of a host or folder together.

    Attributes
    ----------
    name : str
    pages : int
    visits : float
        Per day.
    share : float
        Of all visits.
    stale : float
        Mean share of time out of date.
    """

    name: str
    pages: int
    visits: float
    share: float
    stale: float


def places_of(schedule: Schedule, stale: Array) -> list[Place]:
    """Where visits go: by host, or by the first folder where all pages are on one host.

    Parameters
    ----------
    schedule : Schedule
    stale : ndarray, shape (pages,)
        Share of time out of date of each page.

    Returns
    -------
    list of Place
        Those with most visits first.
    """
    import pandas as pd

    urls = pd.Series(schedule.urls, dtype=object)
    parts = urls.str.extract(r"^((?:[A-Za-z][\w+.-]*://)?[^/?#]*)(/[^/?#]*/)?")
    names = parts[0]
    if names.nunique() == 1:
        names = names + parts[1].fillna("/")
    table = pd.DataFrame({"visits": DAY / schedule.intervals, "stale": stale})
    groups = table.groupby(names.to_numpy(object), sort=True)
    places = groups.agg(pages=("visits", "size"), visits=("visits", "sum"), stale=("stale", "mean"))
    places = places.sort_values("visits", ascending=False, kind="stable")
    total = table["visits"].sum()
    return [
        Place(str(row.Index), int(row.pages), float(row.visits), row.visits / total, row.stale)
        for row in places.itertuples()
    ]


def schedule_page(schedule: Schedule, simulation: SimulatedPlan | None) -> str:
    """The report of a schedule as one HTML page: no script, nothing fetched, the same every time.

    Parameters
    ----------
    schedule : Schedule
    simulation : SimulatedPlan, optional
        The plan carried out in the simulation.
    """
    stale = stale_shares_of_pages(schedule)
    places = places_of(schedule, stale)
    points = budget_points(schedule)
    worst = np.argsort(-but_for_rounding(stale), kind="stable")[:_MOST_ROWS]
    why = schedule.why
    return rendered(
        "schedule.html",
        {
            "number": number,
            "percent": _percent,
            "duration": in_words,
            "short": lambda text: shortened(str(text), _LONGEST_URL),
        },
        schedule=schedule,
        simulation=simulation,
        budget=_budget(schedule),
        lead=list(_lead(schedule)),
        span=[datetime.fromtimestamp(each, UTC).date() for each in _span(schedule)],
        rates=Markup(svg_text(plot_rates(schedule), "rates")),
        curve=Markup(svg_text(plot_budget(schedule, points), "budget")) if points else None,
        budgets=_of_half_and_twice(points, "visits" if schedule.asked.bytes is None else "bytes"),
        sampled=len(schedule.urls) > _MOST_REPLANNED,
        most_replanned=_MOST_REPLANNED,
        tested=Markup(svg_text(plot_backtest(schedule), "backtest")) if schedule.windows else None,
        verdict=None if schedule.verdict is None else _VERDICTS[schedule.verdict],
        badge=None if schedule.verdict is None else _BADGES[schedule.verdict],
        paid=_paid(schedule),
        worst=[
            (
                schedule.urls[page],
                schedule.estimates.rates[page] * DAY,
                schedule.intervals[page],
                stale[page],
                why[page],
            )
            for page in worst.tolist()
        ],
        places=places[:_MOST_ROWS],
        more_places=max(len(places) - _MOST_ROWS, 0),
        rules=IN_WORDS,
    )


def _span(schedule: Schedule) -> tuple[float, float]:
    return schedule.gaps.begin, schedule.gaps.end


def _percent(share: float | None) -> str:
    return "–" if share is None or np.isnan(share) else f"{100 * share:.1f} %".replace("-", "−")


def _lead(schedule: Schedule) -> list[str]:
    """What the operator gets, in two sentences."""
    pages = quantity(number(len(schedule.urls)), "page")
    visits = _budget(schedule)
    if schedule.expected is None:
        return [f"{visits} a day for {pages}, and no promise. {schedule.no_promise}"]
    plan = schedule.expected["plan"]
    weighted = "" if schedule.asked.weights is None else ", weighted by importance"
    interval = f"({_percent(plan.low)} to {_percent(plan.high)}, 95 %)"
    saving = schedule.saving("uniform")
    first = (
        f"With {visits} a day by this plan, the copies of "
        f"{pages} are expected to be out of date for {_percent(plan.mean)} of the time{weighted} "
        f"{interval}; visited equally often, for {_percent(schedule.expected['uniform'].mean)}"
    )
    if saving is not None:
        word = "saves" if saving >= 0 else "adds"
        first += f", so that the plan {word} {_percent(abs(saving))} of the stale time"
    if schedule.verdict is None:
        second = "Whether that comes true on this site was not tested: --backtest replays the \
plans of earlier years."
    else:
        second = f"{_VERDICTS[schedule.verdict]}; how much this one will pay cannot be predicted, \
since it depends on what changes next."
    return [f"{first}.", second]


def _budget(schedule: Schedule) -> str:
    """What may be spent in a day."""
    if schedule.asked.bytes is not None:
        return schedule.asked.in_words(schedule.asked.budget)
    return quantity(number(schedule.asked.visits * DAY, 4), "visit")


def _paid(schedule: Schedule) -> tuple[float, float, float] | None:
    """Least, mean and largest saving that was paid; None where nothing was."""
    paid = [each.paid for each in schedule.windows or () if each.paid is not None]
    return (min(paid), float(np.mean(paid)), max(paid)) if paid else None


def _of_half_and_twice(points: Sequence[BudgetPoint], what: str) -> str:
    """What half the budget would cost, and what twice as much would save, in a sentence."""
    plans = {each.scale: each.plan for each in points}
    now = plans.get(1.0)
    if now is None:
        return ""
    said = []
    if 0.5 in plans:
        more = 100 * (plans[0.5] - now)
        said.append(f"half the {what} would cost {more:.1f} points ({_percent(plans[0.5])})")
    if 2.0 in plans:
        less = 100 * (now - plans[2.0])
        said.append(f"twice as many would save {less:.1f} points ({_percent(plans[2.0])})")
    if not said:
        return ""
    head = f"Now the stale share is {_percent(now)}: "
    return head + ", ".join(said) + "."
