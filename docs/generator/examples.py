"""A command that shows each result: a scenario of the library, changed where need be."""

from __future__ import annotations

import shlex
from functools import cache

from analytic import Formula, Statement
from analytic.index.formula import is_covered
from papers.rows import TITLES, rows_of
from scenarios import Scenario, library_names, load

Result = Formula | Statement

_FIRST = ("one-robot", "cyclic-constant", "randomized-constant", "four-robots-one-threshold")
"""Scenarios that are easy to understand, asked before the others."""

_SLOW = ("batches-complete",)
"""Whether formulas cover these takes seconds to find out."""

_TIMERS = "one-robot --set buffer.waiting_places=40 --set buffer.service.exponential.mean=3.0"
_LONG = "--set 'buffer.obsolescence.erlang={shape=3, mean=60.0}'"
_QUEUE = "one-robot --set buffer.servers=2"

_SIGNALS = "--set 'pages.signals={recall=0.6, precision=0.4}'"

CHANGED = {
    "coffman1998 section 2, over the window": "whittle-index",
    "coffman1998 (3), slot by slot": "deadline-frequencies",
    "coffman1998 Lemma 4.1, robots in step": (
        "robots-in-step --set 'robots.accessing={policy=\"randomized\"}'"
    ),
    "frontier a robot for each page": "frontier --set robots.available=5",
    "frontier closed network, quantiles": "frontier --quantiles 0.5,0.9",
    "frontier other access times": (
        "frontier --set 'robots.access_time={erlang={shape=4, mean=1.0}}'"
    ),
    "frontier catching up": "outage-and-catch-up",
    "frontier time to refresh": "time-to-refresh",
    "frontier time to refresh, pages that fall due": "frontier",
    "signals any policy that hears": (
        f"frontier {_SIGNALS} --set 'robots.accessing={{policy=\"crawl-value\"}}'"
    ),
    "signals levels, a robot for each page": (
        f"frontier --set robots.available=5 {_SIGNALS} "
        "--set 'robots.accessing={policy=\"due\", levels=[1.0, 2.0, 3.0, 1.5, 4.0]}'"
    ),
    "page-sets many pages, first accesses at once": (
        "pages-come-and-go --set page_set.first_access=at-once"
    ),
    "pipeline pages out of order": "pipeline-newest-first --quantiles 0.5,0.95",
    "pipeline pages out of order, cost": "pipeline-newest-first --set costs.response=1.0",
    "avrachenkov2011 section 3, idle server": "four-robots-one-threshold --set buffer.servers=1",
    "avrachenkov2011 section 3, several servers": "several-indexers --quantiles 0.5,0.95",
    "neuts1967 bulk service, with a capacity": "indexer-in-bulk --quantiles 0.5,0.95",
    "doshi1986 vacations and retrials, with a capacity": "sleeping-indexer --quantiles 0.5,0.95",
    "cobham1954 priorities, with a capacity": "news-before-documents",
    "avrachenkov2011 section 3, timers taken to be independent": f"{_TIMERS} {_LONG}",
    "kleinrock1975 section 3.4, with a capacity": _QUEUE,
    "kleinrock1975 section 3.5, Erlang B": (
        "one-robot --set buffer.servers=5 --set buffer.waiting_places=0 --set costs.loss=1.0 "
        "--quantiles 0.5,0.95"
    ),
    "kleinrock1975 section 3.4, Erlang C": f"{_QUEUE} --set buffer.waiting_places=100000",
    "garnett2002 section 2, Erlang A": (
        f"{_QUEUE} --set buffer.waiting_places=100000 "
        "--set buffer.obsolescence.exponential.mean=5.0"
    ),
    "altman2000 (6), Example 2.1": "routing-two-servers",
    "altman2000 section 2, random routing": "routing-at-random",
    "altman2000 (6), linear bound": "routing-at-random",
    "altman2000 (6), phase-type services": (
        "routing-two-servers --set 'servers.service=[{erlang={shape=2, mean=1.0}}, "
        "{erlang={shape=2, mean=1.0}}]'"
    ),
    "pipeline one robot, queue": "regular-robot-queue --quantiles 0.5,0.95",
    "pipeline one robot, cost": "regular-robot-queue",
    "brandt1999 timers of any law": (
        "several-indexers --set 'buffer.obsolescence={deterministic={value=1.0}}'"
    ),
    "pipeline services between Erlang laws": (
        "several-indexers --set 'buffer.service={deterministic={value=1.0}}'"
    ),
    "pipeline accesses of few phases": (
        "failing-fetches-queue --set 'robots.access_time={gamma={mean=1.0, shape=0.6}}'"
    ),
    "takacs1962 embedded at arrivals, with a capacity": (
        "regular-robot-queue --set buffer.servers=2 --quantiles 0.5,0.95"
    ),
    "pipeline phase-type timers": (
        "pipeline-throwing-away --set buffer.waiting_places=3 "
        "--set 'buffer.obsolescence.erlang={shape=2, mean=2.0}'"
    ),
    "pipeline one robot": (
        "pipeline-light --set robots.available=1 --set robots.access_time.deterministic.value=1.0"
    ),
    "pipeline one robot, timers": (
        "pipeline-throwing-away --set robots.available=1 --set buffer.waiting_places=4 "
        "--set robots.access_time.deterministic.value=1.0"
    ),
    "pipeline shared list, timers": (
        "pipeline-shared-list --set 'buffer.obsolescence={exponential={mean=2.0}}'"
    ),
    "pipeline dropping and replacement, cost": "pipeline-replacement --set costs.loss=1.0",
    "pipeline no waiting place": "pipeline-one-page --set buffer.waiting_places=0",
    "pipeline copies dropped independently": "pipeline-page-change --set buffer.waiting_places=60",
    "pipeline copies replaced independently": (
        "pipeline-more-robots --set buffer.replace_older_copy=true"
    ),
    "pipeline timers of any law": (
        "pipeline-throwing-away --set 'buffer.obsolescence.lognormal={mean=5.0, sd=5.0}'"
    ),
    "pipeline decomposition": (
        "pipeline-more-robots --set robots.accessing.policy=round-robin "
        "--set 'robots.access_time.erlang={shape=2, mean=1.0}'"
    ),
    "pipeline moment match": (
        "pipeline-more-robots --set 'buffer.service.lognormal={mean=1.0, sd=1.0}'"
    ),
    "pipeline end-to-end cost, approximately": (
        "pipeline-more-robots --set costs.staleness=1.0 --set buffer.replace_older_copy=true"
    ),
    "eckstein2005 section 2.1, smooth rates": "smooth-day",
    "courses queue, cost": "indexer-outage --set costs.loss=1.0",
    "courses index, cost": "indexer-outage --set costs.loss=1.0 --set costs.staleness=1.0",
    "courses deliveries, window": "indexer-outage --set buffer.servers=2",
}
"""What to solve for results that no scenario of the library shows as it is."""

