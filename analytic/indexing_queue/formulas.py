"""The index of formulas of the indexing queue, and what they say of a scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analytic.index import conditions, page_conditions
from analytic.index.accesses import accesses_at_full_length
from analytic.index.formula import Formula, Values, dependent, is_covered, premise, reason_against
from analytic.indexing_queue.batches import (
    BATCHES,
    levels_of_batches,
    measures_of_batches,
    page_of_batches_fits,
    quantiles_of_batches,
    response_of_batches_fits,
    sizes_fit,
    sojourn_moments_of_batches,
    sojourn_quantiles_of_batches,
    sojourns_of_batches,
    solve_batches,
)
from analytic.indexing_queue.chain import count_states, dense_generator
from analytic.indexing_queue.erlang import (
    erlang_a_throughput,
    loss_system_levels,
    mean_sojourn_without_limit,
    mmck_levels,
)
from analytic.indexing_queue.hysteresis import switch_rate
from analytic.indexing_queue.impatience import (
    few_places,
    impatient_queue,
    other_timers,
    rows_of_impatience,
)
from analytic.indexing_queue.large_buffers import ClosureError, closure
from analytic.indexing_queue.levels_and_fates import fate_rates, level_probabilities, marginals_of
from analytic.indexing_queue.matched_accesses import likeliest_phases, with_likeliest_phases
from analytic.indexing_queue.matched_services import (
    between_erlang_laws,
    rows_of_matched_services,
    some_match,
)
from analytic.indexing_queue.measures import (
    CONTROL_COST,
    Accuracy,
    KnownLevels,
    all_rows,
    approximated,
    chain_of,
    closure_fits,
    control_cost,
    converged,
    fits_in_memory,
    level_rows,
    loss_approximated,
    one_closed_class,
    response_solved,
    servers_chain_of,
    servers_fit,
    servers_solved,
    settled,
    size_of,
    sojourns_solved,
    solution_of,
    solved,
    solved_servers,
    too_large_for_exactness,
)
from analytic.indexing_queue.mg1k import (
    general_queue,
    levels_settle,
    rows_of_general,
    service_without_phases,
)
from analytic.indexing_queue.one_robot import (
    accesses_fit,
    measures_at_accesses,
    no_markovian_accesses,
    one_robot_measures,
    quantiles_of_one_robot,
    quantiles_of_servers_at_accesses,
    rows_of_one_robot,
    rows_of_servers_at_accesses,
    servers_at_accesses,
)
from analytic.indexing_queue.priorities import (
    PRIORITIES,
    measures_of_priorities,
    solve_priorities,
)
from analytic.indexing_queue.rests import (
    RESTS,
    measures_with_rests,
    page_with_rests_fits,
    quantiles_with_rests,
    response_with_rests_fits,
    sojourns_with_rests,
)
from analytic.indexing_queue.several_servers import (
    idle_servers,
    sojourn_moments_of_servers,
    sojourn_quantiles_of_servers,
    solve_servers,
)
from analytic.indexing_queue.sojourns import (
    Row,
    moment_rows,
    sojourn_moments,
    sojourn_quantiles,
)
from analytic.indexing_queue.unordered_sojourns import (
    out_of_order,
    pushed_one_by_one,
    quantiles_out_of_order,
    sojourns_out_of_order,
    unordered_quantiles,
    unordered_sojourns,
    waiting_page_fits,
)
from analytic.machinery.active_robots import require_decided, robots_at
from analytic.machinery.markov import birth_death, relaxation_time
from analytic.machinery.phase_type import exponential_rate
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import mean_time, moments, time_quantile
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.model import present

_LARGEST_SPECTRUM = 400
"""States up to which the eigenvalues of a chain are computed."""

_QUICK = 10**7
"""Multiplications of an elimination that takes a fraction of a second."""

_LOSSES = ("loss_rate", "loss_probability")


def relaxation_time_of(scenario: Scenario) -> float | None:
    """Relaxation time of the queue, where its chain is small enough to know it.

    Parameters
    ----------
    scenario : Scenario
    """
    if not _has_small_chain(scenario):
        return None
    chain = chain_of(scenario)
    return relaxation_time(dense_generator(chain), chain.start)


def empty_probability(scenario: Scenario) -> float | None:
    """Stationary probability of the empty system, where its relaxation time is known.

    Parameters
    ----------
    scenario : Scenario
    """
    if not _has_small_chain(scenario):
        return None
    return float(solution_of(scenario).stationary[: chain_of(scenario).order].sum())


def _has_small_chain(scenario: Scenario) -> bool:
    """Whether its eigenvalues can be computed quickly; decided before anything is built."""
    return is_covered((*_BUILT, fits_in_memory, _few_states, one_closed_class), scenario)


class Stays(NamedTuple):
    """How long pages may stay in the buffer, and how many of them are indexed.

    Attributes
    ----------
    longest : float
        Mean time after which a waiting page has left, whatever comes after it.
    served : float
        Share of the delivered pages that are indexed.
    """

    longest: float
    served: float


def stays_of(scenario: Scenario) -> Stays | None:
    """How long pages may stay, where the queue is solved quickly.

    A page has left when the busy period ends, at the latest: ``(1 - p0) / f``, with p0 the
    probability of the empty system and f the rate at which pages enter it. It may leave before:
    when its patience runs out; or, where a full buffer pushes out its oldest page, when as many
    have been lost as can wait.

    Parameters
    ----------
    scenario : Scenario
    """
    if not is_covered((*_BUILT, fits_in_memory, _solved_at_once, one_closed_class), scenario):
        return None
    buffer, _ = conditions.buffer_and_robots(scenario)
    chain = chain_of(scenario)
    stationary = solution_of(scenario).stationary
    rates = fate_rates(chain, marginals_of(chain, stationary))
    empty = stationary[: chain.order]
    entering = chain.batch_rates[0, :, :, 0].T @ (chain.accepted[0] > 0)
    flow = float(empty @ entering)
    timer = conditions.timer_of(scenario)
    longest = (1.0 - float(empty.sum())) / flow if flow > 0 else math.inf
    if timer is not None and (obsolescence := exponential_rate(timer)):
        longest = min(longest, 1.0 / obsolescence)
    if conditions.discipline_of(scenario).pushes_out_oldest and rates["lost"] > 0:
        longest = min(longest, buffer.waiting_places / rates["lost"])
    served = rates["served"] / rates["delivered"] if rates["delivered"] else 0.0
    return Stays(longest, served)


@dependent
def _solved_at_once(scenario: Scenario) -> str | None:
    """The chain has at most 400 states, or needs at most 10^7 products level by level."""
    order, phases, patience, _ = size_of(scenario)
    quick = patience == 1 and count_states(*size_of(scenario)) * (2 * order * phases) ** 2 <= _QUICK
    return None if quick else _few_states(scenario)


@dependent
def _few_states(scenario: Scenario) -> str | None:
    """The chain has at most 400 states."""
    states = count_states(*size_of(scenario))
    return None if states <= _LARGEST_SPECTRUM else f"its chain has {states} states"


def reason_against_chain(scenario: Scenario) -> str | None:
    """Why the chain of a scenario is not solved exactly; None where it is."""
    if scenario.interventions:
        return "[[interventions]] change the system"
    return reason_against(_CHAIN, scenario)


def reason_against_order(scenario: Scenario) -> str | None:
    """Why a page of a solved chain cannot be followed to its end; None where it can."""
    return reason_against((*_FIFO, sojourns_solved), scenario)


def mm1k_levels(load: ArrayLike, capacity: int) -> Array:
    """Level probabilities of M/M/1/K: ``p_n = load^n / (1 + load + … + load^K)``.

    Parameters
    ----------
    load : array_like
        Arrival rate divided by service rate.
    capacity : int
        K, pages that the buffer holds, the one in service included.

    Returns
    -------
    ndarray, shape (..., capacity + 1)

    Notes
    -----
    Kleinrock, Queueing Systems I (1975), section 3.6. Above load 1 the sum is taken from the top,
    in powers of 1/load, so that nothing overflows.
    """
    rho = np.asarray(load, dtype=float)[..., None]
    powers = np.arange(capacity + 1.0)
    upwards = np.minimum(rho, 1.0) ** powers
    downwards = (1.0 / np.maximum(rho, 1.0)) ** powers[::-1]
    weights = np.where(rho > 1, downwards, upwards)
    return weights / weights.sum(axis=-1, keepdims=True)


def birth_death_levels(births: Array, service: float, obsolescence: float, capacity: int) -> Array:
    """Level probabilities where pages enter at a rate given by the level.

    Parameters
    ----------
    births : ndarray, shape (capacity + 1,)
        Deliveries per unit time at each level; those at the top are lost.
    service : float
        Service rate.
    obsolescence : float
        Rate at which each waiting page becomes obsolete; 0: never.
    capacity : int
        Pages that the buffer holds, the one in service included.

    Notes
    -----
    avrachenkov2011, section 3 with one phase everywhere: deaths ``service + (n - 1) ·
    obsolescence`` from level n, since the page in service cannot become obsolete.
    """
    deaths = service + obsolescence * np.arange(float(capacity))
    return birth_death(list(births[:capacity]), list(deaths))


def _birth_death(scenario: Scenario) -> Values:
    """Measures of the level alone, from the product form."""
    deliveries, service = conditions.poisson_parameters(scenario)
    capacity = len(deliveries) - 1
    at = robots_at(scenario)
    obsolescence = conditions.timer_rate(scenario)
    robots = np.array([at(level) for level in range(capacity + 1)], dtype=float)
    levels = birth_death_levels(deliveries, service, obsolescence, capacity)
    waiting = np.maximum(np.arange(capacity + 1.0) - 1, 0)
    active = float(levels @ robots)
    rates = {
        "delivered": float(levels @ deliveries),
        "lost": float(deliveries[-1] * levels[-1]),
        "obsolete": obsolescence * float(levels @ waiting),
        "served": service * float(levels[1:].sum()),
    }
    rows = level_rows(levels, active, rates)
    return [row for row in rows if row[0] != "sojourn_time"]


def _mm1k(scenario: Scenario) -> Values:
    deliveries, service = conditions.poisson_parameters(scenario)
    levels = mm1k_levels(float(deliveries[0]) / service, len(deliveries) - 1)
    return _of_textbook(levels, float(deliveries[0]))


def _of_textbook(levels: Array, arrivals: float) -> Values:
    """Level probabilities, the share that finds the system full, and the others' mean sojourn."""
    for level, probability in enumerate(levels.tolist()):
        yield "level_probability", level, probability
    if arrivals > 0:
        yield "loss_probability", None, float(levels[-1])
        entering = arrivals * float(levels[:-1].sum())
        mean = float(levels @ np.arange(float(len(levels)))) / entering
        yield "sojourn_time", "accepted", mean


