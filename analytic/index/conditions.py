"""Conditions of formulas: what a scenario must be, each with the reason where it is not."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from analytic.index.formula import AS_LONG, premise
from analytic.machinery.active_robots import remembering, robots_at
from analytic.machinery.arrival_process import (
    delivery_rates,
    gap_order,
    rates_at_speed_one,
    total_rates,
)
from analytic.machinery.phase_type import MOST_PHASES, exponential_rate, phase_count
from analytic.machinery.refusal import NoAnswerError
from scenarios import Scenario
from scenarios.accessing.randomized import Randomized
from scenarios.activation import Free, Optimal, Static, Switching, These
from scenarios.arrays import Array
from scenarios.laws import Deterministic, Distribution, Mixture
from scenarios.model import Fleet, Never, Queue, QueueDiscipline, ServiceOrder, present
from scenarios.page_data import access_shares, page_service_times
from scenarios.sections import PageSize, Robots

IN_ENVIRONMENT = "the speed of accesses changes with robots.environment"
"""Why a formula with one rate of each robot does not hold."""


def all_of(*reasons: str | None) -> str | None:
    """Several reasons as one, without those that do not apply."""
    return ", and ".join(reason for reason in reasons if reason is not None) or None


def timer_of(scenario: Scenario) -> Distribution | None:
    """The law of the obsolescence timers; None where waiting pages have none."""
    queue = scenario.model.queue
    return queue.timer if queue else None


def timer_rate(scenario: Scenario) -> float:
    """Obsolete pages per waiting page and unit time; 0 where waiting pages have no timers.

    Of a scenario that meets `exponential_patience_or_none`.
    """
    law = timer_of(scenario)
    rate = 0.0 if law is None else exponential_rate(law)
    return present(rate)


def buffer_and_robots(scenario: Scenario) -> tuple[Queue, Robots]:
    """The queue and the robots of a scenario that meets `has_buffer`."""
    return buffer_of(scenario), present(scenario.robots)


def poisson_parameters(scenario: Scenario) -> tuple[Array, float]:
    """Deliveries per unit time at each level 0 … capacity, and the service rate.

    Of a scenario that meets `poisson_accesses` and `exponential_service`.
    """
    service = present(exponential_rate(service_law(scenario)))
    return delivery_rates_at_levels(scenario), service


def delivery_rates_at_levels(scenario: Scenario) -> Array:
    """Deliveries per unit time at each level 0 … capacity.

    Of a scenario that meets `poisson_accesses`.
    """
    totals = present(total_rates(fleet_of(scenario)))
    at = robots_at(scenario)
    return totals[[at(level) for level in range(buffer_of(scenario).capacity + 1)]]


@premise
def has_buffer(scenario: Scenario) -> str | None:
    """Robots, which never rest, deliver to a buffer whose servers take one page at a time."""
    has_both = scenario.buffer is not None and scenario.robots is not None
    if not has_both:
        return "there is no [buffer]"
    return all_of(never_resting(scenario), _in_batches(scenario), never_at_rest(scenario))


@premise
def has_buffer_of_batches(scenario: Scenario) -> str | None:
    """Robots, which never rest, deliver to a buffer whose servers take batches of pages."""
    if scenario.buffer is None or scenario.robots is None:
        return "there is no [buffer]"
    one_by_one = None if _in_batches(scenario) else "servers take one page at a time"
    return all_of(never_resting(scenario), one_by_one, never_at_rest(scenario))


@premise
def has_buffer_with_rests(scenario: Scenario) -> str | None:
    """Robots, which never rest, deliver to an indexer that rests, or pages come back."""
    if scenario.buffer is None or scenario.robots is None:
        return "there is no [buffer]"
    never = None if never_at_rest(scenario) else "the indexer never rests, and no page comes back"
    return all_of(never_resting(scenario), _in_batches(scenario), never)


def never_at_rest(scenario: Scenario) -> str | None:
    """A free server takes what waits, and a page that finds no room is lost."""
    queue = buffer_of(scenario)
    if queue.retrial is not None:
        return "pages that find no room come back (buffer.retrial)"
    rests = "the indexer may rest while pages wait (buffer.vacation, buffer.set_up)"
    return None if queue.rest is None else rests


def _in_batches(scenario: Scenario) -> str | None:
    batch = buffer_of(scenario).batch
    return None if batch is None else "servers take batches of pages (buffer.batch)"


def taken_by_number(scenario: Scenario) -> str | None:
    """How many pages wait says when servers take a batch, whatever the time."""
    batch = buffer_of(scenario).batch
    timed = batch is not None and batch.wait < math.inf and batch.least > 1
    return "servers look at how long the oldest page waits (buffer.batch.wait)" if timed else None


def service_of_batch_alike(scenario: Scenario) -> str | None:
    """How long a service takes does not depend on the size of its batch."""
    batch = buffer_of(scenario).batch
    per_page = batch is not None and batch.per_page is not None
    return "each page adds to its service (buffer.batch.per_page)" if per_page else None


def never_resting(scenario: Scenario) -> str | None:
    """Robots never rest."""
    return "robots rest while no page is due" if scenario.model.frontier is not None else None


def hearing_nothing(scenario: Scenario) -> str | None:
    """What robots do depends on no signals of changes."""
    hearing = scenario.model.hearing
    return "which page is next depends on signals of changes" if hearing is not None else None


def fleet_of(scenario: Scenario) -> Fleet:
    """The robots of a scenario that has some."""
    return present(scenario.model.fleet)


def buffer_of(scenario: Scenario) -> Queue:
    """The queue of a scenario that has a buffer."""
    return present(scenario.model.queue)


def discipline_of(scenario: Scenario) -> QueueDiscipline:
    """The discipline of a scenario that has a buffer."""
    return buffer_of(scenario).discipline


def no_waiting_place(scenario: Scenario) -> str | None:
    """There are no waiting places."""
    return "there are waiting places" if buffer_of(scenario).waiting_places else None


def one_server(scenario: Scenario) -> str | None:
    """One server indexes the pages."""
    servers = scenario.model.queue.servers if scenario.model.queue else 1
    return None if servers == 1 else f"{servers} servers index pages at a time"


def independent_services(scenario: Scenario) -> str | None:
    """Service times are independent of each other and of all else."""
    if services_alike(scenario) is None:
        return None
    policy = scenario.model.accessing
    if not isinstance(policy, Randomized):
        return "pages are not drawn at random: their service times depend on the order of accesses"
    if policy.unresolved:
        return f"the {policy.unresolved} of the accessing policy are still to be found"
    return (
        no_host_spacing(scenario)
        or served_by_time_of_entry(scenario)
        or pages_leave_the_queue_alone(scenario)
    )


def services_alike(scenario: Scenario) -> str | None:
    """How long a service takes does not depend on the page."""
    service = buffer_of(scenario).service
    if not isinstance(service, PageSize) or np.ptp(_times_of_pages(scenario, service)) == 0:
        return None
    return "how long a service takes depends on the page"


def _times_of_pages(scenario: Scenario, service: PageSize) -> Array:
    return page_service_times(service, present(scenario.model.pages))


def service_law(scenario: Scenario) -> Distribution:
    """The law of the service times.

    Where a page says how long its service takes and pages are drawn at random, it is the mixture of
    those times by the frequencies of the pages: which page a service is of depends on nothing that
    happened before, since the buffer does not look at its pages.

    Raises
    ------
    NoAnswerError
        If service times depend on the pages otherwise.
    """
    if reason := independent_services(scenario):
        raise NoAnswerError(reason)
    service = buffer_of(scenario).service
    return _mixed(scenario, service) if isinstance(service, PageSize) else service


@lru_cache(maxsize=1)
def _mixed(scenario: Scenario, service: PageSize) -> Distribution:
    """The mixture of the times of the pages; one time where all are alike."""
    assert scenario.model.pages is not None
    times, which = np.unique(_times_of_pages(scenario, service), return_inverse=True)
    if len(times) == 1:
        return Deterministic(value=float(times[0]))
    policy = scenario.model.accessing
    shares = np.bincount(which, weights=access_shares(present(policy), scenario.model.pages))
    return Mixture(
        probabilities=tuple(shares[shares > 0].tolist()),
        of=tuple(Deterministic(value=time) for time in times[shares > 0].tolist()),
    )


def several_servers(scenario: Scenario) -> str | None:
    """Several servers index the pages."""
    return None if one_server(scenario) else "one server indexes pages"


def no_host_spacing(scenario: Scenario) -> str | None:
    """Robots never wait for a host."""
    free = scenario.robots is None or not np.any(scenario.robots.host_spacing or 0.0)
    return None if free else "robots may wait for hosts"


def robots_alike(scenario: Scenario) -> str | None:
    """All robots have the same access times."""
    several = scenario.robots is not None and len(scenario.robots.classes or ()) > 1
    return "robots are of several classes" if several else None


@premise
def robots_unlike(scenario: Scenario) -> str | None:
    """Robots are of several classes."""
    return None if robots_alike(scenario) else "robots are not of several classes"


def every_access_delivers(scenario: Scenario) -> str | None:
    """No access fails."""
    fleet = scenario.model.fleet
    failing = fleet.failing if fleet else None
    fails = failing is not None and (failing.probability > 0 or failing.timeout < math.inf)
    return "accesses may fail" if fails else None


def order_of_pages_kept(scenario: Scenario) -> str | None:
    """Pages are drawn at random, or no access fails: those given up leave a list with gaps."""
    drawn = isinstance(scenario.model.accessing, Randomized)
    if drawn or every_access_delivers(scenario) is None:
        return None
    return "accesses may fail, and pages that robots give up are missing in the order of deliveries"


@premise
def resolved_activation(scenario: Scenario) -> str | None:
    """The activation is given, not to be optimised."""
    unresolved = isinstance(scenario.activation, Optimal)
    return "the activation is still to be optimised" if unresolved else None


def static_robots(scenario: Scenario) -> str | None:
    """The number of active robots is fixed."""
    fixed = scenario.activation is None or isinstance(scenario.activation, Static | These)
    return None if fixed else "the number of active robots depends on the level"


@premise
def in_environment(scenario: Scenario) -> str | None:
    """The robots have a common environment."""
    robots = scenario.robots
    there = robots is not None and robots.environment is not None
    return None if there else "there is no robots.environment"


def not_switching(scenario: Scenario) -> str | None:
    """The level alone says how many robots are active, and what they do."""
    given = remembering(scenario)
    if given is None:
        return not_one_at_a_time(scenario)
    if given.start_up is not None:
        return "robots that are switched on take a time to start"
    return "more robots come back at another level than they went at"


def not_one_at_a_time(scenario: Scenario) -> str | None:
    """Robots are not switched on one at a time."""
    switching = isinstance(scenario.activation, Switching)
    return "robots are switched on one at a time" if switching else None


def known_start_up(scenario: Scenario) -> str | None:
    """Robots start at once, or after exponential times, to exponential accesses, all alike."""
    given = scenario.model.hysteresis
    if given is None or given.start_up is None:
        return None
    if exponential_rate(given.start_up) is None:
        return "times to start are not exponential"
    fleet = fleet_of(scenario)
    if rates_at_speed_one(fleet) is None:
        return f"robots take a time to start, and {_other_than_exponential(fleet)}"
    return None if len(fleet.classes) == 1 else "robots of several classes take a time to start"


def switches_not_priced(scenario: Scenario) -> str | None:
    """Switches of robots have no price."""
    return "[costs] prices switches" if scenario.prices.switch else None


def phases_unseen(scenario: Scenario) -> str | None:
    """The level alone says how many robots are active, or they are switched one at a time."""
    if isinstance(scenario.activation, Free):
        robots_at(scenario)
    return None


def first_come_first_served(scenario: Scenario) -> str | None:
    """First come first served, nothing pushed out."""
    return all_of(_other_order(scenario), nothing_pushed_out(scenario))


_BY_CLASS = "pages are served by class"


def _other_order(scenario: Scenario) -> str | None:
    """The order in which pages are served that are not served first come first served."""
    order = discipline_of(scenario).order
    known = {
        ServiceOrder.OLDEST_FIRST: None,
        ServiceOrder.NEWEST_FIRST: "last come first served",
        ServiceOrder.BY_CLASS: _BY_CLASS,
    }
    return known.get(order, f'pages are served in the order "{order.value}"')


def served_by_time_of_entry(scenario: Scenario) -> str | None:
    """Which waiting page is served next depends on nothing but when it entered."""
    order = discipline_of(scenario).order
    if order in (ServiceOrder.OLDEST_FIRST, ServiceOrder.NEWEST_FIRST):
        return None
    if order is ServiceOrder.BY_CLASS:
        return _BY_CLASS
    return f'the order "{order.value}" looks at more than when pages entered'


@premise
def served_by_class(scenario: Scenario) -> str | None:
    """Pages are served by class."""
    queue = scenario.model.queue
    by_class = queue is None or queue.discipline.order is ServiceOrder.BY_CLASS
    return None if by_class else "pages of all classes are served alike"


def nothing_pushed_out(scenario: Scenario) -> str | None:
    """A full buffer loses the new page."""
    discipline = discipline_of(scenario)
    pushes_out = discipline.pushes_out_oldest or discipline.pushes_out_lowest
    return "a full buffer pushes out" if pushes_out else None


def priced(scenario: Scenario) -> str | None:
    """[costs] sets a price, none of them on staleness or bytes."""
    if not scenario.costs.model_fields_set:
        return "there are no [costs]"
    return "[costs] prices staleness" if scenario.prices.staleness else bytes_unpriced(scenario)


def bytes_unpriced(scenario: Scenario) -> str | None:
    """[costs] does not price bytes."""
    return "[costs] prices bytes" if scenario.prices.byte else None


def one_price_of_robots(scenario: Scenario) -> str | None:
    """[costs] has one price for every robot."""
    given = scenario.costs.robots
    if not isinstance(given, tuple) or len(set(given)) == 1:
        return None
    return "[costs] has a price of robots for each class, or each robot"


def staleness_priced(scenario: Scenario) -> str | None:
    """[costs] prices staleness."""
    return None if scenario.prices.staleness else "[costs] does not price staleness"


def pages_priced(scenario: Scenario) -> str | None:
    """[costs] prices staleness or bytes."""
    return None if scenario.prices.byte else staleness_priced(scenario)


def response_known(scenario: Scenario) -> str | None:
    """[costs] prices the response time only where pages are served in their order."""
    if not scenario.prices.response or first_come_first_served(scenario) is None:
        return None
    return "[costs] prices the response time of pages that are not served in their order"


def poisson_accesses(scenario: Scenario) -> str | None:
    """Robots deliver single pages after exponential times."""
    fleet = fleet_of(scenario)
    if fleet.deliveries is not None:
        return "deliveries are a joint process"
    if fleet.environment is not None:
        return IN_ENVIRONMENT
    return None if delivery_rates(fleet) is not None else _other_than_exponential(fleet)


def _other_than_exponential(fleet: Fleet) -> str:
    return AS_LONG if fleet.shortens else "access times are not exponential"


def markovian_accesses(scenario: Scenario) -> str | None:
    """Deliveries have a Markovian form; switched or in an environment they are exponential."""
    fleet = fleet_of(scenario)
    exponential = fleet.deliveries is not None or rates_at_speed_one(fleet) is not None
    if fleet.environment is not None and not exponential:
        return AS_LONG if fleet.shortens else "access times in an environment are not exponential"
    for each in fleet.classes:
        order = gap_order(each.gaps)
        if order is None:
            return f"access times are {each.gaps.key}, which has no phase-type form"
        if order > MOST_PHASES:
            return _too_many("access times", order)
    if exponential or not isinstance(scenario.activation, Switching):
        return None
    if fleet.shortens:
        return f"robots are switched one at a time, and {AS_LONG}"
    return "switched robots with access times that are not exponential"


def exponential_service(scenario: Scenario) -> str | None:
    """Service times are exponential."""
    if reason := independent_services(scenario):
        return reason
    known = exponential_rate(service_law(scenario)) is not None
    return None if known else "service times are not exponential"


def phase_type_service(scenario: Scenario) -> str | None:
    """Service times are of phase type."""
    reason = independent_services(scenario)
    given = buffer_of(scenario).service.key
    return reason or _not_of_phase_type("service times", service_law(scenario), given)


def not_of_phase_type(what: str, law: Distribution | None) -> str | None:
    """Why there is no phase-type form of a law, if there is a law."""
    return None if law is None else _not_of_phase_type(what, law, law.key)


def _not_of_phase_type(what: str, law: Distribution, given: str) -> str | None:
    """Why there is no phase-type form of a law to reckon with; `given` is its key in the file."""
    count = phase_count(law)
    if count is None:
        return f"{what} are not of phase type ({given})"
    return _too_many(what, count) if count > MOST_PHASES else None


def _too_many(what: str, phases: int) -> str:
    return f"{what} have {phases} phases; at most {MOST_PHASES} are solved"


def no_obsolescence(scenario: Scenario) -> str | None:
    """Waiting pages never become obsolete."""
    queue = scenario.model.queue
    never = queue is None or isinstance(queue.patience, Never)
    return None if never else "waiting pages become obsolete"


def pages_leave_the_queue_alone(scenario: Scenario) -> str | None:
    """What the pages are, and whether they change, does not matter to how many there are.

    Nor does whose turn it is first: services are not cut short, and of all pages alike.
    """
    discipline = discipline_of(scenario)
    dropped = "waiting pages are dropped when their originals change"
    known = discipline.order is ServiceOrder.BY_CLASS
    return all_of(
        None if known else served_by_time_of_entry(scenario),
        dropped if discipline.drops_changed else None,
        "newer copies replace older ones" if discipline.replaces else None,
    )


def exponential_patience_or_none(scenario: Scenario) -> str | None:
    """Obsolescence timers, if any, are exponential."""
    law = timer_of(scenario)
    known = law is None or exponential_rate(law) is not None
    return None if known else "obsolescence timers are not exponential"


def phase_type_patience(scenario: Scenario) -> str | None:
    """Obsolescence timers, if any, are of phase type."""
    return not_of_phase_type("obsolescence timers", timer_of(scenario))


def memoryless_or_ordered(scenario: Scenario) -> str | None:
    """First come first served without push-out, or timers that have no memory."""
    if exponential_patience_or_none(scenario) is None:
        return None
    discipline = discipline_of(scenario)
    memory = "with timers that are not exponential"
    return all_of(
        f"{other} {memory}" if (other := _other_order(scenario)) else None,
        f"push-out {memory}" if discipline.pushes_out_oldest else None,
    )


MARKOVIAN_QUEUE = (
    no_host_spacing,
    resolved_activation,
    pages_leave_the_queue_alone,
    markovian_accesses,
    known_start_up,
    phase_type_service,
    phase_type_patience,
    memoryless_or_ordered,
)
"""Conditions under which a queue is a Markov chain."""
