"""The algorithms of eckstein2005, corrected: oracles of those that `analytic.probing` uses.

`programme_kernels` has their loops, compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analytic.probing.grid import Schedule, check_room
from analytic.probing.profile import Profile
from analytic.probing.refinement import with_start
from scenarios.arrays import Array

if TYPE_CHECKING:
    from analytic.probing.kernels import Grid

_EPSILON = 2.0**-52
_PAUSE = 2**16
"""Moves after which compiled code returns to Python, which can then be interrupted."""


def paper_schedule(grid: Grid, probes: int, apart: int = 1) -> Schedule:
    """The optimum by eckstein2005 Algorithms 1, 2 and 4 (corrected), O(n N²) time, O(n N) memory.

    Parameters
    ----------
    grid : Grid
        `grid_of` a profile.
    probes : int
        n, exactly, the one at the end included.
    apart : int
        Slots from each probe to the next, at least; from time 0 to the first one, too.

    Raises
    ------
    ValueError
        If there is no room for the probes.
    """
    check_room(len(grid.cost), probes, apart)
    from analytic.probing.programme_kernels import least_cost

    cost, path = least_cost(grid, probes, apart)
    return Schedule(path[1:], cost, cost)


def layered_schedule(grid: Grid, probes: int, apart: int = 1) -> Schedule:
    """The same in O(n N) time and memory.

    Notes
    -----
    Proof. For ``a <= b <= c <= d`` the cost is Monge:
    ``C(a,d) + C(b,c) - C(a,c) - C(b,d) = Lambda(a,b) A(c,d) >= 0``. More is true: i and j meet in
    ``-L_i A_j`` only, so that (11) is the lower envelope of lines
    (`analytic.probing.kernels`).
    """
    check_room(len(grid.cost), probes, apart)
    from analytic.probing.kernels import links_cost
    from analytic.probing.programme_kernels import least_cost_by_layers

    _, path = least_cost_by_layers(grid, probes, apart)
    cost = links_cost(grid, path)
    return Schedule(path[1:], cost, cost)


def costs_up_to(grid: Grid, probes: int, apart: int = 1) -> Array:
    """Least expected costs of exactly 1, 2, …, n probes on a grid, from one run.

    Parameters
    ----------
    grid : Grid
        `grid_of` a profile.
    probes : int
        n.
    apart : int
        Slots from each probe to the next, at least.

    Returns
    -------
    ndarray, shape (probes,)
        Convex in the number.

    Raises
    ------
    ValueError
        If n probes have no room.

    Notes
    -----
    eckstein2005 (11): the layers of the dynamic programme for n are those for every smaller number.
    """
    check_room(len(grid.cost), probes, apart)
    from analytic.probing.programme_kernels import least_costs

    return least_costs(grid, probes, apart)


def improved_by_moves(
    profile: Profile,
    times: Sequence[float],
    spacing: float = 0.0,
    *,
    least: float = 1e-6,
    largest: float = 1 / 2,
    ratio: float = 1 / 2,
    smallest: float = 1 / 512,
) -> tuple[tuple[float, ...], int]:
    """The schedule after eckstein2005's Algorithm 10, and its number of moves.

    Parameters
    ----------
    profile : Profile
    times : sequence of float
        p_1, …, p_n = T.
    spacing : float
        delta.
    least : float
        iota, the saving below which no move is made; the paper does not give its own. Savings that
        rounding alone could show are none, however small this is.
    largest : float
        mu_0, the share of the way to its neighbour that a probe is moved at first, at most 1.
    ratio : float
        rho, between 0 and 1, by which mu is multiplied once no move saves enough.
    smallest : float
        mu_*, the last share that is tried; not above `largest`.

    Raises
    ------
    ValueError
        If the times are not a schedule, or one of the four is not as above.

    Notes
    -----
    As printed the move with the *least* saving is made, which never ends; it must be the largest.
    """
    if not least > 0:
        raise ValueError(f"least is {least!r}: must be > 0")
    if not 0 < largest <= 1:
        raise ValueError(f"largest is {largest!r}: must be > 0 and at most 1")
    if not 0 < ratio < 1:
        raise ValueError(f"ratio is {ratio!r}: must be between 0 and 1")
    if not 0 < smallest <= largest:
        raise ValueError(f"smallest is {smallest!r}: must be > 0 and at most largest ({largest!r})")
    from analytic.probing.descent import total
    from analytic.probing.programme_kernels import mu_moves

    cells = profile.cells
    moved = with_start(profile, times, spacing)
    least = max(least, 4 * len(profile.edges) * _EPSILON * total(cells, moved))
    mu = largest
    count = 0
    while mu >= smallest:
        made = int(mu_moves(cells, moved, mu, spacing, least, _PAUSE))
        count += made
        if made < _PAUSE:
            mu *= ratio
    return tuple(moved[1:].tolist()), count