STATEMENTS = {
    "altman2000 section 5.1": "crawlsim optimize routing-two-servers --target routing",
    "avrachenkov2011 section 4, best thresholds": (
        "crawlsim optimize optimal-thresholds --target threshold"
    ),
    "avrachenkov2011 section 4, best levels": "crawlsim optimize batches-that-fit --target levels",
    "avrachenkov2011 section 7, best rule": (
        "crawlsim optimize pause-for-large-pages --target free"
    ),
    "avrachenkov2011 section 7, deliveries by moments": (
        "crawlsim reproduce avrachenkov2011 'section 7'"
    ),
    "avrachenkov2011 section 7, deliveries by likelihood": (
        "crawlsim reproduce avrachenkov2011 'section 7'"
    ),
    "avrachenkov2011 section 7, sizes": "crawlsim reproduce avrachenkov2011 'section 7'",
}
"""Commands of statements that are no items of the ledger."""


@cache
def _library() -> tuple[Scenario, ...]:
    names = [name for name in library_names() if name not in (*_FIRST, *_SLOW)]
    return tuple(load(name) for name in (*_FIRST, *names))


def example_of(result: Result) -> str:
    """A command that shows the result.

    Raises
    ------
    LookupError
        If there is none.
    """
    source = f"{result.paper} {result.number}"
    if isinstance(result, Formula):
        if source in CHANGED:
            return f"crawlsim solve {CHANGED[source]}"
        for scenario in _library():
            if is_covered(result.conditions, scenario):
                return f"crawlsim solve {scenario.name}"
    if source in STATEMENTS:
        return STATEMENTS[source]
    if result.paper in TITLES and result.number in rows_of(result.paper):
        return f"crawlsim reproduce {result.paper} {shlex.quote(result.number)}"
    raise LookupError(f"{source} has no example; docs/generator/examples.py gives it one")
