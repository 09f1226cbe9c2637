"""How uncertain the estimate of a rare share is, where it may have been seen too seldom to tell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

CLUSTERING = 5.0
"""Variance of a share, relative to that of independent events, that is assumed before any is seen.

Losses come in bursts; measured ratios lie between 2 and 12."""

_GROWTH = 2.0
"""Variance to be expected, relative to that shown by a single burst of losses.

Of one burst the error shows its size, but the variance of a share follows the mean square of the
sizes over their mean: twice the mean where sizes are geometric."""

_SIGHTINGS = 2.0
"""Imagined sightings with such a variance, which real ones soon outweigh."""


def share_dispersion(
    share: ArrayLike, error: ArrayLike, sample: ArrayLike
) -> NDArray[np.floating[Any]]:
    """Variance of an estimated share, divided by the share that it would estimate.

    The estimate shows ``error² / share``. It was seen ``(share / error)²`` times, as far as its
    error tells; to these two sightings are added, since of few events the error is as uncertain as
    the share. Their variance is five times that of independent events, or twice that of the real
    ones if this is more. Of an event never seen only these are left: ``5 / sample``.

    Parameters
    ----------
    share : array_like
        Estimate of the rarer side: of the event if it has happened less often than not, else of
        its complement. Or a rate, in events per unit time.
    error : array_like
        Its standard error.
    sample : array_like
        Events among which the share is one; for a rate the time. Infinite where nothing but 0 is
        possible.

    Returns
    -------
    ndarray
        In the unit of ``1 / sample``; times the true share it is the variance of the estimate.
    """
    share, error = np.asarray(share, dtype=float), np.asarray(error, dtype=float)
    sample = np.asarray(sample, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(share > 0, error**2 / share, 0.0)
        seen = np.where(error > 0, (share / error) ** 2, 0.0)
    imagined = np.maximum(CLUSTERING / sample, _GROWTH * own)
    return (seen * own + _SIGHTINGS * imagined) / (seen + _SIGHTINGS)
