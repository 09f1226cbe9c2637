"""Commented scenario files to start from."""

from __future__ import annotations

import re

from scenarios import ScenarioError
from scenarios.base import one_of

_HEAD = """# A scenario of crawlsim; every key is explained in docs/scenario-file.md.
# The numbers are examples: put your own in their places.
name = "{name}"
time_unit = "{unit}"    # of every number below; a label, which tables and figures show
"""

_JUDGED = """judged = ["throughput"] # what a check has to settle; losses in ninety {unit}s are few
"""

_ROBOTS = """
[robots]                # they fetch pages, each one page at a time
available = 4
access_time = {{ exponential = {{ mean = 2.0 }} }}    # of one fetch; other laws:
# access_time = {{ gamma = {{ shape = 2.5, mean = 2.0 }} }}
# access_time = {{ empirical = {{ file = "times.csv" }} }}    # measured times, one a line
"""

_ACCESSING = """
[robots.accessing]      # which page is fetched next
policy = "randomized"   # or round-robin, golden-ratio, whittle, due, …
frequencies = "uniform" # share of the fetches that each page gets; or "change-rate", or a list
"""

_DUE = """
[robots.accessing]      # which page is fetched next
policy = "due"          # each some time after it was fetched; robots rest while none is due
intervals = [0.25, 0.5, 1.0, 2.0, 2.0]    # {unit}s until it is due again, of each page; or one
# intervals = {{ file = "pages.csv", column = "interval" }}    # or "optimal"
order = "first-due"     # or "most-overdue", "priority": which of the due pages goes first
"""

_LISTENING = """
[robots.accessing]      # which page is fetched next
policy = "crawl-value"  # the one worth most, by its age and its signals; or "on-signal", blindly
"""

_LEVELS = """
[robots.accessing]      # which page is fetched next
policy = "due"          # each at its level; robots rest while none is due
levels = [0.5, 1.0, 2.0, 4.0, 4.0]    # {unit}s since it was fetched, more for each signal heard;
# levels = "optimal"    # as often as the robots can
"""

_SECTIONS = {
    "pages": """
[pages]                 # they change at random, and copies go out of date
change_rates = [0.30, 0.20, 0.10, 0.05, 0.05]    # changes per {unit} of each page; or from a file,
# change_rates = {{ file = "rates.csv", column = "rate" }}    # whose column of URLs names the pages
weights = "uniform"     # importance of the pages: "change-rate", a list, or a column of a file
""",
    "signals": """
[pages.signals]         # what is heard of changes: sitemaps, pings, feeds
recall = 0.5            # share of the changes that have a signal
precision = 0.2         # share of the signals that are true
# delay = {{ exponential = {{ mean = 0.1 }} }}    # {unit}s until a signal is heard
""",
    "activation": """
[activation]            # how many robots fetch; without this section all of them, always
threshold = {{ robots = [4, 2], at = [3] }}    # four up to three pages in the buffer, else two
# static = 3            # or three, always
""",
    "buffer": """
[buffer]                # the indexing engine
waiting_places = 10     # the page that is being indexed not counted
service = {{ exponential = {{ mean = 0.4 }} }}    # time to index a page
obsolescence = "never"  # or how long a page waits at most: {{ exponential = {{ mean = 30.0 }} }}
""",
    "index": """
[index]                 # what was indexed can be searched from the next commit on
commit_interval = 1.0   # {unit} from one commit to the next; 0: searched at once
""",
    "clients": """
[clients]               # users, who query pages by weight
query_rate = 10.0       # queries per {unit}
""",
    "costs": """
[costs]                 # prices; `crawlsim optimize` looks for the least cost
loss = 1.0              # of a page that finds the buffer full
starvation = 1.0        # of a {unit} in which there is nothing to index
""",
    "interventions": """
[[interventions]]       # what changes for a while; write the section again for another time
at = 30.0               # {unit}s from the start
until = 40.0            # without it: for good
service_speed = 0.0     # the indexer stops; or 0.5, at half its speed
# indexers = 1          # of several, as many as still work
# robot_speed = 0.5     # the robots, at half theirs
""",
    "page_set": """
[page_set]              # pages that come and go; how many of those that exist are fresh?
birth_rate = 0.5        # new pages per {unit}
lifetime = {{ exponential = {{ mean = 80.0 }} }}    # until a page vanishes
change_rate = 0.01      # changes per {unit} of each page
discovery = {{ exponential = {{ mean = 20.0 }} }}   # until the robots hear of it; or "at-birth"
first_access = "at-once"    # or "in-turn", with the other pages
""",
    "source": """
[source]                # one information source: rates of its updates through a day, which repeats
updates = {{ breaks = [0.0, 9.0, 18.0], values = [0.2, 2.0, 0.5], period = 24.0 }}
importance = {{ breaks = [0.0], values = [1.0], period = 24.0 }}

[probing]               # when a monitor looks at it
horizon = 48.0
probes = 12
policy = "uniform"      # or "threshold", "first-arrival", {{ times = [4.0, …] }}
""",
    "servers": """
[servers]               # without buffers: a packet that finds its server busy replaces the other
rates = [1.0, 2.0]      # of exponential services, by server
arrivals = {{ poisson = {{ rate = 1.0 }} }}
routing = {{ period = [0, 1, 1] }}    # or {{ random = [0.3, 0.7] }}, or "optimal"
""",
}
"""The sections in the order of a file, `robots` aside; names as of ``--with``."""

