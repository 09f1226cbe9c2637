"""What is approximated where nothing exact applies, and what each approximation needs.

Laws without phases are replaced by moment matches: laws of phase type with the same mean and
(nearly) variance. What remains of a law beyond its first two moments hardly matters to the
staleness of a page that is fetched again and again.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from analytic.index import conditions, page_conditions
from analytic.index.accesses import access_law, accessed_pages
from analytic.index.conditions import buffer_of
from analytic.index.formula import Condition, Formula, Values, dependent
from analytic.indexing_queue import chain_of, sojourn_transform
from analytic.indexing_queue.chain import count_states
from analytic.indexing_queue.levels_and_fates import fate_rates, marginals_of
from analytic.indexing_queue.measures import (
    converged,
    fits_in_memory,
    one_closed_class,
    size_of,
    solution_of,
    solved,
)
from analytic.machinery.active_robots import most_active
from analytic.machinery.moment_match import two_moment_match
from analytic.machinery.phase_type import exponential_rate, has_phases, phase_count
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.state_space import MOST_STATES
from analytic.machinery.transforms import moments
from analytic.pipeline import conditions as own
from analytic.pipeline.exact_methods import (
    PAPER,
    exact_method,
    freshness_rows,
    no_exact_method,
)
from analytic.pipeline.independence import (
    decomposed,
    dropped_independently,
    replacement_rates_and_ages,
    thinned_ages,
    thinned_cyclic,
    thinned_randomized,
)
from analytic.pipeline.patience import counts_fit, drop_rates, patience_rates_and_ages
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.activation import Free, Switching
from scenarios.arrays import Array
from scenarios.choices import looks_at_service
from scenarios.laws import (
    Distribution,
    Erlang,
    Exponential,
    Hyperexponential,
    PhaseType,
)
from scenarios.model import present
from scenarios.text import counted

_MOST_FOLLOWED = 5 * 10**7
"""States times change rates: those of about a minute."""
_MOST_PHASES = 16
"""Of a service or of patience; a constant becomes an Erlang law with this many phases."""
_MOST_JOINT = 64
"""Joint phases of all robots; where two phases each are too many, accesses become exponential."""
_MOST_STATES = 128
"""Of robots and service at one level, where both are moment matches."""
_MOST_PATIENCE = 5_000
"""Phases of the patience of all pages in a full buffer."""
_MOST_AMISS = 0.25
"""By how much the squared coefficient of variation of the patience may be wrong."""


# --- losses and delays ------------------------------------------------------------------------


def _decomposition(scenario: Scenario) -> Values:
    """Rates and ages without a buffer, accesses lost, then delayed by the mean sojourn."""
    pages = accessed_pages(scenario)
    mu = pages.change_rates
    shares = pages.shares
    chain = chain_of(scenario)
    stationary = solution_of(scenario).stationary
    rates = fate_rates(chain, marginals_of(chain, stationary))
    lost = 1.0 - rates["served"] / rates["delivered"]
    between = present(own.law_without_buffer(scenario))
    if isinstance(pages.policy, Periodic):
        cycle = pages.policy.cycle_of(shares)
        thinned = thinned_cyclic(mu, cycle, between, lost)
        ages = thinned_ages(shares, between, lost, cycle)
    else:
        thinned = thinned_randomized(mu, shares, between, lost)
        ages = thinned_ages(shares, between, lost)
    kinds, which = np.unique(mu, return_inverse=True)
    discount = sojourn_transform(chain, stationary, kinds)["served"][which.ravel()]
    measures = {(name, subject): value for name, subject, value in solved(scenario).rows}
    delayed = ages + measures["sojourn_time", "served"]
    return freshness_rows(scenario, decomposed(thinned, discount), delayed)


@dependent
def _discounts_fit(scenario: Scenario) -> str | None:
    """A page can be followed to its end for each change rate."""
    states = count_states(*size_of(scenario))
    rates = len(np.unique(accessed_pages(scenario).change_rates))
    if states * rates <= _MOST_FOLLOWED:
        return None
    return f"{states} states for each of {rates} change rates take too long"


def _pace_known(scenario: Scenario) -> str | None:
    """The mean time between accesses is known."""
    known = own.law_without_buffer(scenario) is not None
    return None if known else "the mean time between accesses is not known"


# --- waiting copies that their pages remove, patience of any law --------------------------------


Poisson = tuple[Array, Array, list[float], float]
"""Change rates and shares of the pages, rates of all deliveries by level, and the service rate."""


def _poisson(scenario: Scenario) -> Poisson:
    """The numbers of a pipeline with exponential access and service times."""
    pages = accessed_pages(scenario)
    deliveries, service = conditions.poisson_parameters(scenario)
    return pages.change_rates, pages.shares, deliveries.tolist(), service


def _dropped(scenario: Scenario) -> Values:
    return freshness_rows(scenario, dropped_independently(*_poisson(scenario)))


def _replaced(scenario: Scenario) -> Values:
    return freshness_rows(scenario, *replacement_rates_and_ages(*_poisson(scenario)))


def _with_patience(scenario: Scenario) -> Values:
    law = present(conditions.timer_of(scenario))
    changes, shares, deliveries, service = _poisson(scenario)
    drops = drop_rates(law, service, len(deliveries) - 2)
    solution = patience_rates_and_ages(changes, shares, deliveries, service, drops)
    return freshness_rows(scenario, *solution)


def _only_drops_changed(scenario: Scenario) -> str | None:
    """Waiting copies are dropped when their pages change, first come first served."""
    discipline = conditions.discipline_of(scenario)
    kept = "waiting copies are not dropped when their pages change"
    return conditions.all_of(
        None if discipline.drops_changed else kept,
        "newer copies replace older ones" if discipline.replaces else None,
        conditions.first_come_first_served(scenario),
    )


def _only_replaces(scenario: Scenario) -> str | None:
    """Newer copies replace waiting older ones, first come first served, nothing is dropped."""
    replaces = conditions.discipline_of(scenario).replaces
    return conditions.all_of(
        None if replaces else "newer copies do not replace older ones",
        conditions.no_obsolescence(scenario),
        conditions.first_come_first_served(scenario),
    )


@dependent
def _followed_copies_fit(scenario: Scenario) -> str | None:
    """Levels and positions of one copy are few enough."""
    waiting = min(buffer_of(scenario).waiting_places, len(accessed_pages(scenario).change_rates))
    states = 1 + (waiting + 1) * (waiting + 2) // 2
    if states > MOST_STATES:
        return f"levels and positions of one copy are {states} states, limit {MOST_STATES}"
    kinds = own.kinds_of_pages(scenario)
    if states * kinds > own.MOST_SOLUTIONS:
        return f"{states} states for each of {kinds} kinds of pages take too long"
    return None


@dependent
def _counts_fit(scenario: Scenario) -> str | None:
    """Old and new pages are few enough."""
    return counts_fit(scenario.with_("buffer.obsolescence", "never"))


approximation_row = partial(Formula, paper=PAPER, kind="approximation", origin="own")

_POISSON: tuple[Condition, ...] = (
    conditions.not_switching,
    conditions.poisson_accesses,
    conditions.exponential_service,
)

_IMPATIENT = approximation_row(
    number="timers of any law",
    quantity="obsolescence rates and ages with timers of any law, many waiting places",
    latex=r"\begin{split}"
    r"r_i&\approx p\,z_i,\qquad(\mu_iI-G_i)z_i=\mu_i\mathbf{e},\qquad "
    r"\theta_w=\frac{W_{w-1}}{W_w}-s,\qquad W_0=1\\"
    r"W_w&=\int_0^\infty e^{-sx}\,\mathbb{P}(Y>x)\,\frac{F(x)^{w-1}}{(w-1)!}\,dx,\qquad "
    r"F(x)=\int_0^x\mathbb{P}(Y>u)\,du"
    r"\end{split}",
    function=patience_rates_and_ages,
    conditions=(
        *own.PATH,
        conditions.pages_leave_the_queue_alone,
        page_conditions.randomized_policy,
        own.patience_not_exponential,
        conditions.first_come_first_served,
        *_POISSON,
        _counts_fit,
        no_exact_method,
    ),
    evaluate=_with_patience,
)

_DROPPED = approximation_row(
    number="copies dropped independently",
    quantity="obsolescence rates with page-change dropping, many pages",
    latex=r"\begin{split}"
    r"r_i&\approx\sum_{n=0}^Kp_nz_n,\qquad(\mu_i+\theta_n+\lambda_n)\,z_n=\mu_i+\theta_nz_{n-1}"
    r"+\lambda_n\,[(1-f_i)\,z_{n+1}+f_i\,(1-y_n)]\\"
    r"p_n&=\frac{\lambda_{n-1}}{\theta_n}\,p_{n-1},\qquad "
    r"y_n=\frac{s}{s+\mu_i}\prod_{k=1}^n\frac{\theta_k}{\theta_k+\mu_i},\qquad"
    r"\theta_n=s+(n-1)\sum_jf_j\mu_j,\qquad\theta_0=\lambda_K=0"
    r"\end{split}",
    function=dropped_independently,
    conditions=(
        *own.PATH,
        page_conditions.randomized_policy,
        _only_drops_changed,
        *_POISSON,
        no_exact_method,
    ),
    evaluate=_dropped,
)

_REPLACED = approximation_row(
    number="copies replaced independently",
    quantity="obsolescence rates and ages with replacement of older copies, many pages",
    latex=r"1-r_i\approx\mathbb{E}\left[e^{-\mu_iD_i}\left("
    r"\frac{s}{s+\mu_i}\right)^{l_i+1}\right],\qquad "
    r"\alpha_i\approx\mathbb{E}D_i+\frac{\mathbb{E}\,l_i+1}{s}",
    function=replacement_rates_and_ages,
    conditions=(
        *own.PATH,
        page_conditions.randomized_policy,
        _only_replaces,
        *_POISSON,
        _followed_copies_fit,
        no_exact_method,
    ),
    evaluate=_replaced,
)


@dependent
def _patience_not_of_any_law(scenario: Scenario) -> str | None:
    """The approximation for timers of any law does not cover it."""
    if _IMPATIENT.reason_against(scenario):
        return None
    return "the approximation for timers of any law covers it, with the exact levels"


_DECOMPOSITION = approximation_row(
    number="decomposition",
    quantity="obsolescence rates and ages, losses and delays taken to be independent",
    latex=r"1-r_i\approx\mathbb{E}\,e^{-\mu_iV_{\mathrm{succ}}}\,(1-\tilde r_i)",
    function=decomposed,
    conditions=(
        *own.PATH,
        conditions.pages_leave_the_queue_alone,
        own.listed_or_random,
        page_conditions.robots_always_work,
        _pace_known,
        *own.MARKOVIAN,
        conditions.phase_type_patience,
        conditions.first_come_first_served,
        _patience_not_of_any_law,
        fits_in_memory,
        one_closed_class,
        _discounts_fit,
        converged,
        no_exact_method,
    ),
    evaluate=_decomposition,
)

_OF_PHASES = (_DROPPED, _REPLACED, _IMPATIENT, _DECOMPOSITION)
"""Approximations of systems as they are."""


# --- moment matches ---------------------------------------------------------------------------


def moment_match(law: Distribution, phases: int) -> Distribution:
    """A law of at most this many phases (two, if more variable than an exponential law).

    Parameters
    ----------
    law : Distribution
    phases : int

    Notes
    -----
    As `two_moment_match`; of a mixture of Erlang laws the shorter one begins a phase later.
    """
    mean = moments(law)[0]
    probabilities, shapes, rates = two_moment_match(mean, _variation(law), phases)
    if shapes == (1,):
        return Exponential(mean=mean)
    if shapes == (1, 1):
        return Hyperexponential(probabilities=probabilities, rates=rates)
    order = shapes[-1]
    if len(shapes) == 1:
        return Erlang(shape=order, mean=mean)
    steps = np.diag(np.full(order, -rates[0])) + np.diag(np.full(order - 1, rates[0]), 1)
    start = np.zeros(order)
    start[:2] = probabilities[::-1]
    return PhaseType(alpha=tuple(start.tolist()), T=tuple(map(tuple, steps.tolist())))


@lru_cache(maxsize=4)
def with_phases(scenario: Scenario) -> Scenario:
    """The scenario with moment matches for laws without phases, or with too many.

    Where copies of a page leave the buffer together the service becomes exponential.

    Raises
    ------
    NoAnswerError
        If targets, or robots, are given for the phases of a service that would be replaced.
    """
    changes: dict[str, Any] = {}
    service = conditions.service_law(scenario)
    access = access_law(scenario)
    joint = 1
    alike = scenario.robots is not None and scenario.robots.classes is None
    if access is not None and alike and conditions.markovian_accesses(scenario) is not None:
        phases = _phases_of_robots(scenario, access, beside_service=not has_phases(service))
        joint = phases ** most_active(scenario)
        changes["robots.access_time"] = _written(moment_match(access, phases))
    most = min(_MOST_PHASES, _MOST_STATES // joint)
    if own.copies_leave_together(scenario):
        most = 1
    if _phases_in(service) > most:
        changes["buffer.service"] = _written(moment_match(service, most))
        rule = scenario.activation
        if isinstance(rule, Free):
            raise NoAnswerError(
                "there are robots for each phase of the service, which has to be kept"
            )
        if isinstance(rule, Switching) and looks_at_service(scenario.robots, rule):
            given = "targets" if rule.choices is None else "choices"
            raise NoAnswerError(
                f"there are {given} for each phase of the service, which has to be kept"
            )
    patience = conditions.timer_of(scenario)
    if patience is not None and _phases_in(patience) > (phases := _phases_of_patience(scenario)):
        changes["buffer.obsolescence"] = _written(moment_match(patience, phases))
    return scenario.with_(changes)


@dependent
def variance_of_patience_kept(scenario: Scenario) -> str | None:
    """Moment matches of timers have nearly their variance (c² right to 0.25)."""
    matched = with_phases(scenario)
    given = conditions.timer_of(scenario)
    used = conditions.timer_of(matched)
    if given is None or used is None or abs(_variation(used) - _variation(given)) <= _MOST_AMISS:
        return None
    timers = counted(buffer_of(scenario).waiting_places, "timer")
    return (
        f"{timers} at a time may have {_phases_in(used):g} phases, with a squared "
        f"coefficient of variation of {_variation(used):.2g} in place of "
        f"{_variation(given):.2g}"
    )


def _variation(law: Distribution) -> float:
    """The squared coefficient of variation c²."""
    mean, second = moments(law)
    if math.isinf(second):
        raise NoAnswerError(f"the variance of these {law.key} times is infinite")
    return second / mean**2 - 1.0


def _phases_in(law: Distribution) -> float:
    """Phases of a law, one if it is exponential however it is written; inf: it has none."""
    phases = phase_count(law)
    if phases is None:
        return math.inf
    return 1 if exponential_rate(law) is not None else phases


def _phases_of_robots(scenario: Scenario, access: Distribution, *, beside_service: bool) -> int:
    """The most phases of an access time with which all robots have few enough jointly."""
    if has_phases(access):
        return 1  # switched robots may not have more than one
    robots = max(most_active(scenario), 1)
    joint = _MOST_JOINT // 4 if beside_service else _MOST_JOINT
    return min(_MOST_PHASES, int(joint ** (1.0 / robots) + 1e-9))


def _phases_of_patience(scenario: Scenario) -> int:
    """The most phases of a page's patience with which those of all waiting pages are few enough."""
    waiting = max(buffer_of(scenario).waiting_places, 1)
    return min(_MOST_PHASES, int(_MOST_PATIENCE ** (1.0 / waiting) + 1e-9))