def _only(
    solver: Callable[[Scenario], Iterable[Row]], *measures: str
) -> Callable[[Scenario], Values]:
    """Evaluator of some of the measures that a solver gives."""

    def evaluate(scenario: Scenario) -> Values:
        return [row for row in solver(scenario) if row[0] in measures]

    return evaluate


def _all_but(
    solver: Callable[[Scenario], Iterable[Row]], *measures: str
) -> Callable[[Scenario], Values]:
    """Evaluator of the other measures that a solver gives."""

    def evaluate(scenario: Scenario) -> Values:
        return [row for row in solver(scenario) if row[0] not in measures]

    return evaluate


def _rows_of_chain(scenario: Scenario) -> Iterable[Row]:
    return solved(scenario).rows


def some_page_waits(scenario: Scenario) -> str | None:
    """Pages can wait, or deliveries are not Poisson: else the law of the service hardly matters."""
    exact = reason_against(_LOSS_SYSTEM, scenario) is None
    return "it is solved exactly: no page can wait" if exact else None


def _cost_out_of_order(scenario: Scenario) -> Values:
    rows = solved(scenario.with_("costs.response", 0.0)).rows
    others = next(value for name, _, value in rows if name == "control_cost")
    sojourns = sojourns_out_of_order(scenario)
    means = {subject: value for name, subject, value in sojourns if name == "sojourn_time"}
    yield "control_cost", None, others + scenario.prices.response * means.get("served", math.nan)


def _idle_server(scenario: Scenario) -> Values:
    """Of a single server; every other row of it is in the chain's."""
    levels = [value for name, _, value in solved(scenario).rows if name == "level_probability"]
    yield "idle_indexers", None, idle_servers(np.array(levels), 1)


def _servers_named(scenario: Scenario) -> str | None:
    """The file speaks of servers."""
    named = conditions.buffer_of(scenario).servers_named
    return None if named else "the file does not speak of buffer.servers"


def _mmck(scenario: Scenario) -> Values:
    buffer, _ = conditions.buffer_and_robots(scenario)
    deliveries, service = conditions.poisson_parameters(scenario)
    arrivals = float(deliveries[0])
    levels = mmck_levels(arrivals / service, buffer.servers, len(deliveries) - 1)
    return _of_textbook(levels, arrivals)


def _loss_system(scenario: Scenario) -> Iterable[Row]:
    """Every measure where no page waits, for any law of the service."""
    buffer, _ = conditions.buffer_and_robots(scenario)
    law = conditions.service_law(scenario)
    mean, second = moments(law)
    deliveries = conditions.delivery_rates_at_levels(scenario)
    levels = loss_system_levels(deliveries, mean)
    at = robots_at(scenario)
    active = float(levels @ np.array([at(level) for level in range(len(levels))], dtype=float))
    entering = float(levels[:-1] @ deliveries[:-1])
    lost = float(levels[-1] * deliveries[-1])
    rates = {"delivered": entering + lost, "lost": lost, "obsolete": 0.0, "served": entering}
    served = entering * np.array([1.0, mean, second])
    sojourns = list(moment_rows(np.stack([served, np.zeros(3)])))
    known = KnownLevels.of(levels)
    yield from all_rows(known, (active, []), rates, scenario.prices, sojourns)
    if buffer.servers > 1:
        yield "idle_indexers", None, idle_servers(levels, buffer.servers)


