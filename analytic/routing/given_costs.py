"""What packets cost by their distances where the file says so, and what their weights make of it.

A cost that tends to rise by a per packet is ``a n`` and a part that falls: what
`analytic.routing.spacing` has of pages. Every order pays the a of every server per packet, also one
that leaves the server out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from analytic.machinery.phase_type import PhaseLaw
from analytic.routing.bounds import linear_bound
from analytic.routing.losses import random_loss, survival_at, survival_row
from analytic.routing.spacing import FIRST_LENGTH, LONGEST, SpacingCosts, falling_part
from analytic.routing.words import cyclic_distances
from scenarios.arrays import Array
from scenarios.model import Gaps
from scenarios.sections import AccessTime, Period, Servers
from scenarios.spacing_cost import Fading, Geometric, Power, SpacingCost, Table

_SETTLED = 2.0**-55
"""A row is long enough when the rest of its fall is so small, relatively."""

_ROOM = 4
"""Distances in a table of costs that grow without bound, relatively to those that are best."""

_TERMS = 2000
"""Terms of a power series that are added one by one; of the others the integral is taken."""

_NODES = 400
"""Points of Gauss and Legendre's rule for it."""

_NEGLIGIBLE = 45.0
"""``e^-45`` is 3e-20."""

_CORRECTIONS = 3
"""Times that the number of terms is enlarged for their power, until that hardly changes it."""

_FAR = 120.0
"""Where the integrand ends: ``x^10 e^-x`` is 1e-31 there."""


def spacing_cost(cost: SpacingCost, arrivals: AccessTime, distance: ArrayLike) -> Array:
    """Mean cost c(n) of a packet that is the n-th after the server's last one.

    Parameters
    ----------
    cost : SpacingCost
        By the distance in packets, or in time.
    arrivals : Distribution or ArrivalProcess
        By which time goes by; matters only where the cost fades in time.
    distance : array_like of int
        n >= 1.

    Notes
    -----
    ``E e^(-rate (tau_1 + … + tau_n))`` of a cost that fades in time is the probability that an
    exponential service outlasts n gaps.
    """
    n = np.asarray(distance)
    if isinstance(cost, Table):
        table = np.array(cost.root)
        rest = np.maximum(n - len(table), 0)
        return table[np.minimum(n, len(table)) - 1] + cost.final_rise * rest
    if isinstance(cost, Power):
        return cost.scale * np.asarray(n, dtype=float) ** cost.exponent
    if isinstance(cost, Geometric):
        return np.asarray(cost.first * cost.ratio ** (n - 1.0))
    far = int(n.max(initial=1))
    if n.ndim == 0 and far > LONGEST:
        return np.asarray(cost.scale * survival_at(arrivals, cost.rate)(far))
    return cost.scale * survival_row(arrivals, _fading(cost))(far)[n - 1]


def _fading(cost: Fading) -> PhaseLaw:
    """The exponential time whose probability to last on the cost is."""
    return PhaseLaw(np.ones(1), np.array([[-cost.rate]]))


def random_spacing_cost(cost: SpacingCost, arrivals: AccessTime, probability: float) -> float:
    """Mean cost ``sum_n p (1 - p)^(n - 1) c(n)`` of the packets of a server that is drawn.

    Parameters
    ----------
    cost : SpacingCost
    arrivals : Distribution or ArrivalProcess
        Of all packets.
    probability : float
        p > 0, that a packet is sent to the server.

    Notes
    -----
    Distances are geometric, and independent of the gaps.
    """
    p = probability
    if isinstance(cost, Table):
        length = len(cost.root)
        missed = (1.0 - p) ** np.arange(length)
        within = p * float(missed @ np.array(cost.root))
        return within + (1.0 - p) ** length * (cost.root[-1] + cost.final_rise / p)
    if isinstance(cost, Power):
        return cost.scale * geometric_power_mean(cost.exponent, p)
    if isinstance(cost, Geometric):
        return p * cost.first / (1.0 - (1.0 - p) * cost.ratio)
    return cost.scale * random_loss(arrivals, _fading(cost), p)


def geometric_power_mean(exponent: float, probability: float) -> float:
    """``E N^r`` of a geometric N: ``sum_n p (1 - p)^(n - 1) n^r``.

    Parameters
    ----------
    exponent : float
        r, at most 10 in size.
    probability : float
        p > 0.

    Notes
    -----
    2000 terms, and of the others by Euler and Maclaurin ``∫ g - g/2 - g'/12`` from there on, whose
    next term is below 1e-13 of the sum; the integral over the logarithm of n.
    """
    p = probability
    if p == 1.0:
        return 1.0
    decay = -math.log1p(-p)
    far = _NEGLIGIBLE / decay
    for _ in range(_CORRECTIONS):  # until the power no longer outweighs what has decayed
        far = (_NEGLIGIBLE + max(exponent, 0.0) * math.log(max(far, 1.0))) / decay
    last = min(math.ceil(far) + 1, _TERMS)
    n = np.arange(1, last + 1)
    terms: Array = p * np.exp(exponent * np.log(n) - decay * (n - 1))
    within = float(terms.sum())
    if last < _TERMS:
        return within
    end = math.log(max(_FAR / (decay * last), 1.0 + 1.0 / last))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    y = end * (nodes + 1.0) / 2.0
    integrand = np.exp((exponent + 1.0) * y - decay * (last * np.exp(y) - 1.0))
    scale = p * float(last) ** (exponent + 1.0) * end / 2.0
    integral: float = scale * float(weights @ integrand)
    edge = float(terms[-1])
    return within + integral - edge / 2.0 - edge * (exponent / last - decay) / 12.0


