"""The best order for several servers or pages, with a certificate that no other is better.

Ages are the slots since each server's last access. An access at age x costs ``e(x)``; ages stop at
a cap, where ``e(x + 1) - e(x)`` is paid for every further slot. For costs that are convex in the
distance that is never too much, so that the cycle of least mean in the finite graph of capped ages
is a bound below *every* order; and where no distance along it is above its cap + 1, its mean is its
true cost, and it is the optimum. Otherwise caps are raised. A cap of 0 means that the age is not
looked at, and an access pays the limit of e: still a bound, and the exact cost of orders that never
access the server. Of all servers with a cap of 0 the one of the least limit is enough: accesses
to the others lead to the same states, and cost more.

Notes
-----
Theorem 3.1 of altman2000 (a periodic order is optimal) with a finite graph that proves it case by
case.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.routing.bounds import LinearBound, is_attained, linear_bound, slopes
from analytic.routing.spacing import SpacingCosts
from analytic.routing.words import Word, cyclic_distances, least_rotation
from scenarios.arrays import Array
from scenarios.model import present
from scenarios.text import counted

MOST_STATES = 3_000_000
"""States of all graphs together up to which they are built: half a gigabyte, and a minute."""

_MOST_SERVERS = 8
"""Servers up to which a graph may have all those states; with more of them as many ages only."""

_MOST_ROUNDS = 300
"""Of Howard's algorithm in one graph: it usually takes 2 to 25."""

_ROUNDS_OF_ALL = 10_000_000
"""States times rounds, in a graph that takes more than `_FEW_ROUNDS`."""

_FEW_ROUNDS = 40

_SECONDS = 1e-6
"""Per state and server, of Howard's 20 rounds or so."""

_PATIENCE = 3.0
"""Seconds after which a person wants to know what is going on."""

_LOG = logging.getLogger(__name__)
_MOST_CODES = 2**26
_ROUNDED = 1e-15
"""Of the base: what rounding can do to its sum with a cost that nearly makes up for it."""

_ROUNDED_ACCESS = 20 * float(np.finfo(float).eps)
"""Of the terms whose difference an access costs."""

_ACCESSED = 1e-9
"""Share in the linear bound above which a server is expected to be accessed."""


class Certified(NamedTuple):
    """What the graphs of capped ages gave.

    Attributes
    ----------
    word : tuple of int or None
        The best word of all graphs; None where already the first one was too large.
    cost : float
        Its cost per slot.
    bound : float
        Below the cost of every order.
    caps : tuple of int
        Of every server in the last graph.
    states, rounds : int
        Of the last graph, and Howard's rounds in it.
    servers : tuple of int
        Those whose ages that graph has: all with a cap, and one of those without.
    ages : ndarray, shape (states, servers in the graph)
        Before a slot, of every state of the last graph; None where there was none.
    policy : ndarray, shape (states,)
        The server of that graph, by position in `servers`, that Howard's algorithm ended with.
    values : ndarray, shape (states,)
        Its dual values v: with an access to a from ages x to y, in which every other server's age
        goes up by one up to its cap and that of a becomes 1, ``access + waits - v(x) + v(y)`` is
        at least the bound of that graph, whatever v is (`charges` has accesses and waits).
    settled : bool
        Whether Howard's algorithm converged in that graph.
    stopped : str
        Why there was no further graph; empty where the word is proved.
    """

    word: Word | None
    cost: float
    bound: float
    caps: tuple[int, ...] = ()
    states: int = 0
    rounds: int = 0
    servers: tuple[int, ...] = ()
    ages: NDArray[Any] | None = None
    policy: NDArray[Any] | None = None
    values: Array | None = None
    settled: bool = True
    stopped: str = ""

    def is_proved(self, costs: SpacingCosts) -> bool:
        """Whether cost and bound differ by no more than rounding."""
        return self.word is not None and is_attained(costs, self.cost, self.bound)


class _TooLargeError(Exception):
    """A graph is too large to be built, for its number of servers or for the reason given."""

    def __init__(self, text: str = "", servers: int | None = None) -> None:
        super().__init__(text)
        self.servers = servers