ALL_SECTIONS = (*_SECTIONS, "due")
_ALONE = ("page_set", "source", "servers")
_ACCESSED = ("pages", "page_set")
_NEEDS = {
    "clients": "pages",
    "index": "pages",
    "activation": "buffer",
    "due": "pages",
    "signals": "pages",
    "interventions": "buffer",
}
_FETCHED = ("pages", "buffer")
_ACCESSED_BY = {
    frozenset[str](): _ACCESSING,
    frozenset({"due"}): _DUE,
    frozenset({"signals"}): _LISTENING,
    frozenset({"due", "signals"}): _LEVELS,
}

_RUN = """
[run]                   # how long to simulate, and how often
horizon = {horizon}
warmup = {warmup}          # nothing is counted before
replications = 60
seed = 1
"""

_COURSE = """
[run]                   # from the start to the horizon, many times
horizon = 90.0
warmup = 0.0
observe = 2.5           # {unit}s between two points of the course
replications = 1200
seed = 1
"""

_PROBED = """
[run]
replications = 6000     # each is one path from 0 to the horizon above
seed = 1
"""


def scenario_text(stem: str, sections: list[str]) -> str:
    """A commented scenario file with some sections, and those that they need.

    Parameters
    ----------
    stem : str
        Of the name of the file; what may stand in the name of a scenario is kept.
    sections : list of str

    Raises
    ------
    ScenarioError
        If a section is unknown, or does not go with another.
    """
    for name in sections:
        if name not in ALL_SECTIONS:
            raise ScenarioError("--with", name, f"must be {one_of(name, ALL_SECTIONS)}")
    alone = [name for name in sections if name in _ALONE]
    if alone and len(set(sections)) > 1:
        allowed = f"{alone[0]} is a system by itself; for pages that robots bring leave it out"
        raise ScenarioError("--with", ",".join(sections), allowed)
    wanted = {*sections, *(_NEEDS[name] for name in sections if name in _NEEDS)}
    if not alone and not wanted & set(_FETCHED):
        wanted.add("buffer")
    parts = [_HEAD, _JUDGED] if "interventions" in wanted else [_HEAD]
    parts += [_ROBOTS] if not alone or "page_set" in wanted else []
    if wanted & set(_ACCESSED):
        parts.append(_ACCESSED_BY[frozenset(wanted & {"due", "signals"})])
    parts += [text for name, text in _SECTIONS.items() if name in wanted]
    parts += [_PROBED if "source" in wanted else _COURSE if "interventions" in wanted else _RUN]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem) or "scenario"
    return "".join(parts).format(name=name, unit="minute", horizon="100000.0", warmup="1000.0")


def new(*sections: str, name: str = "my-crawler") -> str:
    """The text of a commented scenario file to start from, as ``crawlsim new`` writes it.

    Parameters
    ----------
    sections : str
        Such as "pages" and "buffer", which are the default.
    name : str
        Of the scenario; what may stand there is kept.

    Raises
    ------
    ScenarioError
        If a section is unknown, or does not go with another.
    """
    return scenario_text(name, list(sections or ("pages", "buffer")))
