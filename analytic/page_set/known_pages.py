"""How many pages exist, are known, and are found gone, whatever the robots do."""

from __future__ import annotations

from analytic.machinery.phase_type import exponential_rate
from analytic.machinery.transforms import complement, mean_time, transform
from scenarios.laws import Distribution
from scenarios.model import present
from scenarios.page_set import PageSet


def death_rate(section: PageSet) -> float | None:
    """Rate at which an existing page vanishes, where lifetimes are exponential, else None."""
    return exponential_rate(section.lifetime)


def existing_pages(births: float, lifetime: Distribution) -> float:
    """Mean number of existing pages, births per unit time × mean lifetime.

    Parameters
    ----------
    births : float
        Per unit time, a Poisson process.
    lifetime : Distribution

    Notes
    -----
    Little's law; the number is a Poisson one, that of M/G/∞.
    """
    return births * mean_time(lifetime)


def becoming_known(births: float, lifetime: Distribution, delay: Distribution | None) -> float:
    """Pages that become known per unit time: those that live longer than their delay.

    Parameters
    ----------
    births : float
    lifetime, delay : Distribution
        One of them is exponential. No delay: pages are known from their births on.

    Notes
    -----
    ``births × E e^{-mu T}`` for lifetimes of rate mu and delays T, and
    ``births × (1 - E e^{-delta X})`` for lifetimes X and delays of rate delta: docs/page-sets.md.
    """
    if delay is None:
        return births
    if (death := exponential_rate(lifetime)) is not None:
        return births * float(transform(delay, death))
    discovery = present(exponential_rate(delay))
    return births * float(complement(lifetime, discovery))


def known_share(lifetime: Distribution, delay: Distribution | None) -> float:
    """Share of the existing pages that are known.

    Parameters
    ----------
    lifetime, delay : Distribution
        One of them is exponential. No delay: pages are known from their births on.

    Notes
    -----
    ``E (X - T)^+ / E X``: ``E e^{-mu T}`` for exponential lifetimes, and
    ``1 - (1 - E e^{-delta X}) / (delta E X)`` for exponential delays. docs/page-sets.md.
    """
    if delay is None:
        return 1.0
    if (death := exponential_rate(lifetime)) is not None:
        return float(transform(delay, death))
    discovery = present(exponential_rate(delay))
    return 1.0 - float(complement(lifetime, discovery)) / (discovery * mean_time(lifetime))