def certified_word(costs: SpacingCosts, most_states: int = MOST_STATES) -> Certified:
    """The best word of all lengths, or a good one with a bound.

    Parameters
    ----------
    costs : SpacingCosts
    most_states : int
        Of all graphs together, of up to eight servers; with more of them fewer states.
    """
    linear = linear_bound(costs)
    ages = most_states * _MOST_SERVERS
    best = Certified(None, math.inf, linear.value)
    left_out = dict[int, int]()
    caps: tuple[int, ...] | None = _first_caps(linear, costs.longest - 1)
    last: Certified | None = None
    stopped = ""
    while caps is not None:
        try:
            last = _solved(costs, caps, ages, last)
        except _TooLargeError as error:
            return best._replace(stopped=_why_too_large(error, most_states))
        ages -= last.states * max(len(last.servers), _MOST_SERVERS)
        cheaper = last if last.cost < best.cost else best
        bound = max(best.bound, last.bound)
        best = last._replace(word=cheaper.word, cost=cheaper.cost, bound=bound)
        if best.is_proved(costs):
            return best
        caps = _raised(last, left_out, costs.longest - 1)
        stopped = _why(last, costs.longest - 1)
    return best._replace(stopped=stopped)


def _why(last: Certified, longest: int) -> str:
    """Why the last graph is not a proof, and no other caps would be one."""
    distances = cyclic_distances(present(last.word))
    if not last.settled:
        return f"Howard's algorithm had not converged after {counted(last.rounds, 'round')}"
    if any(
        cap == longest and max(distances.get(server, ()), default=math.inf) > cap + 1
        for server, cap in enumerate(last.caps)
    ):
        return f"ages up to {longest:,} slots, where the table of costs ends, prove no more"
    return "no distance is above its cap, but rounding keeps cost and bound apart"


def _why_too_large(error: _TooLargeError, most_states: int) -> str:
    """What stopped the search, with the limit that was given, and how to change it."""
    if error.servers is None:
        return str(error)
    most = most_states * _MOST_SERVERS // max(error.servers, _MOST_SERVERS)
    return (
        f"the graphs of capped ages would have more than {most:,} states together; in Python "
        "best_word(costs, most_states=…) takes another limit"
    )


def _first_caps(bound: LinearBound, longest: int) -> tuple[int, ...]:
    """Caps a little above the distances that the linear bound suggests.

    These are often whole numbers, which errors of rounding must not raise by one.
    """
    return tuple(
        min(math.ceil((1 - _ACCESSED) / share) + 1, longest) if share > _ACCESSED else 0
        for share in bound.shares.tolist()
    )


def _raised(last: Certified, left_out: dict[int, int], longest: int) -> tuple[int, ...] | None:
    """Caps that can prove more; None where there are none.

    A server whose age counts, and that is not accessed, is tried with a cap of 0 once; `left_out`
    has its cap before. If it is accessed then, at the limit of e, the graph says nothing about the
    others: their caps stay.
    """
    distances = cyclic_distances(present(last.word))
    caps = list(last.caps)
    if free := [server for server in distances if not caps[server]]:
        for server in free:
            least = max(distances[server]) + 1
            caps[server] = min(max(least, 2 * left_out.setdefault(server, 0)), longest)
        return tuple(caps)
    for server, cap in enumerate(last.caps):
        own = distances.get(server, ())
        if cap and not own:
            caps[server] = 2 * cap if server in left_out else 0
            left_out[server] = cap
        elif cap and max(own) > cap + 1:
            caps[server] = max(own)
        caps[server] = min(caps[server], longest)
    return tuple(caps) if caps != list(last.caps) else None


