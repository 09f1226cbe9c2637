"""Which exact method covers a scenario, and what it gives: one row per method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from analytic.index import conditions, page_conditions, page_rows
from analytic.index.accesses import accessed_pages
from analytic.index.formula import (
    Condition,
    Formula,
    Reasons,
    Values,
    dependent,
    fails_a_premise,
    is_covered,
    obstacles,
)
from analytic.indexing_queue.measures import (
    COST_WITHOUT_RESPONSE,
    control_cost,
    converged,
    fits_in_memory,
    one_closed_class,
)
from analytic.indexing_queue.one_robot import accesses_fit
from analytic.indexing_queue.unordered_sojourns import one_by_one, pushed_one_by_one
from analytic.pipeline import conditions as own
from analytic.pipeline.dropping_and_replacement import (
    cost_with_labels,
    freshness_by_labels,
    labelled_page,
    labelled_sojourns,
    labels_fit,
    rows_with_labels,
    sojourns_with_labels,
)
from analytic.pipeline.marked_copies import (
    freshness_of_marked,
    freshness_of_shared_marked,
    marked_rate,
    marks_suffice,
    shared_marked,
    shared_marks_suffice,
)
from analytic.pipeline.patience import (
    counted_slopes,
    counts_fit,
    freshness_by_counts,
)
from analytic.pipeline.periodic_lists import (
    freshness_of_one_robot,
    freshness_on_shared_list,
    listed_rate,
    one_fits,
    shared_fits,
    shared_rate,
)
from analytic.pipeline.random_pages import (
    Freshness,
    band_is_solved,
    freshness_of_random_pages,
    obsolescence_rates,
    rates_without_waiting,
    single_place_rates,
)
from scenarios import Scenario
from scenarios.arrays import Array

PAPER = "pipeline"
"""Key of these formulas in the index."""

exact_row = partial(Formula, paper=PAPER, kind="exact", origin="own")


@dataclass(frozen=True)
class Method:
    """An exact method.

    Attributes
    ----------
    name, quantity, latex : str
        As in the index of formulas.
    function : callable
        The mathematics.
    conditions : tuple of callables
    freshness : callable
        From a scenario to what is known of its pages.
    """

    name: str
    quantity: str
    latex: str
    function: Callable[..., Any]
    conditions: tuple[Condition, ...]
    freshness: Callable[[Scenario], Freshness]

    def rates(self, scenario: Scenario) -> Array:
        """Obsolescence rate of each page."""
        return self.freshness(scenario).rates()

    def ages(self, scenario: Scenario) -> Array:
        """Mean age of each page's copy in the index."""
        return self.freshness(scenario).ages()

    def rows(self, scenario: Scenario) -> Values:
        """What it says of a scenario."""
        freshness = self.freshness(scenario)
        return freshness_rows(scenario, freshness.rates(), freshness.ages())


def freshness_rows(scenario: Scenario, rates: Array, ages: Array | None = None) -> Values:
    """Rows of all pages, their sum, and what clients see; ages of the pages that are fetched."""
    return page_rows.freshness_rows(scenario, accessed_pages(scenario).weights, rates, ages)


_QUEUE = (*own.MARKOVIAN, fits_in_memory, one_closed_class)
_ALONE = (
    *own.PATH,
    conditions.pages_leave_the_queue_alone,
    conditions.served_by_time_of_entry,
)
_RANDOM = (*_ALONE, page_conditions.randomized_policy)
_PLAIN = (conditions.no_obsolescence, conditions.first_come_first_served)
_LABELS = (
    *own.PATH,
    page_conditions.randomized_policy,
    own.changes_matter_to_the_queue,
    own.no_patience,
    conditions.not_one_at_a_time,
    *own.MARKOVIAN,
    one_by_one,
    fits_in_memory,
    one_closed_class,
    labels_fit,
)

