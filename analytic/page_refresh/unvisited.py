"""Pages that frequencies never visit, and why."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_NAMED = 8
"""So many pages are named for each reason."""


def notes_on_unvisited(rates: ArrayLike, weights: ArrayLike, shares: ArrayLike) -> list[str]:
    """Which pages have the frequency 0, one sentence for each reason.

    Parameters
    ----------
    rates, weights, shares : array_like, shape (pages,)
        Change rates mu, weights c, and frequencies, of which the best are 0 where ``c / mu`` is
        too small beside that of other pages (coffman1998, section 3).
    """
    mu, c, share = (np.asarray(each, dtype=float) for each in (rates, weights, shares))
    idle = share == 0
    reasons = {
        "change rate 0: a copy is never out of date": idle & (mu == 0),
        "weight 0: a copy that is out of date costs nothing": idle & (mu > 0) & (c == 0),
        "too many changes for the weight: an access gains more at another page": (
            idle & (mu > 0) & (c > 0)
        ),
    }
    return [_said(pages, reason) for reason, pages in reasons.items() if pages.any()]


def _said(chosen: NDArray[np.bool_], reason: str) -> str:
    """How many pages are never visited, the first of them, and why."""
    pages = np.flatnonzero(chosen).tolist()
    first = ", ".join(map(str, pages[:_NAMED])) + ", …" * (len(pages) > _NAMED)
    are = "is" if len(pages) == 1 else "are"
    return (
        f"{len(pages)} of {len(chosen)} pages {are} never visited: {first} (counted from 0); "
        f"{reason}"
    )
