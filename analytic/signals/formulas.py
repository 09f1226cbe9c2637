"""The index of formulas of robots that hear signals of changes."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from analytic.frontier.formulas import (
    counted_from_delivery,
    known_accesses,
    robots_missing,
    rows_at_once,
)
from analytic.index import page_conditions
from analytic.index.accesses import access_law, accessed_pages, time_per_access
from analytic.index.conditions import every_access_delivers, no_host_spacing
from analytic.index.formula import Formula, Values, dependent, premise
from analytic.machinery.transforms import exc, excess, log_transform, mean_time
from analytic.page_refresh.hosts import mean_known
from analytic.signals.cycles import Cycles, cycles_at
from analytic.signals.levels import best_levels
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution
from scenarios.model import Listening, present
from scenarios.page_data import due_levels
from scenarios.signals import SignalRates


def least_obsolescence(signals: SignalRates, weights: ArrayLike, accesses: float) -> float:
    """Weighted obsolescence below which no policy comes that hears the signals.

    Own result: proved in docs/theory/signals.md.

    Parameters
    ----------
    signals : SignalRates
    weights : array_like, shape (pages,)
    accesses : float
        Per unit time, at most, in the mean.
    """
    w = np.asarray(weights, dtype=float)
    return float(w @ (1.0 - best_levels(signals, w, accesses).fresh))


def level_obsolescence(signals: SignalRates, levels: ArrayLike, law: Distribution) -> Array:
    """Obsolescence rate of pages that are accessed when they reach a level, and never wait.

    Own result: proved in docs/theory/signals.md.

    Parameters
    ----------
    signals : SignalRates
    levels : array_like, shape (pages,)
    law : Distribution
        Of the access time.

    Returns
    -------
    ndarray, shape (pages,)
    """
    return _stale(signals, cycles_at(signals, np.asarray(levels, dtype=float)), law)


def _stale(signals: SignalRates, found: Cycles, law: Distribution) -> Array:
    """Stale until due, and from then on until the access ends.

    Of an access ``E X - (1 - E e^{-D X}) / D`` is stale in the mean if the copy is fresh as the
    page falls due, and the rest as well if it is not: with probability ``D F``.
    """
    changes = signals.silent + signals.true
    stale: Array = np.where(changes > 0, 1.0, 0.0)
    due = np.isfinite(found.lengths) & (changes > 0)
    d, length, fresh = changes[due], found.lengths[due], found.fresh[due]
    exponents = log_transform(law, d)
    until_due = length - fresh
    while_fresh = (exc(exponents) + excess(law, d)) / d
    missed = until_due + while_fresh - fresh * np.expm1(-exponents)
    stale[due] = np.clip(missed / (length + mean_time(law)), 0.0, 1.0)
    return stale


@premise
def hears_signals(scenario: Scenario) -> str | None:
    """What robots do depends on signals of changes."""
    return None if scenario.model.hearing is not None else "robots hear no signals of changes"


@premise
def due_at_levels(scenario: Scenario) -> str | None:
    """Pages fall due when their age and their signals reach a level."""
    hearing = scenario.model.hearing
    by_level = hearing is not None and hearing.listening is Listening.UP_TO_LEVEL
    return None if by_level else "pages do not fall due at levels"


def signals_at_once(scenario: Scenario) -> str | None:
    """Signals are heard at once."""
    return None if present(scenario.model.hearing).delay is None else "signals are heard late"


@dependent
def robot_for_each(scenario: Scenario) -> str | None:
    """There is a robot for each page that is ever due."""
    return robots_missing(scenario, due_cycles(scenario).lengths)


def signals_of_pages(scenario: Scenario) -> SignalRates:
    """Changes and signals of the pages of a scenario whose robots hear them."""
    return present(scenario.model.pages).signals


def due_cycles(scenario: Scenario) -> Cycles:
    """Times from a delivery of each page until it is due again, where pages are due at levels.

    A level that is inf is never reached, whatever is heard.

    Parameters
    ----------
    scenario : Scenario
    """
    pages = present(scenario.model.pages)
    levels = due_levels(present(scenario.model.frontier).policy, pages)
    lengths, fresh = cycles_at(pages.signals, levels)
    return Cycles(np.where(np.isinf(levels), np.inf, lengths), fresh)


def most_accesses(scenario: Scenario) -> float:
    """Accesses per unit time that there are at most, in the mean.

    Robots that rest while no page is due make no more than there are levels reached: waiting for a
    robot, and the access itself, only make cycles longer.
    """
    most = 1.0 / time_per_access(scenario)
    settled = scenario.model.unresolved is None and signals_at_once(scenario) is None
    if due_at_levels(scenario) is not None or not settled:
        return most
    return min(most, float(due_cycles(scenario).rates.sum()))


def _bound(scenario: Scenario) -> Values:
    weights = accessed_pages(scenario).weights
    accesses = most_accesses(scenario)
    least = least_obsolescence(signals_of_pages(scenario), weights, accesses)
    yield "weighted_obsolescence", None, least


def _alone(scenario: Scenario) -> Values:
    law, found = present(access_law(scenario)), due_cycles(scenario)
    due = np.isfinite(found.lengths)
    stale = _stale(signals_of_pages(scenario), found, law)[due]
    return rows_at_once(scenario, due, found.lengths[due], stale)


_row = partial(Formula, paper="signals", origin="own")

FORMULAS: tuple[Formula, ...] = (
    _row(
        number="any policy that hears",
        quantity="weighted obsolescence of the best policy that hears signals of changes",
        latex=r"\begin{split}"
        r"C&\ge\sum_iw_i\left(1-\frac{F_i(x_i)}{T_i(x_i)}\right),\qquad "
        r"w_i\left(F_i(x_i)-e^{-a_ix_i}\,T_i(x_i)\right)=\lambda,\qquad "
        r"\sum_i\frac{1}{T_i(x_i)}=\frac{R}{\mathbb{E}X}\\"
        r"T_i(x)&=\frac{1}{g_i}\sum_{k\ge0}P\left(k+1,g_i(x-kb_i)^+\right),\qquad "
        r"b_i=-\frac{\ln(1-p_i)}{a_i}\\"
        r"F_i(x)&=\frac{1}{a_i+g_i}\sum_{k\ge0}\left(\frac{g_i(1-p_i)}{a_i+g_i}\right)^k"
        r"P\left(k+1,(a_i+g_i)(x-kb_i)^+\right)"
        r"\end{split}",
        function=least_obsolescence,
        kind="lower bound",
        conditions=(
            hears_signals,
            page_conditions.some_robot_works,
            every_access_delivers,
            mean_known,
        ),
        evaluate=_bound,
    ),
    _row(
        number="levels, a robot for each page",
        quantity="obsolescence rates and accesses of pages due at levels that never wait",
        latex=r"r_i=1-\frac{F_i(x_i)+\left(\frac{1}{D_i}-F_i(x_i)\right)"
        r"\left(1-\mathbb{E}\,e^{-D_iX}\right)}{T_i(x_i)+\mathbb{E}X},\qquad "
        r"y_i=\frac{1}{T_i(x_i)+\mathbb{E}X}",
        function=level_obsolescence,
        kind="exact",
        conditions=(
            due_at_levels,
            page_conditions.no_buffer,
            page_conditions.robots_always_work,
            page_conditions.resolved_frequencies,
            known_accesses,
            counted_from_delivery,
            every_access_delivers,
            no_host_spacing,
            signals_at_once,
            robot_for_each,
        ),
        evaluate=_alone,
    ),
)
"""The index: paper, name, quantity, function, kind, conditions."""