METHODS: tuple[Method, ...] = (
    Method(
        "random pages",
        "obsolescence rates of pages drawn at random, through the buffer",
        r"\begin{split}"
        r"r_i&=p\,z_i,\qquad(\mu_iI-Q+f_iA)z_i=\mu_i\mathbf{e}"
        r"+f_i\,(A\mathbf{e})\circ(\mathbf{e}-y_i)\\"
        r"y_i(0)&=\beta g_i,\qquad y_i(n,m)=g_i(m)(\beta g_i)^n\ (n\ge1),\qquad "
        r"g_i=(\mu_iI-S)^{-1}\mathbf{s}"
        r"\end{split}",
        obsolescence_rates,
        (*_RANDOM, *_PLAIN, *_QUEUE, band_is_solved),
        freshness_of_random_pages,
    ),
    Method(
        "timers, LIFO or push-out",
        "the same rates with exponential timers, last come first served, push-out",
        r"r_i=p\,z_i,\qquad(\mu_iI-G_i)z_i=\mu_i\mathbf{e}",
        counted_slopes,
        (
            *_RANDOM,
            own.served_out_of_order_or_with_patience,
            conditions.exponential_patience_or_none,
            pushed_one_by_one,
            *_QUEUE,
            counts_fit,
        ),
        freshness_by_counts,
    ),
    Method(
        "phase-type timers",
        "the same rates with timers of phase type, small buffers",
        r"r_i=p\,z_i,\qquad(\mu_iI-G_i)z_i=\mu_i\mathbf{e}",
        counted_slopes,
        (
            *_RANDOM,
            own.patience_with_phases,
            conditions.first_come_first_served,
            *_QUEUE,
            counts_fit,
            converged,
        ),
        freshness_by_counts,
    ),
    Method(
        "dropping and replacement",
        "the same rates with page-change dropping or replacement, few kinds of pages",
        r"p\,Q_i=0,\qquad p\mathbf{e}=1,\qquad r_i=p\,\mathbf{u}_i",
        labelled_page,
        _LABELS,
        freshness_by_labels,
    ),
    Method(
        "shared list",
        "obsolescence rates of a periodic list that robots share, through the buffer",
        r"r_i=p\,z_i,\qquad(\mu_iI-Q+B_i)z_i=\mu_i\mathbf{e}+(B_i\mathbf{e})\circ(\mathbf{e}-y_i)",
        shared_rate,
        (
            *_ALONE,
            page_conditions.periodic_policy,
            page_conditions.robots_always_work,
            conditions.poisson_accesses,
            own.several_robots,
            page_conditions.working_robots_alike,
            *_PLAIN,
            *_QUEUE,
            shared_fits,
        ),
        freshness_on_shared_list,
    ),
    Method(
        "one robot",
        "obsolescence rates with one robot and access times of any law, through the buffer",
        r"\begin{split}"
        r"r_i&=1-\frac{1-h_i-\pi(\mathbb{E}\,e^{GX}-H_i)\bar w}{\mu_i\,\mathbb{E}X},\qquad "
        r"h_i=\mathbb{E}\,e^{-\mu_iX},\qquad H_i=\mathbb{E}\,e^{(G-\mu_iI)X}\\"
        r"w_j&=\begin{cases}"
        r"\mathbf{e}-y_i&\text{slot }j\text{ is of page }i,\text{ and it enters}\\"
        r"(1-h_i)\mathbf{e}+H_iw_{j+1}&\text{it is lost}\\"
        r"(1-h_i)\mathbf{e}+\Delta H_iw_{j+1}&\text{slot }j\text{ is of another page}"
        r"\end{cases}"
        r"\end{split}",
        listed_rate,
        (
            *_ALONE,
            conditions.not_switching,
            page_conditions.independent_accesses,
            page_conditions.one_robot,
            own.listed_or_not_markovian,
            *_PLAIN,
            conditions.phase_type_service,
            one_fits,
        ),
        freshness_of_one_robot,
    ),
    Method(
        "shared list, timers",
        "obsolescence rates of a shared periodic list, with phase-type timers",
        r"r_i=p\,z_i,\qquad(\mu_iI-M_i)z_i=\mu_i\mathbf{e}+(1-\gamma_i)\,\mathbf{b}_i,\qquad "
        r"\gamma_i=\beta(\mu_iI-S)^{-1}\mathbf{s}",
        shared_marked,
        (
            *_ALONE,
            page_conditions.periodic_policy,
            page_conditions.robots_always_work,
            conditions.poisson_accesses,
            own.several_robots,
            page_conditions.working_robots_alike,
            own.phase_type_timers,
            conditions.first_come_first_served,
            *_QUEUE,
            converged,
            shared_marks_suffice,
        ),
        freshness_of_shared_marked,
    ),
    Method(
        "one robot, timers",
        "obsolescence rates, one robot with any access times, and phase-type timers",
        r"\begin{split}"
        r"r_i&=1-\frac{1-h_i-\pi(\mathbb{E}\,e^{GX}-H_i)\bar w}{\mu_i\,\mathbb{E}X},\qquad "
        r"h_i=\mathbb{E}\,e^{-\mu_iX},\qquad H_i=\mathbb{E}\,e^{(M_i-\mu_iI)X}\\"
        r"w_j&=\Delta_j\left(A_i\left(\mu_i\mathbf{e}+(1-\gamma_i)\,\mathbf{b}_i\right)"
        r"+H_iw_{j+1}\right),\qquad A_i=\mathbb{E}\int_0^Xe^{(M_i-\mu_iI)t}\,dt,\qquad "
        r"\gamma_i=\beta(\mu_iI-S)^{-1}\mathbf{s}"
        r"\end{split}",
        marked_rate,
        (
            *_ALONE,
            conditions.not_switching,
            page_conditions.independent_accesses,
            page_conditions.one_robot,
            own.listed_or_not_markovian,
            own.phase_type_timers,
            conditions.first_come_first_served,
            conditions.phase_type_service,
            accesses_fit,
            marks_suffice,
        ),
        freshness_of_marked,
    ),
)
"""Every exact method for the whole path; no scenario is covered by two."""