def _solved(
    costs: SpacingCosts, caps: Sequence[int], most_ages: int, last: Certified | None = None
) -> Certified:
    """The cycle of least mean in the graph with these caps, begun as the last one ended.

    Raises
    ------
    _TooLargeError
        If there are too many states.
    """
    from analytic.routing.kernels import Graph, index_policy, least_mean_cycle, waiting_costs

    servers = _in_the_graph(costs, caps)
    own = [caps[each] for each in servers]
    some = _straight(costs.of_some(servers), own)
    ages, after = _graph(own, most_ages)
    if (seconds := ages.size * _SECONDS) > _PATIENCE:
        _LOG.info("%s states of capped ages, about %.0f s", f"{len(ages):,}", seconds)
    access, waits = charges(some, own)
    waiting = waiting_costs(ages, np.array(own), waits)
    net = access.copy()  # as additions to a slot in which *all* servers at their caps wait
    for server, cap in enumerate(own):
        net[server, cap] -= waits[server]
    if last is not None and np.array_equal(np.sign(last.caps), np.sign(caps)):
        policy = _policy_of(last, ages)
    else:
        policy = index_policy(ages, _index(some, own))
    values = np.zeros((2, len(ages)))
    most = min(_MOST_ROUNDS, max(_FEW_ROUNDS, _ROUNDS_OF_ALL // len(ages)))
    graph = Graph(ages, after, net, waiting)
    cycle, low, rounds, settled = least_mean_cycle(graph, policy, values, most)
    word = least_rotation([servers[each] for each in cycle.tolist()])
    bound = some.base - _ROUNDED * abs(some.base) - _noise(some, own) + float(low)
    return Certified(
        word, costs.of(word), bound, tuple(caps), len(ages), int(rounds),
        servers, ages, policy, values[0], settled,
    )  # fmt: skip


def _policy_of(last: Certified, ages: NDArray[Any]) -> NDArray[Any]:
    """What the policy of a graph with lower caps does at these ages, each capped as there."""
    before, policy = present(last.ages), present(last.policy)
    caps = before.max(axis=0)
    by_age = np.empty(math.prod(caps.tolist()), policy.dtype)
    by_age[_numbered(before, caps)] = policy
    return by_age[_numbered(ages, caps)]


def _numbered(ages: NDArray[Any], caps: NDArray[Any]) -> NDArray[Any]:
    """The capped ages of each state as one number; there may be twenty million states."""
    number = np.zeros(len(ages), np.int64)
    for server, cap in enumerate(caps.tolist()):
        number *= cap
        number += np.minimum(ages[:, server], cap) - 1
    return number


def _straight(costs: SpacingCosts, caps: Sequence[int]) -> SpacingCosts:
    """The costs of a file that rise, taken as linear from the caps on, as the graph takes them.

    The part of them that is linear is then no more than what is paid near the caps.
    """
    if costs.paid is None or costs.idle is None or costs.subject == "page":
        return costs
    rising = np.flatnonzero(costs.idle > 0).tolist()
    return costs.straight_from({server: caps[server] for server in rising if caps[server]})


def _noise(costs: SpacingCosts, caps: Sequence[int]) -> float:
    """What rounding can do to an access where the linear part was taken off a cost of a file."""
    if costs.paid is None or costs.idle is None or costs.subject == "page":
        return 0.0
    ends = np.maximum(np.array(caps), 1)
    terms = costs.paid[np.arange(costs.count), ends] + np.abs(costs.idle) * (ends + 1)
    return _ROUNDED_ACCESS * float(terms.max())


def _in_the_graph(costs: SpacingCosts, caps: Sequence[int]) -> tuple[int, ...]:
    """The servers with a cap, and of those without the one whose accesses cost least."""
    capped = [server for server, cap in enumerate(caps) if cap]
    others = [server for server, cap in enumerate(caps) if not cap]
    cheapest = sorted(others, key=lambda server: float(costs.limits[server]))[:1]
    return tuple(sorted(capped + cheapest))


def _graph(caps: Sequence[int], most_ages: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ages of all states, and where accesses lead to.

    A state of up to eight servers counts as eight ages, others as they are.
    """
    from analytic.routing.kernels import explored

    tracked = np.maximum(np.array(caps, dtype=np.int64), 1)
    most = most_ages // max(len(caps), _MOST_SERVERS)
    if math.prod(tracked.tolist()) > max(_MOST_CODES, 8 * most) or most < 1:
        raise _TooLargeError(servers=len(caps))
    try:
        ages, after = explored(tracked, most)
    except MemoryError:
        raise _TooLargeError(f"no memory for a graph of {most:,} states") from None
    if not len(ages):
        raise _TooLargeError(servers=len(caps))
    return ages, after


def charges(costs: SpacingCosts, caps: Sequence[int]) -> tuple[Array, Array]:
    """What an access costs by server and age, and what each server pays at its cap for waiting.

    Parameters
    ----------
    costs : SpacingCosts
    caps : sequence of int

    Returns
    -------
    access : ndarray, shape (servers, greatest cap + 1)
        In column x at age x, ``e(x)``; with a cap of 0 the limit of e.
    waits : ndarray, shape (servers,)
        Per slot at the cap without an access: the smallest mean rise of e to any greater distance,
        which for convex costs is the next one.
    """
    access = np.zeros((costs.count, max(*caps, 1) + 1))
    waits = np.zeros(costs.count)
    for server, cap in enumerate(caps):
        row = costs.table[server]
        if cap == 0:
            access[server] = costs.limits[server]
            continue
        access[server, 1 : cap + 1] = row[:cap]
        later = row[cap:] - row[cap - 1]
        if not (costs.beyond and costs.is_convex):
            later = np.append(later, costs.limits[server] - row[cap - 1])
        waits[server] = (later / np.arange(1, len(later) + 1)).min()
    return access, waits


def _index(costs: SpacingCosts, caps: Sequence[int]) -> Array:
    """``D(x)`` by server and age, the limit of e with a cap of 0."""
    steep = slopes(costs.tilted)
    longest = max(*caps, 1)
    index = np.hstack([steep[:, :1], steep[:, :longest]])
    for server, cap in enumerate(caps):
        if cap == 0:
            index[server] = costs.limits[server]
    return index