def _quantiles_without_waiting(scenario: Scenario, shares: Sequence[float]) -> dict[str, Array]:
    """Those of the service; of all pages, of which some are lost at once."""
    deliveries = conditions.delivery_rates_at_levels(scenario)
    law = conditions.service_law(scenario)
    levels = loss_system_levels(deliveries, mean_time(law))
    lost = float(levels[-1] * deliveries[-1]) / float(levels @ deliveries)
    served = np.array([time_quantile(law, share) for share in shares])
    left = [(share - lost) / (1.0 - lost) for share in shares]
    every = np.array([time_quantile(law, share) if share > 0 else 0.0 for share in left])
    return {"served": served, "accepted": served, "all": every}


def _erlang_c(scenario: Scenario) -> Values:
    """Sojourn without a limit."""
    buffer, _ = conditions.buffer_and_robots(scenario)
    deliveries, service = conditions.poisson_parameters(scenario)
    arrivals = float(deliveries[0])
    longest = mean_sojourn_without_limit(arrivals, service, buffer.servers)
    yield "sojourn_time", "accepted", longest


def _erlang_a(scenario: Scenario) -> Values:
    """Throughput without a limit."""
    buffer, _ = conditions.buffer_and_robots(scenario)
    deliveries, service = conditions.poisson_parameters(scenario)
    arrivals, obsolescence = float(deliveries[0]), conditions.timer_rate(scenario)
    most = erlang_a_throughput(arrivals, service, obsolescence, buffer.servers)
    yield "throughput", None, most


def quantiles_asked(scenario: Scenario) -> str | None:
    """[buffer] asks for quantiles of the sojourn time."""
    asked = conditions.buffer_of(scenario).sojourn_quantiles
    return None if asked else "there are no sojourn_quantiles in [buffer]"


def response_priced(scenario: Scenario) -> str | None:
    """[costs] prices the response time."""
    return None if scenario.prices.response else "[costs] does not price the response time"


def _classes_of(sojourns: Callable[[Scenario], Values], scenario: Scenario) -> Values:
    """Sojourn times but for the mean of all pages, which takes no page that is followed."""
    for name, subject, value in sojourns(scenario):
        if name == "sojourn_time_second_moment" or (name == "sojourn_time" and subject != "all"):
            yield name, subject, value


def _cost_of(
    measures: Callable[[Scenario], Values],
    sojourns: Callable[[Scenario], Values],
    scenario: Scenario,
) -> Values:
    of = sojourns if scenario.prices.response else measures
    return [row for row in of(scenario) if row[0] == "control_cost"]


def _some_timer(scenario: Scenario) -> str | None:
    """Waiting pages become obsolete."""
    return None if conditions.timer_of(scenario) else "waiting pages do not become obsolete"


def _quantiles(scenario: Scenario) -> Values:
    chain = chain_of(scenario)
    stationary = solution_of(scenario).stationary
    return _by_share(scenario, partial(sojourn_quantiles, chain, stationary))


def _quantiles_of_servers(scenario: Scenario) -> Values:
    chain = servers_chain_of(scenario)
    stationary = solve_servers(chain)
    return _by_share(scenario, partial(sojourn_quantiles_of_servers, chain, stationary))


def _by_share(scenario: Scenario, quantiles: Callable[..., dict[str, Array]]) -> Values:
    """Quantiles at the shares that the scenario asks for."""
    shares = conditions.buffer_of(scenario).sojourn_quantiles
    for name, times in quantiles(shares).items():
        for share, time in zip(shares, times.tolist(), strict=True):
            yield "sojourn_quantile", f"{name} {share!r}", time


def _from_closure(scenario: Scenario) -> Values:
    unpriced = conditions.priced(scenario) is not None
    left_out = (*_LOSSES, *["control_cost"] * unpriced)
    return [row for row in approximated(scenario) if row[0] not in left_out]


def _loss_from_closure(scenario: Scenario) -> Values:
    return [row for row in approximated(scenario) if row[0] in _LOSSES]


def _rows_of_likeliest(scenario: Scenario) -> Values:
    changed = with_likeliest_phases(scenario)
    if conditions.one_server(scenario) is None:
        return _rows_of_chain(changed)
    return solved_servers(changed)


def accuracy_of(scenario: Scenario) -> Accuracy | ClosureError | None:
    """How the chain of a scenario was solved and how well; None where it is not.

    A `ClosureError` where it is approximated: the errors known of that approximation.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        If the activation is still to be optimised (`analytic.resolve` decides it).
    """
    require_decided(scenario)
    if scenario.interventions:
        return None
    if is_covered(_CLOSURE, scenario):
        return ClosureError()
    if not is_covered(_CHAIN, scenario):
        return None
    return solved(scenario).accuracy


def _switches_counted(scenario: Scenario) -> str | None:
    """Thresholds have a way back of their own, or switches have a price or take a time."""
    return "switches are not counted" if scenario.model.hysteresis is None else None


@premise
def _some_share_unchanged(scenario: Scenario) -> str | None:
    """Anonymous pages may be unchanged, and are then not delivered."""
    unchanged = scenario.robots.unchanged if scenario.robots else None
    given = unchanged is not None and unchanged.share is not None
    return None if given else "there is no robots.unchanged.share"


def unchanged_rate(accesses: float, share: float, share_of_time: float = 1.0) -> float:
    """Accesses per unit time that find their page unchanged, of robots that are always active.

    Parameters
    ----------
    accesses : float
        Accesses per unit time if all were of their whole length.
    share : float
        u, of pages that are unchanged when an access starts, independently.
    share_of_time : float
        phi, what such an access takes of its length.

    Notes
    -----
    An access takes ``(1 - u + u phi) E X`` on average, and u of them are such ones
    (docs/theory/indexing-queue.md).
    """
    return share * accesses / (1.0 - share + share * share_of_time)


def _unchanged_rate(scenario: Scenario) -> Values:
    failing = present(conditions.fleet_of(scenario).failing)
    accesses = accesses_at_full_length(scenario)
    yield (
        "unchanged_rate",
        None,
        unchanged_rate(accesses, failing.probability, failing.share_of_time),
    )


_BUILT = (
    conditions.has_buffer,
    conditions.one_server,
    *conditions.MARKOVIAN_QUEUE,
)
"""Conditions of a chain."""

_CHAIN = (*_BUILT, fits_in_memory, one_closed_class, converged)
"""Conditions of every exact result of the chain."""

_CLOSURE = (*_BUILT, too_large_for_exactness, closure_fits, one_closed_class, settled)
"""Conditions of its approximation."""

_ONE_ROBOT = (
    conditions.has_buffer,
    conditions.one_server,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.not_switching,
    conditions.pages_leave_the_queue_alone,
    page_conditions.independent_accesses,
    page_conditions.one_robot,
    no_markovian_accesses,
    conditions.phase_type_service,
    conditions.phase_type_patience,
    conditions.memoryless_or_ordered,
    accesses_fit,
)
"""Conditions of the chain embedded at the accesses of one robot."""

_SERVERS_AT_ACCESSES = (
    conditions.has_buffer,
    conditions.several_servers,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.not_switching,
    conditions.pages_leave_the_queue_alone,
    page_conditions.independent_accesses,
    page_conditions.one_robot,
    no_markovian_accesses,
    conditions.phase_type_service,
    conditions.exponential_patience_or_none,
    accesses_fit,
)
"""Conditions of several servers, embedded at the accesses of one robot."""

