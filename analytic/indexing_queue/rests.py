"""An indexer that rests while pages wait, and pages that come back where they found no room.

The chain is that of `analytic.indexing_queue.batches` with one page at a time: its states also say
what the indexer does, and how many pages are in orbit. Vacations and set-ups are of phase type;
docs/theory/indexing-queue.md, "Vacations and retrials".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots, buffer_of
from analytic.index.formula import dependent
from analytic.indexing_queue.batches import (
    BatchChain,
    Rests,
    Retrials,
    SolvedBatches,
    batch_levels,
    batch_rates,
    rows_of,
    sojourn_moments_of_batches,
    sojourn_quantiles_of_batches,
    solve_batches,
)
from analytic.indexing_queue.measures import (
    UNCHANGED,
    limited_robots_at,
    service_and_patience,
    size_of,
)
from analytic.indexing_queue.several_servers import size_of_servers
from analytic.indexing_queue.sojourns import Row
from analytic.machinery.active_robots import numbers_in_use
from analytic.machinery.arrival_process import delivery_modes, mean_rate
from analytic.machinery.markov import closed_classes
from analytic.machinery.phase_type import PhaseLaw, as_phase_type, moment, phase_count
from analytic.machinery.refusal import NoAnswerError, Remembered
from analytic.machinery.state_space import MOST_STATES
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.laws import Distribution
from scenarios.model import Rest, present

LEAST_LOST = 1e-13
"""An orbit without a limit is cut where a smaller share of the pages finds it full."""

_FIRST_CUT = 32


def chain_with_rests(scenario: Scenario, most: int) -> BatchChain:
    """The chain of a scenario that meets the conditions of its formulas.

    Parameters
    ----------
    scenario : Scenario
    most : int
        Pages in orbit, where they come back.
    """
    queue, _ = buffer_and_robots(scenario)
    return BatchChain(
        modes=delivery_modes(conditions.fleet_of(scenario), numbers_in_use(scenario)),
        robots_at=limited_robots_at(scenario, UNCHANGED),
        service=service_and_patience(scenario)[0],
        servers=queue.servers,
        most=1,
        least=1,
        capacity=queue.capacity,
        admission=queue.admission,
        obsolescence=conditions.timer_rate(scenario),
        rests=None if queue.rest is None else _rests(queue.rest),
        retrials=None if queue.retrial is None else Retrials(queue.retrial.rate, most),
    )


def _rests(given: Rest) -> Rests:
    return Rests(_phases(given.vacation), given.resume_at, _phases(given.set_up))


def _phases(law: Distribution | None) -> PhaseLaw | None:
    return None if law is None else present(as_phase_type(law))


@Remembered
def solution_with_rests(scenario: Scenario) -> SolvedBatches:
    """The chain of a scenario, solved; an orbit without a limit is cut far out.

    Raises
    ------
    NoAnswerError
        If the steady state is not unique, or there is none.
    """
    retrial = buffer_of(scenario).retrial
    limited = retrial is None or retrial.most is not None
    most = (retrial.most if retrial else None) or _FIRST_CUT
    chain = chain_with_rests(scenario, most)
    if not limited:
        _require_room(chain)
    while True:
        try:
            solved = solve_batches(replace(chain, retrials=_cut(chain.retrials, most)))
        except ValueError as failure:
            raise NoAnswerError(f"its chain has no unique steady state: {failure}") from None
        if limited:
            return solved
        rates = batch_rates(solved)
        if rates["lost"] <= LEAST_LOST * rates["delivered"]:
            return solved
        most *= 2


def _cut(retrials: Retrials | None, most: int) -> Retrials | None:
    return None if retrials is None else retrials._replace(most=most)


def _require_room(chain: BatchChain) -> None:
    """Refuse an orbit that grows: more pages come to a full buffer than leave it."""
    full = chain.modes[chain.robots_at(chain.capacity)]
    waiting = chain.capacity - chain.servers
    leave = chain.servers / moment(chain.service, 1) + waiting * chain.obsolescence
    if len(closed_classes(full.sum(axis=0))) == 1 and mean_rate(full) >= leave:
        raise NoAnswerError("its orbit grows without bound: a full buffer takes fewer than come")


def measures_with_rests(scenario: Scenario) -> Iterator[Row]:
    """All measures but those of single pages, and the levels."""
    solved = solution_with_rests(scenario)
    for level, share in enumerate(batch_levels(solved).tolist()):
        yield "level_probability", level, share
    yield from rows_of(scenario, solved, None)


def sojourns_with_rests(scenario: Scenario) -> Iterator[Row]:
    """The same with sojourn times by class of pages, first come first served."""
    solved = solution_with_rests(scenario)
    return rows_of(scenario, solved, list(sojourn_moments_of_batches(solved)))


def quantiles_with_rests(scenario: Scenario, shares: Sequence[float]) -> dict[str, Array]:
    """Quantiles of the sojourn time by class of pages."""
    return sojourn_quantiles_of_batches(solution_with_rests(scenario), shares)


# --- what stands against them -------------------------------------------------------------------


def rests_of_phase_type(scenario: Scenario) -> str | None:
    """Vacations and set-ups are of phase type."""
    rest = buffer_of(scenario).rest
    if rest is None:
        return None
    vacation = conditions.not_of_phase_type("vacations", rest.vacation)
    return vacation or conditions.not_of_phase_type("set-ups", rest.set_up)


@dependent
def rests_fit(scenario: Scenario) -> str | None:
    """Its chain has at most 60 000 states."""
    queue, _ = buffer_and_robots(scenario)
    order, phases, _, top = size_of(scenario)
    states, _ = size_of_servers(order, phases, queue.servers, top)
    if queue.rest is not None:
        laws = queue.rest.vacation, queue.rest.set_up
        resting = 1 + sum(phase_count(law) or 0 for law in laws if law is not None)
        states += order * resting * (top + 1)
    if queue.retrial is not None:
        states *= 1 + (queue.retrial.most or _FIRST_CUT)
    return None if states <= MOST_STATES else f"its chain has {states} states, limit {MOST_STATES}"


@dependent
def rests_solved(scenario: Scenario) -> str | None:
    """There is one steady state."""
    solution_with_rests(scenario)
    return None


@dependent
def page_with_rests_fits(scenario: Scenario) -> str | None:
    """A waiting page can be followed with all that matters to it."""
    sojourn_moments_of_batches(solution_with_rests(scenario))
    return None


@dependent
def response_with_rests_fits(scenario: Scenario) -> str | None:
    """A waiting page can be followed, where the response has a price."""
    return page_with_rests_fits(scenario) if scenario.prices.response else None


RESTS = (
    conditions.has_buffer_with_rests,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.pages_leave_the_queue_alone,
    conditions.not_switching,
    conditions.markovian_accesses,
    conditions.phase_type_service,
    rests_of_phase_type,
    conditions.exponential_patience_or_none,
    rests_fit,
    rests_solved,
)
"""Conditions of an indexer that rests, and of pages that come back."""