def _written(law: Distribution) -> dict[str, Any]:
    """As in a scenario file."""
    return {law.key: law.model_dump(exclude_none=True)}


@dependent
def _some_law_to_match(scenario: Scenario) -> str | None:
    """Some law has no phases, too many, or is not exponential where copies leave together."""
    row = _covering(scenario)
    if row is not None:
        return f"another approximation covers it as it is: {row.number}"
    return "its laws are of phase type" if with_phases(scenario) == scenario else None


@dependent
def _covered_with_phases(scenario: Scenario) -> str | None:
    """With laws of phase type that have the same two moments, another row covers it."""
    matched = with_phases(scenario)
    if exact_method(matched) is not None or _covering(matched) is not None:
        return None
    return f"not with phase-type laws either: {_nearest(matched).reason_against(matched)}"


def _nearest(scenario: Scenario) -> Formula:
    """The approximation for what the buffer of a scenario does."""
    discipline = conditions.discipline_of(scenario)
    if discipline.replaces:
        return _REPLACED
    return _DROPPED if discipline.drops_changed else _DECOMPOSITION


def _covering(scenario: Scenario) -> Formula | None:
    return next((row for row in _OF_PHASES if row.reason_against(scenario) is None), None)


def _matched(scenario: Scenario) -> Values:
    matched = with_phases(scenario)
    method = exact_method(matched)
    if method is not None:
        return method.rows(matched)
    return next(row for row in _OF_PHASES if row.reason_against(matched) is None).evaluate(matched)


MATCHED = approximation_row(
    number="moment match",
    quantity="any of these with laws of phase type in place of others",
    latex=r"\mathbb{E}\tilde Z=\mathbb{E}Z,\qquad"
    r"\frac{\operatorname{Var}\tilde Z}{(\mathbb{E}Z)^2}=\max\left("
    r"\frac{\operatorname{Var}Z}{(\mathbb{E}Z)^2},\,\frac{1}{R}\right)",
    function=moment_match,
    conditions=(
        *own.PATH,
        no_exact_method,
        _some_law_to_match,
        _covered_with_phases,
        variance_of_patience_kept,
    ),
    evaluate=_matched,
)

APPROXIMATIONS: tuple[Formula, ...] = (*_OF_PHASES, MATCHED)
"""Rows of the index that are never judged."""


def approximation_of(scenario: Scenario) -> Formula | None:
    """The approximation that covers a scenario, or None."""
    return next((row for row in APPROXIMATIONS if row.reason_against(scenario) is None), None)


@dependent
def some_approximation(scenario: Scenario) -> str | None:
    """One of the approximations covers it."""
    known = approximation_of(scenario) is not None
    return None if known else "no approximation covers its obsolescence rates"
