"""How far the best schedule on an even grid can be from the best one in continuous time."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, lcm

import numpy as np

from analytic.probing.intervals import Profile

_ROUNDING = 16 * float(np.finfo(float).eps)
_FINEST = 100_000
_LARGEST_COMMON = 1_000_000
_SLOTS = 10_000
_PER_PROBE = 20


def breaks_on_grid(profile: Profile, slots: int) -> bool:
    """Whether every breakpoint of the two rates is one of the times ``j T / N``, up to rounding."""
    places = profile.edges / profile.horizon * slots
    return bool((np.abs(places - np.round(places)) <= _ROUNDING * slots).all())


def grid_error(profile: Profile, slots: int, probes: int) -> tuple[float, bool]:
    """Most that the grid can cost, and whether that is the sharp bound.

    Parameters
    ----------
    profile : Profile
    slots : int
        N; g = T / N is the width of a slot.
    probes : int
        n. They keep no spacing, or one that is a whole number of slots.

    Returns
    -------
    error : float
        A bound of ``C_grid - C*``.
    sharp : bool
        Whether all breakpoints are on the grid.

    Notes
    -----
    With all breakpoints on the grid ``(n - 1) max(lambda a) g² / 4``. Proof: move every probe of
    the optimum up to the next time of the grid if its place in its slot exceeds one common uniform
    variable, else down. Order, spacing and cells are kept, and each probe is where it was on
    average. In a cell the cost is quadratic, with ``a lambda`` of each probe's square and
    ``-lambda(p_i) a(p_{i+1})`` of the products of neighbours, which are positively correlated: it
    grows on average by at most ``sum a lambda Var``, and the variance is at most g² / 4. Some such
    schedule costs no more than the average, and the grid's optimum no more than that one.

    Otherwise Proposition 8 of eckstein2005: ``max(a) max(lambda) (n g² / 2 + T g)``.
    """
    width = profile.horizon / slots
    if breaks_on_grid(profile, slots):
        steepest = float((profile.updates * profile.importance).max())
        return (probes - 1) * steepest * width**2 / 4, True
    largest = float(profile.updates.max() * profile.importance.max())
    return largest * (probes * width**2 / 2 + profile.horizon * width), False


def default_slots(profile: Profile, probes: int, apart: float = 0.0) -> int:
    """Number of slots for a file that names none.

    At least ten thousand, and twenty per probe; where that can be, a number whose times include
    every breakpoint, and `apart`, the minimum spacing.
    """
    wanted = max(_SLOTS, _PER_PROBE * probes)
    common = 1
    for place in np.append(profile.edges, apart) / profile.horizon:
        near = Fraction(float(place)).limit_denominator(_FINEST)
        common = lcm(common, near.denominator)
        if abs(float(near) - place) > _ROUNDING or common > _LARGEST_COMMON:
            return wanted
    return ceil(wanted / common) * common