def mean_spacing_costs(servers: Servers, gaps: Gaps, shares: dict[int, float]) -> dict[int, float]:
    """Mean weighted cost of the packets of each server that gets any, under the file's routing.

    Parameters
    ----------
    servers : Servers
        With a routing of its own, and costs by distance.
    gaps : Gaps
        Between packets, as the model of the scenario has them.
    shares : dict
        The share of the packets of each of them.

    Notes
    -----
    altman2000 (6) with f_m any cost of the distance; at random the mean over geometric distances.
    """
    costs = servers.spacing_costs
    weights = servers.weight_of_each
    if isinstance(servers.routing, Period):
        return {
            server: weights[server] * float(spacing_cost(costs[server], gaps, n).mean())
            for server, n in cyclic_distances(servers.routing.root).items()
        }
    return {
        server: weights[server] * random_spacing_cost(costs[server], gaps, share)
        for server, share in shares.items()
    }


def spacing_costs(servers: Servers, gaps: Gaps) -> SpacingCosts:
    """Costs of packets by their distances, with weights, for any order of the servers.

    Parameters
    ----------
    servers : Servers
        With costs by distance.
    gaps : Gaps
        Between packets, as the model of the scenario has them.

    Notes
    -----
    A cost that grows faster than linearly goes on linearly in all bounds, which that can only
    lower, from a distance well above the best ones on; of an order it is counted as it is. Farther
    out its rise would be so much more than any order costs that nothing but rounding is left.
    """
    length = max(FIRST_LENGTH, *(_table_length(cost) for cost in servers.spacing_costs))
    costs = _tabulated(servers, gaps, length)
    while length < LONGEST and not _is_long_enough(costs):
        length *= 2
        costs = _tabulated(servers, gaps, length)
    if not costs.needed:
        return costs
    shares = linear_bound(costs).shares
    bends = {server: _bend(float(shares[server]), length) for server in costs.needed}
    return costs.straight_from(bends)


def _bend(share: float, length: int) -> int:
    """From where on a cost without bound is taken as linear."""
    return length - 1 if share * (length - 1) <= _ROOM else math.ceil(_ROOM / share)


def _table_length(cost: SpacingCost) -> int:
    return len(cost.root) + 1 if isinstance(cost, Table) else 1


def _tabulated(servers: Servers, gaps: Gaps, length: int) -> SpacingCosts:
    """Tables of one length, each without the rise to which its cost tends there."""
    n = np.arange(1, length + 2, dtype=np.int64)
    pairs = list(zip(servers.weight_of_each, servers.spacing_costs, strict=True))
    rows: Array = np.array([weight * spacing_cost(cost, gaps, n) for weight, cost in pairs])
    rises = np.array(servers.final_rises)
    grows = np.isinf(rises)
    rises = np.where(grows, rows[:, -1] - rows[:, -2], rises)
    limits = np.array([weight * _limit(cost) for weight, cost in pairs])
    limits = np.where(grows, rows[:, -2] - rises * length, limits)
    falling = falling_part(rows[:, :-1], rises, limits)
    return SpacingCosts(
        falling,
        limits,
        base=float(rises.sum()),
        beyond=tuple(_at(*pair, gaps) for pair in pairs),
        paid=rows[:, :-1],
        idle=rises,
        drawn=tuple(_drawn(*pair, gaps) for pair in pairs),
        needed=tuple(np.flatnonzero(grows).tolist()),
    )


def _limit(cost: SpacingCost) -> float:
    """What is left of the cost far out, without the rise to which it tends."""
    if isinstance(cost, Table):
        return cost.root[-1] - cost.final_rise * len(cost.root)
    if isinstance(cost, Power) and cost.exponent == 0.0:
        return cost.scale
    return 0.0


def _at(weight: float, cost: SpacingCost, arrivals: AccessTime) -> Callable[[int], float]:
    return lambda n: weight * float(spacing_cost(cost, arrivals, n))


def _drawn(weight: float, cost: SpacingCost, arrivals: AccessTime) -> Callable[[float], float]:
    """Cost per packet by the share of the packets."""
    return lambda p: p * weight * random_spacing_cost(cost, arrivals, p)


def _is_long_enough(costs: SpacingCosts) -> bool:
    """Whether best distances of costs without bound lie within, or all others have settled."""
    if costs.needed:
        shares = linear_bound(costs).shares[list(costs.needed)]
        return bool(np.all(shares * costs.longest >= _ROOM))
    began = costs.table[:, 0] - costs.limits
    return bool(np.all(costs.table[:, -1] - costs.limits <= _SETTLED * began))
