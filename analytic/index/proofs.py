"""Where each result is proved: a page of `docs/`, and the heading there."""

from __future__ import annotations

_FRESH = "docs/theory/freshness.md#"
_GOLDEN = "docs/theory/golden-ratio.md#"
_QUEUE = "docs/theory/indexing-queue.md#"
_SEVERAL = "docs/accessing.md#several-robots"
_INDEXED = "docs/theory/through-the-buffer.md#"
_OTHERS = "docs/theory/other-queues.md#"
_APPROXIMATE = "docs/theory/buffer-approximations.md#"
_ORDERS = "docs/theory/orders.md#"
_DERIVED = "docs/derivations.md#"
_PROBES = "docs/optimal-probes.md#"
_UNSEEN = f"{_FRESH}how-long-a-change-stays-unseen"
_CHANGING = "docs/theory/changing-systems.md#"

_PLACES = {
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
        "(7) in time": "docs/accessing.md#polite-accesses",
        "(12)-(15)": f"{_FRESH}random-choices",
        "(17)": f"{_GOLDEN}what-it-costs-when-there-are-many-slow-pages",
        "(18) corrected": f"{_GOLDEN}what-it-costs-when-there-are-many-slow-pages",
        "(19) corrected": f"{_GOLDEN}the-guarantee",
    },
    "talim2001": {
        "section 4": "docs/theory/fixed-robots.md#the-cost",
        "(9)": "docs/theory/fixed-robots.md#the-cost",
        "(5)": "docs/theory/switching.md#a-given-rule",
        "(8)": "docs/theory/switching.md#a-given-rule",
        "(6), classes": "docs/theory/switching.md#robots-that-are-not-alike",
        "(8), classes": "docs/theory/switching.md#robots-that-are-not-alike",
        "(6)": "docs/theory/switching.md#bounds-from-any-guess",
        "(8), environment": "docs/theory/switching.md#a-common-environment",
        "(6), environment": "docs/theory/switching.md#a-common-environment",
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
            "docs/optimal-robots.md#what-is-solved-fixed-numbers-and-thresholds"
        ),
        "section 4, best levels": "docs/optimal-robots.md#numbers-by-level",
        "section 7, best rule": "docs/optimal-robots.md#numbers-by-level-and-phases",
        "section 7, deliveries by moments": "docs/how-to/fitting.md#deliveries",
        "section 7, deliveries by likelihood": "docs/how-to/fitting.md#deliveries",
        "section 7, sizes": "docs/how-to/fitting.md#sizes-and-service-times",
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
        "(6), spacing costs": "docs/routing.md#costs-by-distance",
        "(6), linear bound of given costs": "docs/routing.md#costs-by-distance",
        "section 2, random routing, spacing costs": "docs/routing.md#costs-by-distance",
        "section 2, waiting places": "docs/routing.md#places-to-wait",
        "section 5.1": f"{_DERIVED}two-servers-blocks-of-one-length",
        "Theorem 3.1": f"{_DERIVED}a-certificate",
        "(5)": "docs/routing.md#multimodularity",
        "Theorem 4.2": "docs/routing.md#multimodularity",
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
        "(5)": "docs/theory/probing.md#the-cost-between-two-probes",
        "Lemma 3": "docs/theory/probing.md#the-cost-between-two-probes",
        "section 2.1": "docs/theory/probing.md#freshness",
        "section 2.1, smooth rates": "docs/theory/probing.md#smooth-rates-in-steps",
        "Proposition 8": "docs/theory/probing.md#how-much-a-grid-costs",
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
        "a robot for each page": "docs/theory/frontier.md#a-robot-for-each-page",
        "closed network": "docs/theory/frontier.md#pages-that-wait",
        "closed network, quantiles": "docs/theory/frontier.md#quantiles-of-the-wait",
        "other access times": "docs/theory/frontier.md#other-access-times",
        "catching up": "docs/theory/frontier.md#catching-up",
        "time to refresh": _UNSEEN,
        "time to refresh, pages that fall due": _UNSEEN,
    },
    "signals": {
        "any policy that hears": "docs/theory/signals.md#no-policy-does-better",
        "levels, a robot for each page": "docs/theory/signals.md#a-robot-for-each-page",
    },
    "page-sets": {
        "existing pages": "docs/page-sets.md#pages-that-are-known",
        "known pages": "docs/page-sets.md#pages-that-are-known",
        "pages found gone": "docs/page-sets.md#pages-found-gone",
        "drawn pages": "docs/page-sets.md#pages-drawn-at-random",
        "many pages": "docs/page-sets.md#many-pages",
        "many pages, first accesses at once": "docs/page-sets.md#many-pages",
    },
}
"""By paper and number."""

PROOFS = {
    f"{paper} {number}": place
    for paper, places in _PLACES.items()
    for number, place in places.items()
}
"""By source."""