_POISSON = (
    conditions.has_buffer,
    conditions.one_server,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
    conditions.not_switching,
    conditions.poisson_accesses,
    conditions.exponential_service,
)


@dependent
def chain_of_accesses_unknown(scenario: Scenario) -> str | None:
    """Some access times are not of phase type, or the robots have too many joint phases."""
    if no_markovian_accesses(scenario) is None:
        return None
    try:
        size_of(scenario)
    except NoAnswerError:
        return None
    return "the joint phases of its robots are few: it is solved exactly"


@dependent
def likeliest_solved(scenario: Scenario) -> str | None:
    """It is solved exactly with the likeliest few phases in place of each access time."""
    one = conditions.one_server(scenario) is None
    return reason_against(_CHAIN if one else _SERVERS, with_likeliest_phases(scenario))


_LIKELIEST = (
    conditions.has_buffer,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.not_one_at_a_time,
    conditions.pages_leave_the_queue_alone,
    page_conditions.independent_accesses,
    page_conditions.several_robots,
    conditions.known_start_up,
    conditions.phase_type_service,
    conditions.phase_type_patience,
    conditions.memoryless_or_ordered,
    chain_of_accesses_unknown,
    likeliest_solved,
)
"""Conditions of several robots with access times of any law, approximately."""

_IMPATIENT = (
    *(each for each in _POISSON if each is not conditions.one_server),
    conditions.first_come_first_served,
    other_timers,
    few_places,
)
"""Conditions of Poisson deliveries, exponential services and timers of any law."""

_SERVERS = (
    conditions.has_buffer,
    conditions.several_servers,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
    conditions.markovian_accesses,
    conditions.known_start_up,
    conditions.phase_type_service,
    conditions.exponential_patience_or_none,
    servers_fit,
    servers_solved,
)
"""Conditions of several servers."""

_LOSS_SYSTEM = (
    conditions.has_buffer,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
    conditions.not_switching,
    conditions.poisson_accesses,
    conditions.no_waiting_place,
    conditions.services_alike,
)
"""Conditions of servers without waiting places, behind Poisson deliveries."""

_TEXTBOOK = (
    *(each for each in _POISSON if each is not conditions.one_server),
    conditions.several_servers,
    conditions.static_robots,
)
"""Conditions of several servers with Poisson deliveries and exponential services."""

_GENERAL = (
    conditions.has_buffer,
    conditions.one_server,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.phases_unseen,
    conditions.pages_leave_the_queue_alone,
    conditions.markovian_accesses,
    conditions.known_start_up,
    conditions.independent_services,
    service_without_phases,
    conditions.exponential_patience_or_none,
    levels_settle,
)
"""Conditions of the queue with services of any law."""

_MATCHED = (
    conditions.has_buffer,
    conditions.several_servers,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.phases_unseen,
    conditions.pages_leave_the_queue_alone,
    conditions.markovian_accesses,
    conditions.known_start_up,
    conditions.independent_services,
    service_without_phases,
    conditions.exponential_patience_or_none,
    some_page_waits,
    some_match,
)
"""Conditions of several servers with services of any law, approximately."""

_FIFO = (conditions.first_come_first_served,)

_QUANTILES = (
    r"v_c(q)=\min\left\{t:\ 1-\frac{\mathbf{a}\,e^{Tt}\,\mathbf{f}_c}"
    r"{\mathbf{a}\,\mathbf{f}_c}\ge q\right\},\qquad\mathbf{f}_c=(-T)^{-1}\mathbf{t}_c"
)
"""The statement of a quantile, as LaTeX."""

_OUT_OF_ORDER = (out_of_order, pushed_one_by_one, waiting_page_fits)

_exact_row = partial(Formula, paper="avrachenkov2011", kind="exact", origin="re-derived")
_own_row = partial(Formula, paper="pipeline", kind="exact", origin="own")
_servers_row = partial(
    Formula,
    paper="avrachenkov2011",
    number="section 3, several servers",
    kind="exact",
    origin="own",
)
_impatient_row = partial(
    Formula,
    paper="brandt1999",
    number="timers of any law",
    function=impatient_queue,
    kind="exact",
    origin="own",
    conditions=_IMPATIENT,
)
_takacs_row = partial(
    Formula,
    paper="takacs1962",
    number="embedded at arrivals, with a capacity",
    kind="exact",
    origin="own",
)
_TAGGED_MOMENTS = (
    r"\mathbb{E}V_k=\frac{\mathbf{a}\,(-T)^{-1}\mathbf{f}_k}{\mathbf{a}\,\mathbf{f}_k},"
    r"\qquad\mathbb{E}V_k^2=\frac{2\,\mathbf{a}\,(-T)^{-2}\mathbf{f}_k}"
    r"{\mathbf{a}\,\mathbf{f}_k},\qquad \mathbf{f}_k=(-T)^{-1}\mathbf{t}_k"
)
_TAGGED_QUANTILE = (
    r"v_k(q)=\min\left\{t:\ 1-\frac{\mathbf{a}\,e^{Tt}\,\mathbf{f}_k}"
    r"{\mathbf{a}\,\mathbf{f}_k}\ge q\right\},\qquad\mathbf{f}_k=(-T)^{-1}\mathbf{t}_k"
)
"""Of a page that is followed until it is served or gone."""

_batches_row = partial(
    Formula,
    paper="neuts1967",
    number="bulk service, with a capacity",
    kind="exact",
    origin="own",
)
_rests_row = partial(
    Formula,
    paper="doshi1986",
    number="vacations and retrials, with a capacity",
    kind="exact",
    origin="own",
)
_priorities_row = partial(
    Formula,
    paper="cobham1954",
    number="priorities, with a capacity",
    function=solve_priorities,
    kind="exact",
    origin="own",
)
_textbook_row = partial(Formula, paper="kleinrock1975", kind="exact", origin="re-derived")
_closure_row = partial(
    Formula,
    paper="avrachenkov2011",
    number="section 3, timers taken to be independent",
    function=closure,
    kind="approximation",
    origin="own",
)

_general_row = partial(
    Formula,
    paper="courtois1971",
    number="embedded chain, with timers",
    function=general_queue,
    kind="exact",
    origin="own",
)