def exact_method(scenario: Scenario) -> Method | None:
    """The method that covers a scenario, or None.

    Parameters
    ----------
    scenario : Scenario
    """
    return next((each for each in METHODS if is_covered(each.conditions, scenario)), None)


def nearest_reason(scenario: Scenario) -> str:
    """Why no method covers a scenario: all that stands against the one that lacks the least."""
    lacking = []
    reasons_of = Reasons(scenario)
    for method in METHODS:
        reasons = tuple(obstacles(method.conditions, reasons_of))
        lacking.append((fails_a_premise(method.conditions, reasons_of), len(reasons), reasons))
    return "; ".join(min(lacking)[2])


@dependent
def some_exact_method(scenario: Scenario) -> str | None:
    """One of the exact methods covers it."""
    return None if exact_method(scenario) else "no exact method covers its obsolescence rates"


@dependent
def no_exact_method(scenario: Scenario) -> str | None:
    """No exact method covers it."""
    method = exact_method(scenario)
    return f"an exact method covers it: {method.name}" if method else None


def no_response_priced(scenario: Scenario) -> str | None:
    """[costs] does not price the response time."""
    priced = scenario.prices.response
    return "[costs] prices the response time of pages that wait for others" if priced else None


LABELLED_COST = exact_row(
    number="dropping and replacement, cost",
    quantity="control cost of such a queue",
    latex=COST_WITHOUT_RESPONSE,
    function=control_cost,
    conditions=(*_LABELS, conditions.priced, no_response_priced),
    evaluate=lambda scenario: [("control_cost", None, cost_with_labels(scenario))],
)
"""The row of the control cost where copies of a page leave together and staleness has no price."""

EXACT: tuple[Formula, ...] = (
    *(
        exact_row(
            number=method.name,
            quantity=method.quantity,
            latex=method.latex,
            function=method.function,
            conditions=method.conditions,
            evaluate=method.rows,
        )
        for method in METHODS
    ),
    exact_row(
        number="dropping and replacement, queue",
        quantity="levels, rates, shares of the fates with page-change dropping or replacement",
        latex=r"p\,Q_i=0,\qquad p\mathbf{e}=1,\qquad p_n=p\,\mathbf{e}_n,\qquad "
        r"P_{\mathrm{succ}}=\frac{p\,\mathbf{d}}{\lambda}",
        function=labelled_page,
        conditions=_LABELS,
        evaluate=rows_with_labels,
    ),
    exact_row(
        number="dropping and replacement, sojourns",
        quantity="sojourn times by class in such a queue",
        latex=r"\mathbb{E}[W^k;c]=k!\,\mathbf{a}\,(-T)^{-(k+1)}\,\mathbf{t}_c\quad(k=0,1,2),"
        r"\qquad V=\begin{cases}W+\sigma&\text{served}\\W&\text{dropped or replaced}\end{cases}",
        function=labelled_sojourns,
        conditions=_LABELS,
        evaluate=sojourns_with_labels,
    ),
    LABELLED_COST,
    exact_row(
        number="no waiting place",
        quantity="obsolescence rates without waiting places, in closed form",
        latex=r"1-r_i=\frac{s+\lambda y_i}{s+\lambda}\,x_i,\qquad "
        r"x_i=\frac{\lambda f_iy_i}{\mu_i+\lambda-\lambda(1-f_i)y_i},\qquad y_i=\frac{s}{s+\mu_i}",
        function=single_place_rates,
        conditions=(
            *_ALONE,
            page_conditions.randomized_policy,
            conditions.no_waiting_place,
            page_conditions.robots_always_work,
            conditions.poisson_accesses,
            conditions.exponential_service,
        ),
        evaluate=lambda scenario: freshness_rows(scenario, rates_without_waiting(scenario)),
    ),
)
"""Rows of the index, all of them exact."""
