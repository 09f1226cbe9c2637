"""Where each result is proved on the site."""

from __future__ import annotations

from analytic import Formula, Statement

_FRESH = "freshness.md#"
_GOLDEN = "golden-ratio.md#"
_QUEUE = "indexing-queue.md#"
_ORDERS = "derivations.md#orders-of-servers-and-pages-altman2000"
_SEVERAL = "accessing.md#several-robots"
_PROOFS = "pipeline.md#proofs"
_DECOMPOSITION = "pipeline.md#where-the-decomposition-may-be-used"
_GRID = "optimal-probes.md#the-best-times-on-a-grid"

PLACES = {
    "coffman1998": {
        "(3), accesses that fail": "derivations.md#accesses-that-fail",
        "(3), robots in step": _SEVERAL,
        "(3), exponential robots": _SEVERAL,
        "(3)": f"{_FRESH}a-list-of-pages",
        "section 2": f"{_FRESH}a-list-of-pages",
        "Lemma 4.1, robots in step": _SEVERAL,
        "Lemma 4.1": f"{_FRESH}random-choices",
        "Theorem 3.3": f"{_FRESH}no-order-is-better-than-equal-distances",
        "Theorem 3.4": f"{_FRESH}the-best-frequencies",
        "(7) in time": "accessing.md#polite-accesses",
        "(7)": f"{_FRESH}the-best-frequencies",
        "(12)-(15)": f"{_FRESH}random-choices",
        "(17)": f"{_GOLDEN}what-it-costs-when-there-are-many-slow-pages",
        "(18)": f"{_GOLDEN}what-it-costs-when-there-are-many-slow-pages",
        "(19)": f"{_GOLDEN}the-guarantee",
    },
    "talim2001": {
        "section 4": "fixed-robots.md#the-cost",
        "(9)": "fixed-robots.md#the-cost",
        "(6), environment": "switching.md#a-common-environment",
        "(8), environment": "switching.md#a-common-environment",
        "(6)": "switching.md#bounds-from-any-guess",
        "": "switching.md#the-equation",
    },
    "kleinrock1975": {"": f"{_QUEUE}one-phase"},
    "garnett2002": {"": f"{_QUEUE}one-phase"},
    "avrachenkov2011": {
        "section 3, one phase": f"{_QUEUE}one-phase",
        "section 4, best levels": "optimal-robots.md#numbers-by-level",
        "section 4, best": "optimal-robots.md#what-is-solved-fixed-numbers-and-thresholds",
        "section 7, best rule": "optimal-robots.md#numbers-by-level-and-phases",
        "section 7, deliveries": "/howto/fitting.md#deliveries",
        "section 7, sizes": "/howto/fitting.md#sizes-and-service-times",
        "section 3, several servers": "queue-solvers.md",
        "section 3, timers": f"{_QUEUE}large-chains",
        "Lemma": f"{_QUEUE}the-generator",
        "Corollary 1": f"{_QUEUE}sojourn-times",
        "Theorem 4": f"{_QUEUE}sojourn-times",
        "": f"{_QUEUE}rates-and-shares",
    },
    "courtois1971": {"": "derivations.md#services-of-any-law"},
    "altman2000": {"": _ORDERS},
    "pipeline": {
        "copies": _DECOMPOSITION,
        "timers of any law": _DECOMPOSITION,
        "decomposition": _DECOMPOSITION,
        "moment match": _DECOMPOSITION,
        "end-to-end cost, approximately": _DECOMPOSITION,
        "": _PROOFS,
    },
    "eckstein2005": {
        "(5)": "probing.md#the-cost-between-two-probes",
        "Lemma 3": "probing.md#the-cost-between-two-probes",
        "section 2.1, smooth": "probing.md#the-cost-between-two-probes",
        "section 2.1": "probing.md#freshness",
        "Proposition 8": "probing.md#how-much-a-grid-costs",
        "(8)": "optimal-probes.md#the-local-optimum",
        "Algorithm 10": "optimal-probes.md#the-local-optimum",
        "": _GRID,
    },
    "page-sets": {
        "existing": "page-sets.md#pages-that-are-known",
        "known": "page-sets.md#pages-that-are-known",
        "pages found gone": "page-sets.md#pages-found-gone",
        "drawn": "page-sets.md#pages-drawn-at-random",
        "many": "page-sets.md#many-pages",
    },
    "courses": {"": "courses.md#how-it-is-computed"},
}
"""By paper and the beginning of a number, below theory/ or from the root; the first that fits."""


def proof_of(result: Formula | Statement) -> str:
    """Page and place of the derivation of a result.

    Parameters
    ----------
    result : Formula or Statement

    Raises
    ------
    LookupError
        If there is none.
    """
    for beginning, place in PLACES.get(result.paper, {}).items():
        if result.number.startswith(beginning):
            return place if place.startswith("/") else f"/theory/{place}"
    raise LookupError(f"{result.paper} {result.number} has no derivation; proofs.py names it")