FORMULAS: tuple[Formula, ...] = (
    Formula(
        paper="kleinrock1975",
        number="section 3.6",
        quantity="level probabilities, loss probability, mean sojourn time",
        latex=r"p_n=\frac{\rho^n}{\sum_{k=0}^K\rho^k},\qquad P_{\mathrm{loss}}=p_K,\qquad "
        r"\mathbb{E}T=\frac{\sum_{n=0}^Kn\,p_n}{\lambda(1-p_K)},\qquad\rho=\frac{\lambda}{\mu}",
        function=mm1k_levels,
        kind="exact",
        origin="printed",
        conditions=(
            *_POISSON,
            conditions.static_robots,
            conditions.no_obsolescence,
            conditions.nothing_pushed_out,
        ),
        evaluate=_mm1k,
    ),
    _exact_row(
        number="section 3, one phase",
        quantity="levels, rates, shares of the fates",
        latex=r"\begin{split}"
        r"p_n&=\frac{\lambda_{n-1}}{\mu+(n-1)\theta}\,p_{n-1},\qquad\sum_{n=0}^Kp_n=1,\qquad "
        r"\lambda=\sum_{n=0}^K\lambda_np_n\\"
        r"P_{\mathrm{loss}}&=\frac{\lambda_Kp_K}{\lambda},\qquad "
        r"P_{\mathrm{obs}}=\frac{\theta}{\lambda}\sum_{n=1}^K(n-1)\,p_n,\qquad "
        r"P_{\mathrm{succ}}=\frac{\mu(1-p_0)}{\lambda}"
        r"\end{split}",
        function=birth_death_levels,
        conditions=(*_POISSON, conditions.exponential_patience_or_none),
        evaluate=_birth_death,
    ),
    _exact_row(
        number="Lemma and Theorem 1",
        quantity="level probabilities, starvation probability, active robots",
        latex=r"\mathbf{p}\,Q=0,\qquad p_n=\mathbf{p}_n\mathbf{e},\qquad\sum_np_n=1,\qquad "
        r"P_{\mathrm{starv}}=p_0,\qquad\bar r=\sum_nr_n\,p_n",
        function=level_probabilities,
        conditions=_CHAIN,
        evaluate=_only(
            _rows_of_chain,
            "level_probability",
            "mean_in_system",
            "starvation_probability",
            "mean_active_robots",
        ),
    ),
    _exact_row(
        number="Theorem 2",
        quantity="arrival rate, loss probability",
        latex=r"\lambda=\sum_n\sum_kk\,\mathbf{p}_n\left(D_k^{(r_n)}\otimes I\right)\mathbf{e},"
        r"\qquad P_{\mathrm{loss}}=\frac{1}{\lambda}\sum_n\sum_k(k-a_{n,k})\mathbf{p}_n"
        r"\left(D_k^{(r_n)}\otimes I\right)\mathbf{e}",
        function=fate_rates,
        conditions=_CHAIN,
        evaluate=_only(_rows_of_chain, "arrival_rate", "loss_rate", "loss_probability"),
    ),
    _exact_row(
        number="Theorem 3",
        quantity="obsolescence probability, success probability, throughput",
        latex=r"P_{\mathrm{obs}}=\frac{1}{\lambda}\sum_{n\ge2}\sum_{l=1}^{n-1}\mathbf{p}_n"
        r"\left(I\otimes\mathbf{h}_l\otimes I\right)\mathbf{e},\qquad "
        r"P_{\mathrm{succ}}=\frac{1}{\lambda}\sum_{n\ge1}\mathbf{p}_n"
        r"\left(I\otimes\mathbf{s}\otimes I\right)\mathbf{e},\qquad"
        r"\Theta=\lambda P_{\mathrm{succ}}",
        function=fate_rates,
        conditions=_CHAIN,
        evaluate=_only(
            _rows_of_chain, "obsolescence_probability", "success_probability", "throughput"
        ),
    ),
    _exact_row(
        number="Corollary 1",
        quantity="mean sojourn time by class of pages",
        latex=r"\mathbb{E}V_c=\frac{\mathbf{a}\,(-T)^{-1}\mathbf{f}_c}{\mathbf{a}\,\mathbf{f}_c},"
        r"\qquad \mathbf{f}_c=(-T)^{-1}\mathbf{t}_c",
        function=sojourn_moments,
        conditions=_CHAIN,
        evaluate=_only(_rows_of_chain, "sojourn_time"),
    ),
    _exact_row(
        number="Theorem 4",
        quantity="second moment of the sojourn time by class of pages",
        latex=r"\mathbb{E}V_c^2=\frac{2\,\mathbf{a}\,(-T)^{-2}\mathbf{f}_c}"
        r"{\mathbf{a}\,\mathbf{f}_c},\qquad \mathbf{f}_c=(-T)^{-1}\mathbf{t}_c",
        function=sojourn_moments,
        conditions=(*_CHAIN, *_FIFO, sojourns_solved),
        evaluate=_only(_rows_of_chain, "sojourn_time_second_moment"),
    ),
    _exact_row(
        number="Theorem 4, inverted",
        quantity="quantiles of the sojourn time by class of pages",
        latex=_QUANTILES,
        function=sojourn_quantiles,
        conditions=(*_CHAIN, quantiles_asked, *_FIFO, sojourns_solved),
        evaluate=_quantiles,
    ),
    _own_row(
        paper="avrachenkov2011",
        number="section 3, accesses to unchanged pages",
        quantity="accesses per unit time that find their page unchanged",
        latex=r"\sum_r\frac{u}{(1-u+u\varphi)\,\mathbb{E}X_r}",
        function=unchanged_rate,
        conditions=(
            conditions.has_buffer,
            conditions.static_robots,
            _some_share_unchanged,
            page_conditions.known_pace,
        ),
        evaluate=_unchanged_rate,
    ),
    _exact_row(
        number="section 3, with hysteresis",
        quantity="robots switched on per unit time",
        latex=r"\varsigma=\sum_{n\ge1}\sum_m\delta_{n,m}\left(r_{m'}-r_m\right)",
        function=switch_rate,
        origin="own",
        conditions=(*_CHAIN, _switches_counted),
        evaluate=_only(_rows_of_chain, "switch_rate"),
    ),
    _exact_row(
        number="(2)",
        quantity="control cost",
        latex=CONTROL_COST,
        function=control_cost,
        conditions=(*_CHAIN, conditions.priced, conditions.response_known, response_solved),
        evaluate=_only(_rows_of_chain, "control_cost"),
    ),
    _own_row(
        number="pages out of order",
        quantity="sojourn times by class, last come first served or with push-out",
        latex=r"\mathbb{E}[W^k;c]=k!\,\mathbf{a}\,(-T)^{-(k+1)}\,\mathbf{t}_c\quad(k=0,1,2),"
        r"\qquad V=\begin{cases}W+\sigma&\text{served}\\W&\text{dropped or pushed out}\end{cases}",
        function=unordered_sojourns,
        conditions=(*_CHAIN, *_OUT_OF_ORDER),
        evaluate=sojourns_out_of_order,
    ),
    _own_row(
        number="pages out of order",
        quantity="quantiles of the sojourn time, last come first served or with push-out",
        latex=_QUANTILES,
        function=unordered_quantiles,
        conditions=(*_CHAIN, quantiles_asked, *_OUT_OF_ORDER),
        evaluate=lambda scenario: _by_share(scenario, partial(quantiles_out_of_order, scenario)),
    ),
    _own_row(
        number="pages out of order, cost",
        quantity="control cost with the response time of such pages",
        latex=CONTROL_COST,
        function=control_cost,
        conditions=(*_CHAIN, conditions.priced, response_priced, *_OUT_OF_ORDER),
        evaluate=_cost_out_of_order,
    ),
    _own_row(
        number="one robot, queue",
        quantity="levels, rates, shares, sojourn times: one robot, access times without phases",
        latex=r"\pi=\pi\,\mathbb{E}\,e^{GX}\Delta,\qquad p=\frac{1}{\mathbb{E}X}\,\pi\,\mathbb{E}"
        r"\int_0^Xe^{Gt}\,dt,\qquad P_{\mathrm{loss}}=\pi\,\mathbb{E}\,e^{GX}\,\mathbf{b}",
        function=one_robot_measures,
        conditions=_ONE_ROBOT,
        evaluate=_all_but(rows_of_one_robot, "control_cost"),
    ),
    _own_row(
        number="one robot, cost",
        quantity="control cost of such a queue",
        latex=CONTROL_COST,
        function=control_cost,
        conditions=(
            *_ONE_ROBOT,
            conditions.priced,
            conditions.switches_not_priced,
            conditions.response_known,
        ),
        evaluate=_only(rows_of_one_robot, "control_cost"),
    ),
    _own_row(
        number="one robot, queue",
        quantity="quantiles of the sojourn time by class of pages of such a queue",
        latex=_QUANTILES,
        function=sojourn_quantiles,
        conditions=(*_ONE_ROBOT, quantiles_asked, *_FIFO),
        evaluate=lambda scenario: _by_share(scenario, partial(quantiles_of_one_robot, scenario)),
    ),
    _takacs_row(
        quantity="levels, rates, shares, sojourn times: one robot, several servers",
        latex=r"\pi=\pi\,\mathbb{E}\,e^{GX}\Delta,\qquad p=\frac{1}{\mathbb{E}X}\,\pi\,\mathbb{E}"
        r"\int_0^Xe^{Gt}\,dt,\qquad P_{\mathrm{loss}}=\pi\,\mathbb{E}\,e^{GX}\,\mathbf{b},"
        r"\qquad P_{\mathrm{succ}}=1-P_{\mathrm{loss}}-P_{\mathrm{obs}}",
        function=servers_at_accesses,
        conditions=_SERVERS_AT_ACCESSES,
        evaluate=_all_but(rows_of_servers_at_accesses, "control_cost"),
    ),
    _takacs_row(
        quantity="quantiles of the sojourn time by class of pages: one robot, several servers",
        latex=_QUANTILES,
        function=sojourn_quantiles_of_servers,
        conditions=(*_SERVERS_AT_ACCESSES, quantiles_asked, *_FIFO),
        evaluate=lambda scenario: _by_share(
            scenario, partial(quantiles_of_servers_at_accesses, scenario)
        ),
    ),
    _takacs_row(
        quantity="control cost: one robot, several servers",
        latex=CONTROL_COST,
        function=measures_at_accesses,
        conditions=(
            *_SERVERS_AT_ACCESSES,
            conditions.priced,
            conditions.switches_not_priced,
            conditions.response_known,
        ),
        evaluate=_only(rows_of_servers_at_accesses, "control_cost"),
    ),
    _exact_row(
        number="section 3, idle server",
        quantity="idle indexers, where the file speaks of its one server",
        latex=r"\bar\iota=\frac{1}{c}\sum_{n=0}^{c-1}(c-n)\,p_n=p_0\quad\text{with }c=1",
        function=idle_servers,
        origin="own",
        conditions=(*_CHAIN, _servers_named),
        evaluate=_idle_server,
    ),
    _servers_row(
        quantity="levels, rates, shares of the fates with several servers",
        latex=r"\mathbf{p}\,Q=0,\qquad p_n=\mathbf{p}_n\mathbf{e},\qquad\sum_np_n=1,\qquad "
        r"\bar\iota=\frac{1}{c}\sum_{n=0}^{c-1}(c-n)\,p_n,\qquad "
        r"P_{\mathrm{succ}}=\frac{1}{\lambda}\sum_{n\ge1}\mathbf{p}_n\mathbf{s}_n",
        function=solve_servers,
        conditions=_SERVERS,
        evaluate=_all_but(solved_servers, "sojourn_time_second_moment", "control_cost"),
    ),
    _servers_row(
        quantity="second moment of the sojourn time by class with several servers",
        latex=r"\mathbb{E}V_c^2=\frac{2\,\mathbf{a}\,(-T)^{-2}\mathbf{f}_c}"
        r"{\mathbf{a}\,\mathbf{f}_c},\qquad \mathbf{f}_c=(-T)^{-1}\mathbf{t}_c",
        function=sojourn_moments_of_servers,
        conditions=(*_SERVERS, *_FIFO),
        evaluate=_only(solved_servers, "sojourn_time_second_moment"),
    ),
    _servers_row(
        quantity="quantiles of the sojourn time by class with several servers",
        latex=_QUANTILES,
        function=sojourn_quantiles_of_servers,
        conditions=(*_SERVERS, quantiles_asked, *_FIFO),
        evaluate=_quantiles_of_servers,
    ),
    _servers_row(
        quantity="control cost with several servers",
        latex=CONTROL_COST,
        function=control_cost,
        conditions=(*_SERVERS, conditions.priced, conditions.response_known),
        evaluate=_only(solved_servers, "control_cost"),
    ),
    _batches_row(
        quantity="level probabilities where servers take batches of pages",
        latex=r"\mathbf{p}\,Q=0,\qquad p_n=\sum_{w+\sum_is_i=n}p(w,\mathbf{s},\mathbf{m}),\qquad "
        r"\sum_np_n=1",
        function=solve_batches,
        conditions=(*BATCHES, sizes_fit),
        evaluate=levels_of_batches,
    ),
    _batches_row(
        quantity="rates, shares of the fates, mean batch where servers take batches of pages",
        latex=r"\begin{split}"
        r"\mathbf{p}\,Q&=0,\qquad\bar\iota=1-\frac{\mathbb{E}b}{c}\\"
        r"\Theta&=\sum_{w,\mathbf{s},\mathbf{m}}p(w,\mathbf{s},\mathbf{m})\sum_is_ih_{m_i},\qquad "
        r"P_{\mathrm{succ}}=\frac{\Theta}{\lambda},\qquad "
        r"\bar s=\Theta\Big/\sum_{w,\mathbf{s},\mathbf{m}}p(w,\mathbf{s},\mathbf{m})\sum_ih_{m_i}"
        r"\end{split}",
        function=solve_batches,
        conditions=BATCHES,
        evaluate=_all_but(measures_of_batches, "control_cost"),
    ),
    _batches_row(
        quantity="sojourn time by class and its second moment, where servers take batches",
        latex=_TAGGED_MOMENTS,
        function=sojourn_moments_of_batches,
        conditions=(*BATCHES, *_FIFO, page_of_batches_fits),
        evaluate=partial(_classes_of, sojourns_of_batches),
    ),
    _batches_row(
        quantity="quantiles of the sojourn time by class, where servers take batches",
        latex=_TAGGED_QUANTILE,
        function=sojourn_quantiles_of_batches,
        conditions=(*BATCHES, quantiles_asked, *_FIFO, page_of_batches_fits),
        evaluate=lambda scenario: _by_share(scenario, partial(quantiles_of_batches, scenario)),
    ),
    _batches_row(
        quantity="control cost where servers take batches",
        latex=CONTROL_COST,
        function=control_cost,
        conditions=(
            *BATCHES,
            conditions.priced,
            conditions.response_known,
            response_of_batches_fits,
        ),
        evaluate=partial(_cost_of, measures_of_batches, sojourns_of_batches),
    ),
    _rests_row(
        quantity="levels, rates, shares of the fates where the indexer rests or pages come back",
        latex=r"\begin{split}"
        r"\mathbf{p}\,Q&=0,\qquad p_n=\sum_{x,o}p(n,x,o),\qquad\bar\iota=1-\frac{\mathbb{E}b}{c},"
        r"\qquad\bar o=\sum_{n,x,o}o\,p(n,x,o)\\"
        r"P_{\mathrm{succ}}&=\frac{1}{\lambda}\sum_{n,x,o}p(n,x,o)\sum_ih_{m_i},\qquad "
        r"P_{\mathrm{obs}}=\frac{\theta}{\lambda}\sum_{n,x,o}w\,p(n,x,o)"
        r"\end{split}",
        function=solve_batches,
        conditions=RESTS,
        evaluate=_all_but(measures_with_rests, "control_cost"),
    ),
    _rests_row(
        quantity="sojourn time by class where the indexer rests or pages come back",
        latex=_TAGGED_MOMENTS,
        function=sojourn_moments_of_batches,
        conditions=(*RESTS, *_FIFO, page_with_rests_fits),
        evaluate=partial(_classes_of, sojourns_with_rests),
    ),
    _rests_row(
        quantity="quantiles of the sojourn time where the indexer rests or pages come back",
        latex=_TAGGED_QUANTILE,
        function=sojourn_quantiles_of_batches,
        conditions=(*RESTS, quantiles_asked, *_FIFO, page_with_rests_fits),
        evaluate=lambda scenario: _by_share(scenario, partial(quantiles_with_rests, scenario)),
    ),
    _rests_row(
        quantity="control cost where the indexer rests or pages come back",
        latex=CONTROL_COST,
        function=control_cost,
        conditions=(
            *RESTS,
            conditions.priced,
            conditions.switches_not_priced,
            conditions.response_known,
            response_with_rests_fits,
        ),
        evaluate=partial(_cost_of, measures_with_rests, sojourns_with_rests),
    ),
    _priorities_row(
        quantity="levels, rates, and shares of the fates by class, where pages are served by class",
        latex=r"\begin{split}"
        r"\mathbf{p}^{(k)}Q^{(k)}&=0,\qquad p_n=\sum_mp^{(k)}(m,n),\qquad "
        r"\lambda_k=q_k\sum_n\sum_jj\,\mathbf{p}_nD_j^{(r_n)}\mathbf{e}\\"
        r"P_{\mathrm{loss},k}&=1-\frac{1}{\lambda_k}\left(\mathbf{a}_k\,(-T_k)^{-1}"
        r"(\mathbf{t}_{k,\mathrm{succ}}+\mathbf{t}_{k,\mathrm{obs}})+\alpha_k\right),\qquad "
        r"P_{\mathrm{obs},k}=\frac{\mathbf{a}_k\,(-T_k)^{-1}\mathbf{t}_{k,\mathrm{obs}}}"
        r"{\lambda_k},\qquad P_{\mathrm{succ}}=\frac{\mu}{\lambda}\sum_n\min(n,c)\,p_n"
        r"\end{split}",
        conditions=PRIORITIES,
        evaluate=_all_but(
            measures_of_priorities, "sojourn_time", "sojourn_time_second_moment", "control_cost"
        ),
    ),
    _priorities_row(
        quantity="sojourn times and their second moments, where pages are served by class",
        latex=r"\mathbb{E}[W_k^i;d]=i!\,\mathbf{a}_k\,(-T_k)^{-(i+1)}\,\mathbf{t}_{k,d}"
        r"\quad(i=0,1,2),\qquad V_k=\begin{cases}W_k+\sigma&\text{served}\\"
        r"W_k&\text{dropped or pushed out}\end{cases}",
        conditions=PRIORITIES,
        evaluate=_only(measures_of_priorities, "sojourn_time", "sojourn_time_second_moment"),
    ),
    _priorities_row(
        quantity="control cost where pages are served by class",
        latex=CONTROL_COST,
        conditions=(*PRIORITIES, conditions.priced, conditions.switches_not_priced),
        evaluate=_only(measures_of_priorities, "control_cost"),
    ),
    _textbook_row(
        number="section 3.4, with a capacity",
        quantity="level probabilities, loss probability, mean sojourn time",
        latex=r"p_n=\frac{a}{\min(n,c)}\,p_{n-1},\qquad\sum_{n=0}^Kp_n=1,\qquad "
        r"P_{\mathrm{loss}}=p_K,\qquad "
        r"a=\frac{\lambda}{\mu},\qquad \mathbb{E}T=\frac{\sum_{n=0}^Kn\,p_n}{\lambda(1-p_K)}",
        function=mmck_levels,
        conditions=(*_TEXTBOOK, conditions.no_obsolescence, conditions.nothing_pushed_out),
        evaluate=_mmck,
    ),
    _textbook_row(
        number="section 3.5, Erlang B",
        quantity="levels, losses, sojourn times without waiting, for any law of the service",
        latex=r"p_n=\frac{\lambda_{n-1}}{n\,\mu}\,p_{n-1},\qquad\sum_{n=0}^cp_n=1,\qquad "
        r"P_{\mathrm{loss}}=\frac{\lambda_cp_c}{\sum_{n=0}^c\lambda_np_n},\qquad "
        r"P_{\mathrm{succ}}=1-P_{\mathrm{loss}},\qquad\mathbb{E}T=\frac{1}{\mu}",
        function=loss_system_levels,
        conditions=_LOSS_SYSTEM,
        evaluate=_all_but(_loss_system, "control_cost"),
    ),
    _textbook_row(
        number="section 3.5, Erlang B",
        quantity="quantiles of the sojourn time without waiting, for any law of the service",
        latex=r"v(q)=\min\{t:\ \mathbb{P}(\sigma\le t)\ge q\}",
        function=time_quantile,
        conditions=(*_LOSS_SYSTEM, quantiles_asked),
        evaluate=lambda scenario: _by_share(
            scenario, partial(_quantiles_without_waiting, scenario)
        ),
    ),
    _textbook_row(
        number="section 3.5, Erlang B",
        quantity="control cost without waiting, for any law of the service",
        latex=CONTROL_COST,
        function=control_cost,
        conditions=(*_LOSS_SYSTEM, conditions.priced, conditions.switches_not_priced),
        evaluate=_only(_loss_system, "control_cost"),
    ),
    _textbook_row(
        number="section 3.4, Erlang C",
        quantity="mean sojourn time, which no capacity makes longer",
        latex=r"\mathbb{E}T\le\frac{P_{\mathrm{wait}}}{c\mu-\lambda}+\frac{1}{\mu},\qquad "
        r"P_{\mathrm{wait}}=\frac{B_c}{1-\frac{a}{c}\left(1-B_c\right)},\qquad "
        r"B_c=\frac{a^c/c!}{\sum_{k=0}^ca^k/k!},\qquad a=\frac{\lambda}{\mu}",
        function=mean_sojourn_without_limit,
        kind="upper bound",
        conditions=(*_TEXTBOOK, conditions.no_obsolescence, conditions.nothing_pushed_out),
        evaluate=_erlang_c,
    ),
    Formula(
        paper="garnett2002",
        number="section 2, Erlang A",
        quantity="throughput, which no capacity makes larger",
        latex=r"\Theta\le\mu\sum_{n=0}^\infty\min(n,c)\,p_n,\qquad "
        r"p_n=\frac{\lambda\,p_{n-1}}{\min(n,c)\,\mu+\max(n-c,0)\,\theta},\qquad"
        r"\sum_{n=0}^\infty p_n=1",
        function=erlang_a_throughput,
        kind="upper bound",
        origin="re-derived",
        conditions=(*_TEXTBOOK, _some_timer, conditions.exponential_patience_or_none),
        evaluate=_erlang_a,
    ),
    _general_row(
        quantity="levels, rates and shares of the fates with services of any law",
        latex=r"\begin{split}"
        r"\mathbf{p}_0&=\frac{(\pi P)_1(-H)^{-1}}{Z},\qquad \mathbf{p}_n=\frac{(\pi A)_n}{Z}\ "
        r"(n\ge1),\qquad Z=\mathbb{E}X+(\pi P)_1(-H)^{-1}\mathbf{e},\qquad "
        r"P=\mathbb{E}\,e^{GX},\qquad A=\mathbb{E}\int_0^Xe^{Gt}\,dt\\"
        r"P_{\mathrm{obs}}&=\frac{\theta}{\lambda}\sum_{n\ge1}(n-1)\,\mathbf{p}_n\mathbf{e},\qquad "
        r"P_{\mathrm{succ}}=\frac{1}{\lambda Z},\qquad "
        r"P_{\mathrm{loss}}=1-P_{\mathrm{obs}}-P_{\mathrm{succ}}"
        r"\end{split}",
        conditions=_GENERAL,
        evaluate=_all_but(
            rows_of_general, "sojourn_time_second_moment", "sojourn_time", "control_cost"
        ),
    ),
    _general_row(
        quantity="mean and second moment of the sojourn time with services of any law",
        latex=r"(\pi P,w_0,w_1,w_2)=(\pi,0,0,0)\,\mathbb{E}\exp\left(X\begin{pmatrix}G&D&0&0\\"
        r"0&B&I&0\\"
        r"0&0&B&I\\"
        r"0&0&0&B\end{pmatrix}\right),\qquad\mathbb{E}V_c^k=\frac{k!\,j_{c,k}}{j_{c,0}}",
        conditions=(*_GENERAL, *_FIFO),
        evaluate=_only(rows_of_general, "sojourn_time", "sojourn_time_second_moment"),
    ),
    _general_row(
        quantity="control cost with services of any law",
        latex=CONTROL_COST,
        conditions=(*_GENERAL, conditions.priced, conditions.response_known),
        evaluate=_only(rows_of_general, "control_cost"),
    ),
    _impatient_row(
        quantity="levels, rates and shares of the fates with timers of any law",
        latex=r"\begin{split}"
        r"p_n&=\frac{\lambda_{n-1}}{n\mu}\,p_{n-1}\ (n\le c),\qquad p_{c+k}=p_c\,\lambda_c\cdots"
        r"\lambda_{c+k-1}\int_0^\infty e^{-c\mu x}\,\mathbb{P}(Y>x)\,\frac{F(x)^{k-1}}{(k-1)!}\,dx,"
        r"\qquad F(x)=\int_0^x\mathbb{P}(Y>u)\,du\\"
        r"P_{\mathrm{loss}}&=\frac{\lambda_Kp_K}{\lambda},\qquad P_{\mathrm{succ}}=\frac{\mu}"
        r"{\lambda}\sum_n\min(n,c)\,p_n,\qquad P_{\mathrm{obs}}=\frac{1}{\lambda}\int_0^\infty"
        r"\varphi(x)\,\mathbb{P}(Y\le x)\,dx"
        r"\end{split}",
        evaluate=_all_but(
            rows_of_impatience, "sojourn_time", "sojourn_time_second_moment", "control_cost"
        ),
    ),
    _impatient_row(
        quantity="mean and second moment of the sojourn time with timers of any law",
        latex=r"\varphi(x)=p_c\,c\mu\,e^{-c\mu x}\sum_{k=1}^{K-c}\lambda_c\cdots\lambda_{c+k-1}"
        r"\frac{F(x)^{k-1}}{(k-1)!},\qquad w_j=\int_0^\infty x^j\,\varphi(x)\,\mathbb{P}(Y>x)\,dx,"
        r"\qquad\mathbb{E}V_{\mathrm{succ}}=\frac{w_1}{w_0+a}+\frac{1}{\mu},\qquad "
        r"a=\sum_{n<c}\lambda_np_n",
        evaluate=_only(rows_of_impatience, "sojourn_time", "sojourn_time_second_moment"),
    ),
    _impatient_row(
        quantity="control cost with timers of any law",
        latex=CONTROL_COST,
        conditions=(*_IMPATIENT, conditions.priced, conditions.response_known),
        evaluate=_only(rows_of_impatience, "control_cost"),
    ),
    _own_row(
        number="services between Erlang laws",
        quantity="all measures, several servers, from Erlang laws: services without phases",
        latex=r"m(c^2)\approx\sum_km_k\prod_{j\ne k}\frac{c^2-1/j}{1/k-1/j},\qquad "
        r"c^2=\frac{\mathbb{E}\sigma^2}{(\mathbb{E}\sigma)^2}-1",
        function=between_erlang_laws,
        kind="approximation",
        conditions=_MATCHED,
        evaluate=_all_but(rows_of_matched_services, "control_cost"),
    ),
    _own_row(
        number="accesses of few phases",
        quantity="all measures, several robots, from few phases: accesses without phases",
        latex=r"\tilde Z=\operatorname{argmax}_{\tilde Z}\ \mathbb{E}\log g(Z),\qquad "
        r"\mathbb{E}\tilde Z=\mathbb{E}Z",
        function=likeliest_phases,
        kind="approximation",
        conditions=_LIKELIEST,
        evaluate=_all_but(_rows_of_likeliest, "control_cost"),
    ),
    _closure_row(
        quantity="levels, rates and shares of large buffers with phase-type timers",
        latex=r"\theta_k=\frac{\sum_\eta F_k(\eta)\,h(\eta)}{p(n,\nu,m)},\qquad "
        r"\text{page }k\text{ obsolete, while page }l\text{ is in phase }\eta"
        r"\text{: at the rate }F_l(\eta)\,\theta_k",
        conditions=_CLOSURE,
        evaluate=_from_closure,
    ),
    _closure_row(
        quantity="loss of large buffers with phase-type timers",
        latex=r"P_{\mathrm{loss}}\approx\frac{1}{\lambda}\sum_n\sum_k(k-a_{n,k})\mathbf{p}_n"
        r"\left(D_k^{(r_n)}\otimes I\right)\mathbf{e}",
        conditions=(*_CLOSURE, loss_approximated),
        evaluate=_loss_from_closure,
    ),
)
"""The index: paper, number, quantity, function, kind, conditions."""
