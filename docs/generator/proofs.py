"""Where each result is proved: the page of `docs/theory/`, or else of `docs/`."""

from __future__ import annotations

from analytic import Formula, Statement

_FRESH = "freshness.md#"
_GOLDEN = "golden-ratio.md#"
_QUEUE = "indexing-queue.md#"
_SEVERAL = "accessing.md#several-robots"
_INDEXED = "through-the-buffer.md#"
_OTHERS = "other-queues.md#"
_APPROXIMATE = "buffer-approximations.md#"
_ORDERS = "orders.md#"
_DERIVED = "derivations.md#"
_PROBES = "optimal-probes.md#"
_CHANGING = "changing-systems.md#"

PLACES = {
    "coffman1998": {
        "(3)": f"{_FRESH}a-list-of-pages",
        "(3), slot by slot": f"{_FRESH}a-list-of-pages",
        "(3), accesses that fail": f"{_DERIVED}accesses-that-fail",
        "(3), robots in step": _SEVERAL,
        "(3), exponential robots": _SEVERAL,
        "section 2": f"{_FRESH}a-list-of-pages",
        "section 2, over the window": f"{_FRESH}a-list-of-pages",
        "Lemma 4.1": f"{_FRESH}random-choices",
        "Lemma 4.1, robots in step": _SEVERAL,
        "Theorem 3.3": f"{_FRESH}no-order-is-better-than-equal-distances",
        "Theorem 3.4": f"{_FRESH}the-best-frequencies",
        "(7)": f"{_FRESH}the-best-frequencies",
        "(7) in time": "accessing.md#polite-accesses",
        "(12)-(15)": f"{_FRESH}random-choices",
        "(17)": f"{_GOLDEN}what-it-costs-when-there-are-many-slow-pages",
        "(18) corrected": f"{_GOLDEN}what-it-costs-when-there-are-many-slow-pages",
        "(19) corrected": f"{_GOLDEN}the-guarantee",
    },
    "talim2001": {
        "section 4": "fixed-robots.md#the-cost",
        "(9)": "fixed-robots.md#the-cost",
        "(5)": "switching.md#a-given-rule",
        "(8)": "switching.md#a-given-rule",
        "(6), classes": "switching.md#robots-that-are-not-alike",
        "(8), classes": "switching.md#robots-that-are-not-alike",
        "(6)": "switching.md#bounds-from-any-guess",
        "(8), environment": "switching.md#a-common-environment",
        "(6), environment": "switching.md#a-common-environment",
    },
    "kleinrock1975": {
        "section 3.6": f"{_QUEUE}one-phase",
        "section 3.4, with a capacity": f"{_QUEUE}one-phase",
        "section 3.5, Erlang B": f"{_QUEUE}one-phase",
        "section 3.4, Erlang C": f"{_QUEUE}one-phase",
    },
    "doshi1986": {"vacations and retrials, with a capacity": f"{_QUEUE}vacations-and-retrials"},
    "cobham1954": {"priorities, with a capacity": f"{_QUEUE}priorities"},
    "neuts1967": {"bulk service, with a capacity": f"{_QUEUE}batches-of-the-indexer"},
    "garnett2002": {"section 2, Erlang A": f"{_QUEUE}one-phase"},
    "avrachenkov2011": {
        "Lemma and Theorem 1": f"{_QUEUE}the-generator",
        "Theorem 2": f"{_QUEUE}rates-and-shares",
        "Theorem 3": f"{_QUEUE}rates-and-shares",
        "(2)": f"{_QUEUE}rates-and-shares",
        "Corollary 1": f"{_QUEUE}sojourn-times",
        "Theorem 4": f"{_QUEUE}sojourn-times",
        "Theorem 4, inverted": f"{_QUEUE}sojourn-times",
        "section 3, one phase": f"{_QUEUE}one-phase",
        "section 3, idle server": f"{_QUEUE}several-indexers",
        "section 3, accesses to unchanged pages": f"{_QUEUE}accesses-to-unchanged-pages",
        "section 3, with hysteresis": f"{_QUEUE}hysteresis",
        "section 3, several servers": f"{_QUEUE}several-indexers",
        "section 3, timers taken to be independent": f"{_QUEUE}large-chains",
        "section 4, best thresholds": (
            "optimal-robots.md#what-is-solved-fixed-numbers-and-thresholds"
        ),
        "section 4, best levels": "optimal-robots.md#numbers-by-level",
        "section 7, best rule": "optimal-robots.md#numbers-by-level-and-phases",
        "section 7, deliveries by moments": "/howto/fitting.md#deliveries",
        "section 7, deliveries by likelihood": "/howto/fitting.md#deliveries",
        "section 7, sizes": "/howto/fitting.md#sizes-and-service-times",
    },
    "courtois1971": {"embedded chain, with timers": f"{_DERIVED}services-of-any-law"},
    "brandt1999": {"timers of any law": f"{_OTHERS}timers-of-any-law"},
    "takacs1962": {
        "embedded at arrivals, with a capacity": f"{_OTHERS}one-robot-several-servers",
    },
    "altman2000": {
        "(6), Example 2.1": f"{_ORDERS}packets-that-are-interrupted",
        "(6), section 5": f"{_ORDERS}arrivals-with-phases",
        "(6), phase-type services": f"{_ORDERS}services-with-phases",
        "section 2, random routing": f"{_ORDERS}random-routing",
        "section 2, non-preemptive": f"{_ORDERS}packets-that-find-the-server-busy",
        "section 6": f"{_ORDERS}pages",
        "section 6, linear bound": f"{_ORDERS}bounds-for-pages",
        "(6), linear bound": f"{_DERIVED}the-linear-bound",
        "(6), spacing costs": "routing.md#costs-by-distance",
        "(6), linear bound of given costs": "routing.md#costs-by-distance",
        "section 2, random routing, spacing costs": "routing.md#costs-by-distance",
        "section 2, waiting places": "routing.md#places-to-wait",
        "section 5.1": f"{_DERIVED}two-servers-blocks-of-one-length",
        "Theorem 3.1": f"{_DERIVED}a-certificate",
        "(5)": "routing.md#multimodularity",
        "Theorem 4.2": "routing.md#multimodularity",
    },
    "pipeline": {
        "random pages": f"{_INDEXED}random-pages",
        "no waiting place": f"{_INDEXED}no-waiting-place",
        "timers, LIFO or push-out": f"{_INDEXED}timers-newest-first-pushing-out",
        "phase-type timers": f"{_INDEXED}timers-of-phase-type",
        "dropping and replacement": f"{_INDEXED}dropping-and-replacement",
        "shared list": f"{_INDEXED}a-list-that-robots-share",
        "one robot": f"{_INDEXED}one-robot",
        "shared list, timers": f"{_INDEXED}a-shared-list-with-timers",
        "one robot, timers": f"{_INDEXED}one-robot-with-timers",
        "heard accesses": f"{_INDEXED}the-accesses-of-each-page",
        "end-to-end cost": f"{_INDEXED}the-cost-end-to-end",
        "one robot, queue": f"{_OTHERS}one-robot-the-queue",
        "one robot, cost": f"{_OTHERS}one-robot-the-cost",
        "pages out of order": f"{_OTHERS}pages-out-of-order-sojourn-times",
        "pages out of order, cost": f"{_OTHERS}pages-out-of-order-the-cost",
        "dropping and replacement, queue": f"{_OTHERS}dropping-and-replacement-the-queue",
        "dropping and replacement, sojourns": (f"{_OTHERS}dropping-and-replacement-sojourn-times"),
        "dropping and replacement, cost": f"{_OTHERS}dropping-and-replacement-the-cost",
        "decomposition": f"{_APPROXIMATE}decomposition",
        "copies dropped independently": f"{_APPROXIMATE}copies-dropped-independently",
        "copies replaced independently": f"{_APPROXIMATE}copies-replaced-independently",
        "timers of any law": f"{_APPROXIMATE}timers-of-any-law",
        "services between Erlang laws": f"{_APPROXIMATE}services-between-erlang-laws",
        "accesses of few phases": f"{_APPROXIMATE}accesses-of-few-phases",
        "moment match": f"{_APPROXIMATE}moment-match",
        "end-to-end cost, approximately": f"{_APPROXIMATE}the-cost-approximately",
    },
    "eckstein2005": {
        "(5)": "probing.md#the-cost-between-two-probes",
        "Lemma 3": "probing.md#the-cost-between-two-probes",
        "section 2.1": "probing.md#freshness",
        "section 2.1, smooth rates": "probing.md#smooth-rates-in-steps",
        "Proposition 8": "probing.md#how-much-a-grid-costs",
        "Algorithm 1": f"{_PROBES}the-best-times-on-a-grid",
        "Algorithm 2": f"{_PROBES}the-best-times-on-a-grid",
        "Algorithm 4": f"{_PROBES}the-best-times-on-a-grid",
        "(9)": f"{_PROBES}the-best-times-on-a-grid",
        "Algorithm 10": f"{_PROBES}the-local-optimum",
        "(8)": f"{_PROBES}the-local-optimum",
    },
    "courses": {
        "queue, window": f"{_CHANGING}the-queue-over-the-window",
        "queue, cost": f"{_CHANGING}the-cost-over-the-window",
        "queue, recovery": f"{_CHANGING}the-time-to-recover",
        "pages, window": f"{_CHANGING}pages-without-a-buffer-over-the-window",
        "index, window": f"{_CHANGING}the-index-behind-a-buffer-over-the-window",
        "index, cost": f"{_CHANGING}the-cost-with-staleness-over-the-window",
        "deliveries, window": f"{_CHANGING}the-deliveries-of-each-page-over-the-window",
    },
    "frontier": {
        "a robot for each page": "frontier.md#a-robot-for-each-page",
        "closed network": "frontier.md#pages-that-wait",
        "closed network, quantiles": "frontier.md#quantiles-of-the-wait",
        "other access times": "frontier.md#other-access-times",
        "catching up": "frontier.md#catching-up",
        "time to refresh": "freshness.md#how-long-a-change-stays-unseen",
        "time to refresh, pages that fall due": "freshness.md#how-long-a-change-stays-unseen",
    },
    "signals": {
        "any policy that hears": "signals.md#no-policy-does-better",
        "levels, a robot for each page": "signals.md#a-robot-for-each-page",
    },
    "page-sets": {
        "existing pages": "page-sets.md#pages-that-are-known",
        "known pages": "page-sets.md#pages-that-are-known",
        "pages found gone": "page-sets.md#pages-found-gone",
        "drawn pages": "page-sets.md#pages-drawn-at-random",
        "many pages": "page-sets.md#many-pages",
        "many pages, first accesses at once": "page-sets.md#many-pages",
    },
}
"""By paper and number, below theory/ or from the root."""


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
    place = PLACES.get(result.paper, {}).get(result.number)
    if place is None:
        raise LookupError(f"{result.paper} {result.number} has no derivation; proofs.py names it")
    return place if place.startswith("/") else f"/theory/{place}"
