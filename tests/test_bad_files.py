"""A corpus of bad scenario files: each breaks one rule, and the message says which."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from scenarios import ScenarioError, load
from scenarios.errors import MISSING, brief

# Good files, as dotted keys with their TOML values.
NOTHING = {"name": '"nothing"'}
QUEUE = {
    "name": '"queue"',
    "robots.available": "2",
    "robots.access_time": "{ exponential = { mean = 10.0 } }",
    "buffer.waiting_places": "2",
    "buffer.service": "{ exponential = { rate = 1.0 } }",
}
JOINT = {
    "name": '"joint"',
    "robots.available": "2",
    "robots.deliveries": "{ modes = [{ poisson = { rate = 1.0 } }, { poisson = { rate = 2.0 } }] }",
    "buffer.waiting_places": "2",
    "buffer.service": "{ exponential = { rate = 1.0 } }",
}
CRAWL = {
    "name": '"crawl"',
    "pages.change_rates": "[0.2, 0.1, 0.1]",
    "robots.available": "2",
    "robots.access_time": "{ deterministic = { value = 1.0 } }",
    "robots.accessing": '{ policy = "round-robin" }',
}
PROBES = {
    "name": '"probes"',
    "source.updates": "{ breaks = [0.0, 0.5], values = [1.0, 2.0], period = 1.0 }",
    "source.importance": "{ breaks = [0.0], values = [1.0], period = 1.0 }",
    "probing.horizon": "4.0",
    "probing.probes": "4",
    "probing.policy": '"uniform"',
}
PARALLEL = {
    "name": '"parallel"',
    "servers.rates": "[1.0, 2.0]",
    "servers.arrivals": "{ poisson = { rate = 1.0 } }",
    "servers.routing": '"optimal"',
}
GOOD = {"queue": QUEUE, "joint": JOINT, "crawl": CRAWL, "probes": PROBES, "parallel": PARALLEL}

COLUMNS = {
    "good.csv": b"page,rate\na,0.1\nb,0.2\nc,0.3\n",
    "word.csv": b"rate\n0.1\nfast\n",
    "negative.csv": b"1.0\n-2.0\n",
    "headers.csv": b"rate\n",
    "latin.csv": b"rat\xe9\n1.0\n",
}
"""Files beside the scenario file."""


class Bad(NamedTuple):
    """A bad file and pieces of its message; value None: the message shows no value."""

    text: str | bytes
    key: str
    value: str | None
    allowed: str


SYNTAX = {
    "empty": Bad("", "name", None, "is missing"),
    "no value": Bad("name = ", "", None, "is not TOML: Invalid value"),
    "open header": Bad("[robots", "", None, "is not TOML: Expected ']'"),
    "open string": Bad('name = "a', "", None, "is not TOML: Unterminated string"),
    "key twice": Bad("a = 1\na = 2", "", None, "is not TOML: Cannot overwrite a value"),
    "closed table": Bad("a = {}\na.b = 2", "", None, "is not TOML: Cannot mutate"),
    "half a surrogate": Bad(r'name = "\ud800"', "", None, "is not TOML: Escaped character"),
    "5000 digits": Bad("a = " + "9" * 5000, "", None, "is not TOML: Exceeds the limit"),
    "brackets": Bad("a = " + "[" * 2000 + "]" * 2000, "", None, "is nested too deeply"),
    "latin-1": Bad('name = "é"'.encode("latin-1"), "", None, "is not UTF-8 (byte 8)"),
    "utf-16": Bad('name = "e"'.encode("utf-16"), "", None, "is not UTF-8 (byte 0)"),
}
DEEP = {
    "open brackets": Bad("a = " + "[" * 2000, "", None, "is nested too deeply"),
    "tables": Bad("a = " + "{a = " * 2000 + "1" + "}" * 2000, "", None, "is nested too deeply"),
    "dots": Bad(".".join(["run"] * 3000) + " = 1", "", None, "is nested too deeply"),
    "headers": Bad("[" + ".".join(["run"] * 3000) + "]", "", None, "is nested too deeply"),
}

# A case is the name of a good file and of the case, what is taken out (-) and put in (+), and the
# key with its value and the rule (>) as the message has them: the key in full, the rest in part.

TOP = r"""
queue: name number
  + name = 3
  > name = 3
  > must be a string
queue: name with a space
  + name = "two words"
  > name = "two words"
  > letters, digits, - and _
queue: title number
  + title = 3
  > title = 3
  > must be a string
queue: title control character
  + title = "a\u0001b"
  > title = "a\x01b"
  > must be one line without control characters
queue: paper with an escape
  + paper = "\u001b[31mred"
  > paper = "\x1b[31mred"
  > must be one line without control characters
queue: time_unit line separator
  + time_unit = "da\u2028y"
  > time_unit = "da\u2028y"
  > must be one line without control characters
queue: time_unit boolean
  + time_unit = true
  > time_unit = true
  > must be a string
queue: judged word
  + judged = "loss_rate"
  > judged = "loss_rate"
  > must be a list
queue: judged number
  + judged = [1]
  > judged[0] = 1
  > must be a string
queue: judged unknown
  + judged = ["loss_rate", "loss"]
  > judged[1] = "loss"
  > must be a measure
queue: run number
  + run = 3
  > run = 3
  > must be a table
queue: pages tables
  + pages = [{}]
  > pages = [{}]
  > must be a table
"""

UNKNOWN = r"""
queue: nmae at the top
  + nmae = "x"
  > nmae = "x"
  > did you mean name at the top of
queue: zzz like nothing
  + zzz = 1
  > zzz = 1
  > known here: activation, buffer, check, clients
queue: "a b" quoted
  + "a b" = 1
  > "a b" = 1
  > unknown key
queue: waiting_places misplaced
  + waiting_places = 3
  > waiting_places = 3
  > waiting_places in [buffer]?
queue: buffer.waiting_room near
  + buffer.waiting_room = 3
  > buffer.waiting_room = 3
  > waiting_places in [buffer]?
queue: costs.starvaton near
  + costs.starvaton = 1.0
  > costs.starvaton = 1.0
  > starvation in [costs]?
queue: run.engine far
  + run.engine = "simpy"
  > run.engine = "simpy"
  > known here: horizon,
parallel: servers.buffer misplaced
  + servers.buffer = 1
  > servers.buffer = 1
  > buffer at the top of the file
queue: buffer.service near
  + buffer.service = { exponental = { mean = 1.0 } }
  > buffer.service.exponental = { mean = 1.0 }
  > unknown key (did you mean exponential?); must be a table with exactly one
queue: buffer.service near inside
  + buffer.service = { exponential = { maen = 1.0 } }
  > buffer.service.exponential.maen = 1.0
  > mean in [buffer.service.exponential]?
queue: buffer.service process
  + buffer.service = { poisson = { rate = 1.0 } }
  > buffer.service.poisson = { rate = 1.0 }
  > unknown key
queue: before missing
  - buffer.waiting_places
  + buffer.waiting_place = 2
  > buffer.waiting_place = 2
  > unknown key
queue: before wrong
  + robots.available = -1
  + buffer.admision = "partial"
  > buffer.admision = "partial"
  > admission in [buffer]?
queue: wrong before missing
  - buffer.waiting_places
  + robots.available = -1
  > robots.available = -1
  > must be >= 1
"""

PAGES = r"""
crawl: pages.change_rates missing
  - pages.change_rates
  + pages.weights = "uniform"
  > pages.change_rates
  > is missing
crawl: pages.change_rates word
  + pages.change_rates = "zipf"
  > pages.change_rates = "zipf"
  > must be a list or a table
crawl: pages.change_rates empty
  + pages.change_rates = []
  > pages.change_rates
  > must not be empty
crawl: pages.change_rates negative
  + pages.change_rates = [0.2, -0.1]
  > pages.change_rates[1] = -0.1
  > must be >= 0
crawl: pages.change_rates infinite
  + pages.change_rates = [inf]
  > pages.change_rates[0] = inf
  > must be a finite number
crawl: pages.change_rates boolean
  + pages.change_rates = [0.1, 0.1, true]
  > pages.change_rates[2] = true
  > must be a number
crawl: pages.change_rates zipf and file
  + pages.change_rates = { zipf = {}, file = "good.csv" }
  > pages.change_rates = { zipf = {}, file =
  > exactly one of the keys zipf or file
crawl: pages.change_rates zipf without pages
  + pages.change_rates = { zipf = { pages = 0, exponent = 1.0, total = 1.0 } }
  > pages.change_rates.zipf.pages = 0
  > must be >= 1
crawl: pages.change_rates zipf too steep
  + pages.change_rates = { zipf = { pages = 9, exponent = 101.0, total = 1.0 } }
  > pages.change_rates.zipf.exponent = 101.0
  > must be <= 100
crawl: pages.change_rates zipf without total
  + pages.change_rates = { zipf = { pages = 9, exponent = 1.0 } }
  > pages.change_rates.zipf.total
  > is missing
crawl: pages.change_rates no file
  + pages.change_rates = { file = "none.csv", column = "rate" }
  > pages.change_rates.file = none.csv
  > cannot be read: No such file
crawl: pages.change_rates file number
  + pages.change_rates = { file = 1 }
  > pages.change_rates.file = 1
  > must be a string
crawl: pages.change_rates file without column
  + pages.change_rates = { file = "good.csv" }
  > pages.change_rates.column
  > is missing
crawl: pages.change_rates no such column
  + pages.change_rates = { file = "good.csv", column = "rte" }
  > pages.change_rates.column = "rte"
  > must be a column of good.csv
crawl: pages.change_rates strange key
  + pages.change_rates = { file = "good.csv", column = "rate", sep = ";" }
  > pages.change_rates.sep = ";"
  > known here: column, file or zipf
crawl: pages.change_rates word in file
  + pages.change_rates = { file = "word.csv", column = "rate" }
  > pages.change_rates.file = word.csv
  > row 3: 'fast' must be a finite number >= 0
crawl: pages.change_rates only headers
  + pages.change_rates = { file = "headers.csv", column = "rate" }
  > pages.change_rates.file = headers.csv
  > holds no numbers
crawl: pages.change_rates file in latin-1
  + pages.change_rates = { file = "latin.csv", column = "rate" }
  > pages.change_rates.file = latin.csv
  > must be a CSV file in UTF-8
crawl: pages.weights unknown word
  + pages.weights = "unifrom"
  > pages.weights = "unifrom"
  > "change-rate", "uniform", a list or a
crawl: pages.weights too few
  + pages.weights = [1.0]
  > pages.weights
  > has 1 entries; must have 3, one per page
crawl: pages.weights negative
  + pages.weights = [1.0, 1.0, -1.0]
  > pages.weights[2] = -1.0
  > must be >= 0
crawl: pages.weights zipf
  + pages.weights = { zipf = {} }
  > pages.weights.zipf = {}
  > must be a table with the key file
crawl: weights all zero with clients
  + pages.weights = [0.0, 0.0, 0.0]
  + clients.query_rate = 1.0
  > pages.weights = [0.0, 0.0, 0.0]
  > [clients] needs a page with a positive weight
crawl: clients empty
  + clients = {}
  > clients.query_rate
  > is missing
crawl: clients.query_rate zero
  + clients.query_rate = 0.0
  > clients.query_rate = 0.0
  > must be > 0
"""

ACCESSING = r"""
crawl: robots.accessing missing
  - robots.accessing
  > robots.accessing
  > is missing; [pages] needs it
crawl: robots.accessing word
  + robots.accessing = "cyclic"
  > robots.accessing = "cyclic"
  > must be a table with the key policy
crawl: robots.accessing without policy
  + robots.accessing = { cycle = 21 }
  > robots.accessing.policy
  > is missing; must be "cyclic",
crawl: robots.accessing unknown policy
  + robots.accessing = { policy = "random" }
  > robots.accessing.policy = "random"
  > must be "cyclic",
crawl: robots.accessing unknown key
  + robots.accessing = { plicy = "cyclic" }
  > robots.accessing.plicy = "cyclic"
  > unknown key (did you mean policy?)
crawl: robots.accessing key of another
  + robots.accessing = { policy = "cyclic", template = [0], cycle = 21 }
  > robots.accessing.cycle = 21
  > for policy = "cyclic"; it goes with "golden-ratio"
crawl: robots.accessing template of another
  + robots.accessing = { policy = "round-robin", template = [0] }
  > robots.accessing.template = [0]
  > for policy = "round-robin"; it goes with "cyclic"
crawl: robots.accessing no template
  + robots.accessing = { policy = "cyclic" }
  > robots.accessing.template
  > is missing
crawl: robots.accessing empty template
  + robots.accessing = { policy = "cyclic", template = [] }
  > robots.accessing.template = []
  > must not be empty
crawl: robots.accessing template too high
  + robots.accessing = { policy = "cyclic", template = [0, 3] }
  > robots.accessing.template = [0, 3]
  > pages are numbered 0 … 2
crawl: robots.accessing template negative
  + robots.accessing = { policy = "cyclic", template = [0, -1] }
  > robots.accessing.template[1] = -1
  > must be >= 0
crawl: robots.accessing template float
  + robots.accessing = { policy = "cyclic", template = [0.0] }
  > robots.accessing.template[0] = 0.0
  > must be a whole number
crawl: robots.accessing frequencies word
  + robots.accessing = { policy = "randomized", frequencies = "best" }
  > robots.accessing.frequencies = "best"
  > "uniform", "optimal", "change-rate", a list or a table
crawl: robots.accessing frequencies sum
  + robots.accessing = { policy = "randomized", frequencies = [0.5, 0.4, 0.2] }
  > robots.accessing.frequencies = [0.5, 0.4, 0.2]
  > must sum to 1; the sum is 1.1
crawl: robots.accessing frequencies negative
  + robots.accessing = { policy = "golden-ratio", frequencies = [0.5, 0.7, -0.2] }
  > robots.accessing.frequencies[2] = -0.2
  > must be >= 0
crawl: robots.accessing too few frequencies
  + robots.accessing = { policy = "golden-ratio", frequencies = [0.5, 0.5] }
  > robots.accessing.frequencies
  > must have 3, one per page
crawl: robots.accessing cycle
  + robots.accessing = { policy = "golden-ratio", cycle = 22 }
  > robots.accessing.cycle = 22
  > must be a Fibonacci number; the nearest are 21 and 34
crawl: robots.accessing cycle float
  + robots.accessing = { policy = "golden-ratio", cycle = 21.0 }
  > robots.accessing.cycle = 21.0
  > must be a whole number
crawl: change rates all zero
  + pages.change_rates = [0.0, 0.0, 0.0]
  + robots.accessing = { policy = "randomized", frequencies = "change-rate" }
  > robots.accessing.frequencies = "change-rate"
  > a page with a positive change rate
queue: robots.accessing without pages
  + robots.accessing = { policy = "round-robin" }
  > robots.accessing
  > needs [pages]
"""

ROBOTS = r"""
queue: robots.available missing
  - robots.available
  > robots.available
  > is missing
queue: robots.available float
  + robots.available = 2.0
  > robots.available = 2.0
  > must be a whole number
queue: robots.available too many
  + robots.available = 100001
  > robots.available = 100001
  > must be <= 100000
queue: no access time
  - robots.access_time
  > robots = { available = 2 }
  > exactly one of the
queue: robots.access_time batches
  + robots.access_time = { bmap = {} }
  > robots.access_time.bmap = {}
  > unknown key (did you mean map?)
queue: robots.access_time column
  + robots.access_time = { empirical = { file = "good.csv", column = "rate" } }
  > robots.access_time.empirical.column = "rate"
  > did you mean column in [pages.change_rates]?
queue: robots.access_time list
  + robots.access_time = [1.0]
  > robots.access_time = [1.0]
  > must be a table with exactly one of the keys
queue: robots.access_time generator row
  + robots.access_time = { mmpp = { Q = [[-1.0, 1.0], [1.0, -2.0]], rates = [1.0, 2.0] } }
  > robots.access_time.mmpp.Q = [1.0, -2.0]
  > row 1 sums to -1.0; must sum to 0
queue: robots.access_time generator shape
  + robots.access_time = { mmpp = { Q = [[-1.0, 1.0]], rates = [1.0] } }
  > robots.access_time.mmpp.Q = [[-1.0, 1.0]]
  > row 0 has 2 entries; each row must have
queue: robots.access_time generator sign
  + robots.access_time = { mmpp = { Q = [[1.0, -1.0], [0.0, 0.0]], rates = [1.0, 1.0] } }
  > robots.access_time.mmpp.Q[0][1] = -1.0
  > row 0: rates off the diagonal must be >= 0
queue: robots.access_time no rates
  + robots.access_time = { mmpp = { Q = [[0.0]], rates = [1.0, 2.0] } }
  > robots.access_time.mmpp.rates = [1.0, 2.0]
  > must have 1 entries, one per row of Q
queue: robots.access_time rates all zero
  + robots.access_time = { mmpp = { Q = [[0.0]], rates = [0.0] } }
  > robots.access_time.mmpp.rates = [0.0]
  > must have a positive entry
queue: robots.access_time no arrival
  + robots.access_time = { mmpp = { Q = [[-1.0, 1.0], [0.0, 0.0]], rates = [1.0, 0.0] } }
  > robots.access_time.mmpp.Q = [0.0, 0.0]
  > row 1: from this phase an arrival is never
"""

DISTRIBUTIONS = r"""
queue: buffer.service missing
  - buffer.service
  > buffer.service
  > is missing
queue: buffer.service word
  + buffer.service = "exponential"
  > buffer.service = "exponential"
  > exactly one of the keys deterministic,
queue: buffer.service number
  + buffer.service = { exponential = 1.0 }
  > buffer.service.exponential = 1.0
  > must be a table
queue: buffer.service value
  + buffer.service = { deterministic = { value = 0.0 } }
  > buffer.service.deterministic.value = 0.0
  > must be > 0
queue: buffer.service mean and rate
  + buffer.service = { exponential = { mean = 1.0, rate = 1.0 } }
  > buffer.service.exponential = { mean = 1.0, rate = 1.0 }
  > exactly one of the keys mean or rate
queue: buffer.service mean
  + buffer.service = { exponential = { mean = -1 } }
  > buffer.service.exponential.mean = -1
  > must be > 0
queue: buffer.service tiny rate
  + buffer.service = { exponential = { rate = 1e-200 } }
  > buffer.service.exponential.rate = 1e-200
  > must be >= 1e-100
queue: buffer.service huge mean
  + buffer.service = { exponential = { mean = 1e200 } }
  > buffer.service.exponential.mean = 1e+200
  > must be <= 1e+100
queue: buffer.service nan
  + buffer.service = { exponential = { rate = nan } }
  > buffer.service.exponential.rate = nan
  > must be a finite number
queue: buffer.service string
  + buffer.service = { exponential = { rate = "1" } }
  > buffer.service.exponential.rate = "1"
  > must be a number
queue: buffer.service shape float
  + buffer.service = { erlang = { shape = 2.0, mean = 1.0 } }
  > buffer.service.erlang.shape = 2.0
  > must be a whole number
queue: buffer.service shape zero
  + buffer.service = { erlang = { shape = 0, mean = 1.0 } }
  > buffer.service.erlang.shape = 0
  > must be >= 1
queue: buffer.service no mean
  + buffer.service = { erlang = { shape = 2 } }
  > buffer.service.erlang.mean
  > is missing
queue: buffer.service gamma shape
  + buffer.service = { gamma = { shape = 0.0, mean = 1.0 } }
  > buffer.service.gamma.shape = 0.0
  > must be >= 0.001
queue: buffer.service high
  + buffer.service = { uniform = { low = 2.0, high = 1.0 } }
  > buffer.service.uniform.high = 1.0
  > must be > low (2.0)
queue: buffer.service low
  + buffer.service = { uniform = { low = -1.0, high = 1.0 } }
  > buffer.service.uniform.low = -1.0
  > must be >= 0
queue: buffer.service probabilities
  + buffer.service = { hyperexponential = { probabilities = [0.5, 0.4], rates = [1.0, 1.0] } }
  > buffer.service.hyperexponential.probabilities = [0.5, 0.4]
  > the sum is 0.9
queue: buffer.service probability
  + buffer.service = { hyperexponential = { probabilities = [1.5, -0.5], rates = [1.0, 1.0] } }
  > buffer.service.hyperexponential.probabilities[1] = -0.5
  > must be >= 0
queue: buffer.service rates
  + buffer.service = { hyperexponential = { probabilities = [0.5, 0.5], rates = [1.0] } }
  > buffer.service.hyperexponential.rates = [1.0]
  > must have 2 entries, one per probability
queue: buffer.service rate
  + buffer.service = { hyperexponential = { probabilities = [1.0], rates = [0.0] } }
  > buffer.service.hyperexponential.rates[0] = 0.0
  > must be > 0
queue: buffer.service alpha
  + buffer.service = { phase-type = { alpha = [0.4, 0.5], T = [[-1.0, 0.0], [0.0, -1.0]] } }
  > buffer.service.phase-type.alpha = [0.4, 0.5]
  > must sum to 1; the sum is 0.9
queue: buffer.service rows of T
  + buffer.service = { phase-type = { alpha = [0.4, 0.6], T = [[-2.0, 1.0]] } }
  > buffer.service.phase-type.T = [[-2.0, 1.0]]
  > has 1 rows; must have 2
queue: buffer.service row of T
  + buffer.service = { phase-type = { alpha = [0.4, 0.6], T = [[-2.0, 1.0], [0.0]] } }
  > buffer.service.phase-type.T = [[-2.0, 1.0], [0.0]]
  > row 1 has 1 entries; each row must
queue: buffer.service sum of T
  + buffer.service = { phase-type = { alpha = [0.4, 0.6], T = [[-2.0, 1.0], [2.5, -2.0]] } }
  > buffer.service.phase-type.T = [2.5, -2.0]
  > row 1 sums to 0.5; must be <= 0
queue: buffer.service sign in T
  + buffer.service = { phase-type = { alpha = [0.4, 0.6], T = [[-2.0, 1.0], [-0.5, -2.0]] } }
  > buffer.service.phase-type.T[1][0] = -0.5
  > row 1: rates off the diagonal must be >= 0
queue: buffer.service nan in T
  + buffer.service = { phase-type = { alpha = [1.0], T = [[nan]] } }
  > buffer.service.phase-type.T[0][0] = nan
  > must be a finite number
queue: buffer.service flat T
  + buffer.service = { phase-type = { alpha = [1.0], T = [-1.0] } }
  > buffer.service.phase-type.T[0] = -1.0
  > must be a list
queue: buffer.service never absorbed
  + buffer.service = { phase-type = { alpha = [0.4, 0.6], T = [[-2.0, 1.0], [0.0, 0.0]] } }
  > buffer.service.phase-type.T = [0.0, 0.0]
  > row 1: from this phase absorption is
queue: buffer.service nothing observed
  + buffer.service = { empirical = {} }
  > buffer.service.empirical = {}
  > keys values or file
queue: buffer.service zeros
  + buffer.service = { empirical = { values = [0.0, 0.0] } }
  > buffer.service.empirical.values
  > needs at least one positive observation
queue: buffer.service negative in file
  + buffer.service = { empirical = { file = "negative.csv" } }
  > buffer.service.empirical.file = negative.csv
  > row 2: '-2.0' must be a finite number >= 0
queue: buffer.service folder
  + buffer.service = { empirical = { file = "." } }
  > buffer.service.empirical.file = "
  > Is a directory
queue: buffer.service null byte
  + buffer.service = { empirical = { file = "a\u0000b" } }
  > buffer.service.empirical.file = "
  > cannot be read: embedded null
"""

DELIVERIES = r"""
joint: robots.deliveries word
  + robots.deliveries = "modes"
  > robots.deliveries = "modes"
  > exactly one of the keys modes, independent, thinned
joint: robots.deliveries too few modes
  + robots.deliveries = { modes = [{ poisson = { rate = 1.0 } }] }
  > robots.deliveries
  > has 1 entries; must have one per available robot (2)
joint: robots.deliveries too many
  + robots.deliveries = { thinned = { process = { poisson = { rate = 1.0 } }, keep = [1, 1, 1] } }
  > robots.deliveries
  > has 3 entries
joint: robots.deliveries modes table
  + robots.deliveries = { modes = {} }
  > robots.deliveries.modes = {}
  > must be a list
joint: robots.deliveries orders
  + robots.deliveries = {modes=[{poisson={rate=1}}, {mmpp={Q=[[-1, 1], [1, -1]], rates=[1, 2]}}]}
  > robots.deliveries.modes[1]
  > has 2 phases; must have 1 as [0] has
joint: robots.deliveries renewal
  + robots.deliveries = { modes = [{ renewal = {} }] }
  > robots.deliveries.modes[0].renewal = {}
  > exactly one of the keys poisson, mmpp, map or bmap
joint: robots.deliveries distribution
  + robots.deliveries = { independent = [{ exponential = {} }] }
  > robots.deliveries.independent[0].exponential = {}
  > unknown key
joint: robots.deliveries one matrix
  + robots.deliveries = { modes = [{ bmap = { D = [[[-1.0]]] } }] }
  > robots.deliveries.modes[0].bmap.D = [[[-1.0]]]
  > must have at least two matrices, D[0] and D[1]
joint: robots.deliveries row of three
  + robots.deliveries = { modes = [{ bmap = { D = [[[-1.0]], [[0.5]], [[1.0]]] } }] }
  > robots.deliveries.modes[0].bmap.D[0] = [-1.0]
  > row 0 of D[0] + D[1] + D[2] sums to 0.5; must sum to 0
joint: robots.deliveries shape of D1
  + robots.deliveries = { modes = [{ bmap = { D = [[[-1.0]], [[0.5, 0.5]]] } }] }
  > robots.deliveries.modes[0].bmap.D[1] = [[0.5, 0.5]]
  > row 0 has 2 entries
joint: robots.deliveries sign in D2
  + robots.deliveries = { modes = [{ bmap = { D = [[[-1.0]], [[1.5]], [[-0.5]]] } }] }
  > robots.deliveries.modes[0].bmap.D[2][0][0] = -0.5
  > rates of deliveries must be >= 0
joint: robots.deliveries keep above 1
  + robots.deliveries = { thinned = { process = { poisson = { rate = 1.0 } }, keep = [1.5] } }
  > robots.deliveries.thinned.keep[0] = 1.5
  > must be <= 1
joint: robots.deliveries keep below 0
  + robots.deliveries = { thinned = { process = { poisson = { rate = 1.0 } }, keep = [-0.5] } }
  > robots.deliveries.thinned.keep[0] = -0.5
  > must be >= 0
joint: robots.deliveries no process
  + robots.deliveries = { thinned = { keep = [1.0, 1.0] } }
  > robots.deliveries.thinned.process
  > missing
joint: robots.deliveries marked row
  + robots.deliveries = { marked = { D0 = [[-2.0]], robots = [[[[1.0]]], [[[1.5]]]] } }
  > robots.deliveries.marked.D0 = [-2.0]
  > row 0 of D0 + robots[0][0] + robots[1][0] sums to
joint: robots.deliveries marked shape
  + robots.deliveries = { marked = { D0 = [[-2.0]], robots = [[], [[[1.0], [1.0]]]] } }
  > robots.deliveries.marked.robots[1][0] = [[1.0], [1.0]]
  > has 2 rows; must have 1
joint: robots.deliveries no marks
  + robots.deliveries = { marked = { D0 = [], robots = [[], []] } }
  > robots.deliveries.marked.D0 = []
  > has 0 rows; must have 1
"""

ACTIVATION = r"""
queue: activation number
  + activation = 1
  > activation = 1
  > exactly one of the keys static, these, threshold, switching or opt
queue: activation unknown
  + activation = { statc = 1 }
  > activation.statc = 1
  > unknown key (did you mean static?)
queue: activation static above
  + activation = { static = 3 }
  > activation.static = 3
  > at most robots.available (2)
queue: activation static below
  + activation = { static = -1 }
  > activation.static = -1
  > must be >= 0
queue: activation static boolean
  + activation = { static = true }
  > activation.static = true
  > must be a whole number
queue: activation no thresholds
  + activation = { threshold = { robots = [2, 1] } }
  > activation.threshold.at
  > is missing
queue: activation increasing
  + activation = { threshold = { robots = [1, 2], at = [1] } }
  > activation.threshold.robots = [1, 2]
  > must be strictly decreasing
queue: activation one short
  + activation = { threshold = { robots = [2, 1], at = [] } }
  > activation.threshold.at = []
  > must have 1 entries, one fewer than robots
queue: activation decreasing
  + activation = { threshold = { robots = [2, 1, 0], at = [3, 2] } }
  > activation.threshold.at = [3, 2]
  > must not decrease
queue: activation threshold above
  + activation = { threshold = { robots = [3, 1], at = [1] } }
  > activation.threshold.robots = [3, 1]
  > must be at most robots.available (2)
queue: activation no robot
  + activation = { switching = { targets = [0, 1, 1, 1] } }
  > activation.switching.targets = [0, 1, 1, 1]
  > the target at level 0 must be >= 1
queue: activation levels
  + activation = { switching = { targets = [2, 1, 1] } }
  > activation.switching.targets = [2, 1, 1]
  > must have 4 entries, one per level 0 … waiting_places + 1
queue: activation target above
  + activation = { switching = { targets = [3, 1, 1, 1] } }
  > activation.switching.targets = [3, 1, 1, 1]
  > must be at most robots.available (2)
queue: activation target float
  + activation = { switching = { targets = [[2, 1, 1, 1.5]] } }
  > activation.switching.targets[0][3] = 1.5
  > must be a whole number
queue: activation phases
  + activation = { switching = { targets = [[2, 1, 1, 1], [2, 1, 1, 1]] } }
  > activation.switching.targets = [[2, 1, 1, 1], [2, 1, 1, 1]]
  > must be one list, or 1
queue: activation family
  + activation = { optimal = "best" }
  > activation.optimal = "best"
  > must be "static", "threshold" or "switching"
queue: activation optimal for nothing
  + activation = { optimal = "static" }
  > activation.optimal
  > needs [costs]
crawl: activation threshold without buffer
  + activation = { threshold = { robots = [2, 1], at = [1] } }
  > activation.threshold
  > needs [buffer]
crawl: activation switching without buffer
  + activation = { switching = { targets = [2, 1] } }
  > activation.switching
  > needs [buffer]
crawl: activation optimal without buffer
  + activation = { optimal = "threshold" }
  > activation.optimal
  > needs [buffer]
joint: activation switching without access_time
  + activation = { switching = { targets = [2, 1, 1, 1] } }
  > activation.switching
  > needs robots.access_time
joint: activation optimal switching without access_time
  + costs.loss = 1.0
  + activation = { optimal = "switching" }
  > activation.optimal
  > needs robots.access_time
"""

BUFFER = r"""
queue: buffer.waiting_places missing
  - buffer.waiting_places
  > buffer.waiting_places
  > is missing
queue: buffer.waiting_places negative
  + buffer.waiting_places = -1
  > buffer.waiting_places = -1
  > must be >= 0
queue: buffer.waiting_places infinite
  + buffer.waiting_places = inf
  > buffer.waiting_places = inf
  > must be a whole number
queue: buffer.waiting_places too many
  + buffer.waiting_places = 1000001
  > buffer.waiting_places = 1000001
  > must be <= 1e+06
queue: buffer.admission word
  + buffer.admission = "some"
  > buffer.admission = "some"
  > must be "partial", "reject" or "complete"
queue: buffer.obsolescence word
  + buffer.obsolescence = "nver"
  > buffer.obsolescence = "nver"
  > must be "never", "page-change" or a table
queue: buffer.obsolescence without pages
  + buffer.obsolescence = "page-change"
  > buffer.obsolescence = "page-change"
  > needs [pages]
queue: buffer.obsolescence table
  + buffer.obsolescence = { exponential = { mean = 0.0 } }
  > buffer.obsolescence.exponential.mean = 0.0
  > must be > 0
queue: buffer.discipline word
  + buffer.discipline = "sjf"
  > buffer.discipline = "sjf"
  > must be "fifo" or "lifo"
queue: buffer.when_full word
  + buffer.when_full = "drop"
  > buffer.when_full = "drop"
  > must be "lose-new" or "push-out"
queue: buffer.when_full with reject
  + buffer.when_full = "push-out"
  + buffer.admission = "reject"
  > buffer.when_full = "push-out"
  > needs admission = "partial"
queue: buffer.replace_older_copy number
  + buffer.replace_older_copy = 1
  > buffer.replace_older_copy = 1
  > must be true or false
queue: buffer.replace_older_copy without pages
  + buffer.replace_older_copy = true
  > buffer.replace_older_copy = true
  > needs [pages]
queue: buffer.replace_older_copy with complete
  + buffer.replace_older_copy = true
  + buffer.admission = "complete"
  > buffer.replace_older_copy = true
  > needs admission = "partial"
"""

PROBING = r"""
probes: source.updates number
  + source.updates = 1.0
  > source.updates = 1.0
  > must be a table
probes: source.updates start
  + source.updates = { breaks = [0.1], values = [1.0], period = 1.0 }
  > source.updates.breaks = [0.1]
  > must begin with 0
probes: source.updates order
  + source.updates = { breaks = [0, 0.5, 0.4], values = [1, 1, 1], period = 1.0 }
  > source.updates.breaks[1] = 0.5
  > must increase and stay below period (1.0)
probes: source.updates one value
  + source.updates = { breaks = [0.0, 0.5], values = [1.0], period = 1.0 }
  > source.updates.values = [1.0]
  > must have 2 entries, one per break
probes: source.updates zeros
  + source.updates = { breaks = [0.0], values = [0.0], period = 1.0 }
  > source.updates.values = [0.0]
  > must have a positive entry
probes: source.updates negative
  + source.updates = { breaks = [0.0], values = [-1.0], period = 1.0 }
  > source.updates.values[0] = -1.0
  > must be >= 0
probes: source.updates period
  + source.updates = { breaks = [0.0], values = [1.0], period = 0 }
  > source.updates.period = 0
  > must be > 0
probes: source.importance missing
  - source.importance
  > source.importance
  > is missing
probes: probing.horizon infinite
  + probing.horizon = inf
  > probing.horizon = inf
  > must be a finite number
probes: probing.probes missing
  - probing.probes
  > probing.probes
  > is missing; how many probes?
probes: probing.probes float
  + probing.probes = 4.0
  > probing.probes = 4.0
  > must be a whole number
probes: probing.probes none
  + probing.probes = 0
  > probing.probes = 0
  > must be >= 1
probes: probing.minimum_spacing too long
  + probing.minimum_spacing = 1.1
  > probing.minimum_spacing = 1.1
  > times 4 probes must not exceed horizon (4.0)
probes: probing.minimum_spacing negative
  + probing.minimum_spacing = -0.1
  > probing.minimum_spacing = -0.1
  > must be >= 0
probes: probing.refine number
  + probing.refine = 0
  > probing.refine = 0
  > must be true or false
probes: probing.policy missing
  - probing.policy
  > probing.policy
  > is missing
probes: probing.policy word
  + probing.policy = "unifrm"
  > probing.policy = "unifrm"
  > "threshold", "first-arrival" or a table
probes: probing.policy time
  + probing.policy = { time = [4.0] }
  > probing.policy.time = [4.0]
  > must be a table with the key times
probes: probing.policy no times
  + probing.policy = { times = [] }
  > probing.policy.times = []
  > must not be empty
probes: probing.policy time 0
  + probing.policy = { times = [0.0, 4.0] }
  > probing.policy.times[0] = 0.0
  > must be > 0
probes: probing.policy order
  + probing.policy = { times = [2, 1, 3, 4] }
  > probing.policy.times = [2.0, 1.0, 3.0, 4.0]
  > must increase
probes: probing.policy end
  + probing.policy = { times = [1, 2, 3] }
  > probing.policy.times = [1.0, 2.0, 3.0]
  > the last must be the horizon (4.0)
probes: probing.policy spacing
  + probing.policy = { times = [1, 2, 3, 4] }
  + probing.minimum_spacing = 1.5
  > probing.policy.times = [1.0, 2.0, 3.0, 4.0]
  > must lie minimum_spacing (1.5) apart, from 0 on
probes: number of times
  + probing.policy = { times = [2.0, 4.0] }
  > probing.probes = 4
  > must be the number of times (2), or be left out
probes: probing.slots missing
  + probing.policy = "optimal"
  > probing.slots
  > is missing; policy = "optimal" needs it
probes: probing.slots none
  + probing.policy = "optimal"
  + probing.slots = 0
  > probing.slots = 0
  > must be >= 1
probes: probing.slots fewer than probes
  + probing.policy = "optimal"
  + probing.slots = 3
  > probing.slots = 3
  > no room for 4 probes, each 1 slots after the last
probes: probing.slots coarse
  + probing.policy = "optimal"
  + probing.slots = 5
  + probing.minimum_spacing = 0.9
  > probing.slots = 5
  > 4 probes, each 2 slots after
"""

SERVERS = r"""
parallel: servers.rates empty
  + servers.rates = []
  > servers.rates
  > must not be empty
parallel: servers.rates number
  + servers.rates = 1.0
  > servers.rates = 1.0
  > must be a list
parallel: servers.rates zero
  + servers.rates = [1.0, 0.0]
  > servers.rates[1] = 0.0
  > must be > 0
parallel: servers.service empty
  - servers.rates
  + servers.service = []
  > servers.service
  > must not be empty
parallel: servers.service table
  - servers.rates
  + servers.service = { erlang = {} }
  > servers.service = { erlang = {} }
  > must be a list
parallel: servers.service numbers
  - servers.rates
  + servers.service = [1.0]
  > servers.service[0] = 1.0
  > must be a table with exactly one of the keys
parallel: rates and service
  + servers.service = [{ exponential = { mean = 1.0 } }]
  > servers = { rates = [1.0, 2.0],
  > must have exactly one of the keys rates or service
parallel: servers.arrivals missing
  - servers.arrivals
  > servers.arrivals
  > is missing
parallel: servers.arrivals batches
  + servers.arrivals = { bmap = { D = [] } }
  > servers.arrivals.bmap = { D = [] }
  > exactly one of the keys poisson, renewal, mmpp or map
parallel: servers.arrivals renewal of process
  + servers.arrivals = { renewal = { poisson = {} } }
  > servers.arrivals.renewal.poisson = {}
  > unknown key
parallel: servers.arrivals renewal
  + servers.arrivals = { renewal = 1.0 }
  > servers.arrivals.renewal = 1.0
  > exactly one of the keys determinist
parallel: servers.arrivals no D1
  + servers.arrivals = { map = { D0 = [[-1.0]] } }
  > servers.arrivals.map.D1
  > is missing
parallel: servers.arrivals rows of D1
  + servers.arrivals = { map = { D0 = [[-1.0]], D1 = [[1.0], [1.0]] } }
  > servers.arrivals.map.D1 = [[1.0], [1.0]]
  > has 2 rows; must have 1
parallel: servers.arrivals row
  + servers.arrivals = { map = { D0 = [[-3.0, 0.5], [0.5, -1.0]], D1 = [[0.5, 2.0], [0.5, 0.5]] } }
  > servers.arrivals.map.D0 = [0.5, -1.0]
  > row 1 of D0 + D1 sums to 0.5; must sum to 0
parallel: servers.arrivals sign in D0
  + servers.arrivals = { map = { D0 = [[-1.0, -1.0], [0, 0]], D1 = [[1.0, 1.0], [0, 0]] } }
  > servers.arrivals.map.D0[0][1] = -1.0
  > rates off the diagonal must be >= 0
parallel: servers.arrivals sign in D1
  + servers.arrivals = { map = { D0 = [[1.0]], D1 = [[-1.0]] } }
  > servers.arrivals.map.D1[0][0] = -1.0
  > row 0: rates of deliveries must be >= 0
parallel: servers.arrivals never
  + servers.arrivals = { map = { D0 = [[-1.0, 0.0], [0, 0]], D1 = [[1.0, 0.0], [0, 0]] } }
  > servers.arrivals.map.D0 = [0.0, 0.0]
  > row 1: from this phase an arrival is never reached
parallel: servers.routing missing
  - servers.routing
  > servers.routing
  > is missing
parallel: servers.routing word
  + servers.routing = "best"
  > servers.routing = "best"
  > must be "optimal" or a table
parallel: servers.routing both
  + servers.routing = { period = [0], random = [1.0] }
  > servers.routing = { period = [0], random = [1.0] }
  > exactly one of the keys period or random
parallel: servers.routing empty period
  + servers.routing = { period = [] }
  > servers.routing.period = []
  > must not be empty
parallel: servers.routing no such server
  + servers.routing = { period = [0, 2] }
  > servers.routing.period = [0, 2]
  > servers are numbered 0 …
parallel: servers.routing float
  + servers.routing = { period = [0.0] }
  > servers.routing.period[0] = 0.0
  > must be a whole number
parallel: servers.routing sum
  + servers.routing = { random = [0.5, 0.4] }
  > servers.routing.random = [0.5, 0.4]
  > the sum is 0.9
parallel: servers.routing above 1
  + servers.routing = { random = [1.5, -0.5] }
  > servers.routing.random[0] = 1.5
  > must be <= 1
parallel: servers.routing one
  + servers.routing = { random = [1.0] }
  > servers.routing.random = [1.0]
  > must have 2 entries, one per server
parallel: servers.discipline word
  + servers.discipline = "fifo"
  > servers.discipline = "fifo"
  > must be "preemptive" or "non-preemptive"
"""

COSTS_AND_RUN = r"""
queue: costs.loss negative
  + costs.loss = -1.0
  > costs.loss = -1.0
  > must be >= 0
queue: costs.loss nan
  + costs.loss = nan
  > costs.loss = nan
  > must be a finite number
queue: costs.loss date
  + costs.loss = 1979-05-27
  > costs.loss = 1979
  > must be a number
queue: costs.staleness without pages
  + costs.staleness = 1.0
  > costs.staleness = 1.0
  > needs [pages]
queue: run.horizon zero
  + run.horizon = 0.0
  > run.horizon = 0.0
  > must be > 0
queue: run.horizon word
  + run.horizon = "long"
  > run.horizon = "long"
  > must be a number
queue: run.warmup negative
  + run.warmup = -1.0
  > run.warmup = -1.0
  > must be >= 0
queue: run.warmup too long
  + run.warmup = 100000.0
  > run.warmup = 100000.0
  > must be < horizon (100000.0)
queue: run.replications none
  + run.replications = 0
  > run.replications = 0
  > must be >= 1
queue: run.replications float
  + run.replications = 40.0
  > run.replications = 40.0
  > must be a whole number
queue: run.seed negative
  + run.seed = -1
  > run.seed = -1
  > must be >= 0
queue: run.seed boolean
  + run.seed = true
  > run.seed = true
  > must be a whole number
"""

SYSTEMS = r"""
nothing: no system
  > describes no system; needs the sections of one
queue: mixture
  + servers.rates = [1.0, 2.0]
  + servers.arrivals = { poisson = { rate = 1.0 } }
  + servers.routing = "optimal"
  > several systems: robots, buffer, serv
nothing: robots alone
  + robots = { available = 1, access_time = { exponential = { mean = 1.0 } } }
  > robots
  > needs [pages] or [buffer]
nothing: pages alone
  + pages = { change_rates = [1.0] }
  > pages
  > needs [robots]
nothing: buffer alone
  + buffer = { waiting_places = 1, service = { exponential = { mean = 1.0 } } }
  > buffer
  > needs [robots]
nothing: activation alone
  + activation = { static = 1 }
  > activation
  > needs [robots]
queue: clients without pages
  + clients = { query_rate = 1.0 }
  > clients
  > needs [pages]
probes: source alone
  - probing.horizon
  - probing.probes
  - probing.policy
  > source
  > needs [probing]
probes: probing alone
  - source.updates
  - source.importance
  > probing
  > needs [source]
"""

# Other ways to break a rule of the corpus.

AGAIN = r"""
crawl: robots.accessing.policy list
  + robots.accessing = { policy = [] }
  > robots.accessing.policy = []
  > must be "cyclic", "round-robin"
queue: buffer.service two
  + buffer.service = { exponential = {}, gamma = {} }
  > buffer.service = { exponential = {}, gamma = {} }
  > exactly one of the keys deterministic,
queue: deliveries with access time
  + robots.deliveries = { modes = [{ poisson = {rate = 1} }] }
  > robots = { available = 2, access_time =
  > the keys access_time or deliveries
crawl: no change, no weight
  + pages.change_rates = [0.0]
  + clients.query_rate = 1.0
  > pages.weights = "change-rate"
  > [clients] needs a page with a positive weight
nothing: run alone
  + run.seed = 1
  > describes no system
"""


def text_of(entries: dict[str, str]) -> str:
    return "".join(f"{key} = {value}\n" for key, value in entries.items())


def cases(table: str) -> Iterator[tuple[str, Bad]]:
    for case in re.split(r"\n(?! )", table.strip()):
        title, *lines = case.splitlines()
        entries = dict({**GOOD, "nothing": NOTHING}[title.partition(": ")[0]])
        for line in lines:
            key, _, value = line[4:].partition(" = ")
            if line.startswith("  -"):
                del entries[key]
            elif line.startswith("  +"):
                entries[key] = value
        *said, allowed = [line[4:] for line in lines if line.startswith("  >")]
        key, has_value, value = "".join(said).partition(" = ")
        yield title, Bad(text_of(entries), key, value if has_value else None, allowed)


TABLES = (
    *(TOP, UNKNOWN, PAGES, ACCESSING, ROBOTS, DISTRIBUTIONS, DELIVERIES),
    *(ACTIVATION, BUFFER, PROBING, SERVERS, COSTS_AND_RUN, SYSTEMS),
)
CORPUS = [*SYNTAX.items(), *(case for table in TABLES for case in cases(table))]
ALL = [*CORPUS, *DEEP.items(), *cases(AGAIN)]


def refusal(text: str | bytes, folder: Path) -> ScenarioError:
    """The error of a file with this text, which must be a ScenarioError and nothing else."""
    for name, content in COLUMNS.items():
        (folder / name).write_bytes(content)
    path = folder / "bad.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ScenarioError) as caught:
        load(path)
    return caught.value


@pytest.mark.parametrize(("name", "entries"), GOOD.items(), ids=GOOD)
def test_the_file_is_good_before_it_is_spoilt(name, entries, tmp_path):
    path = tmp_path / "good.toml"
    path.write_text(text_of(entries), encoding="utf-8")
    assert load(path).name == name


@pytest.mark.parametrize("bad", [pytest.param(bad, id=name) for name, bad in ALL])
def test_a_bad_file_is_refused_with_key_value_and_rule(bad, tmp_path):
    error = refusal(bad.text, tmp_path)
    file, *entry, allowed = str(error).splitlines()
    key, has_value, value = "".join(entry).partition(" = ")
    assert file == str(tmp_path / "bad.toml")
    assert len(entry) <= 1
    assert key == error.key == bad.key
    assert bool(has_value) == (bad.value is not None)
    assert (bad.value or "") in value
    assert allowed == error.allowed
    assert bad.allowed in allowed


def test_every_bad_file_breaks_another_rule(tmp_path):
    errors = [refusal(bad.text, tmp_path) for _, bad in CORPUS]
    rules = {(error.key, error.allowed) for error in errors}
    assert len(rules) == len(CORPUS) >= 75


def test_no_two_bad_files_have_the_same_name():
    assert len(dict(ALL)) == len(ALL)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("none.toml", "cannot be read: No such file or directory"),
        (".", "cannot be read: Is a directory"),
        ("good.csv/bad.toml", "cannot be read: Not a directory"),
        ("a" * 300 + ".toml", "cannot be read: File name too long"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_name(name, allowed, tmp_path):
    (tmp_path / "good.csv").touch()
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path / name)
    assert str(caught.value).splitlines() == [str(tmp_path / name), allowed]


def test_a_name_with_a_null_byte_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="embedded null"):
        load(tmp_path / "a\0b.toml")


@pytest.mark.parametrize("name", ["no-such-scenario", "a" * 300])
def test_a_name_that_is_not_in_the_library_is_refused(name):
    with pytest.raises(ScenarioError) as caught:
        load(name)
    first, allowed = str(caught.value).splitlines()
    assert first == name
    assert allowed.startswith("is neither a file nor in the library: ")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "true"),
        (2.0, "2.0"),
        ("two\nlines", r'"two\nlines"'),
        (["a", False, (1, 2)], '["a", false, [1, 2]]'),
        ({"mean": 1.0, "a": {"b": {"c": {"d": 1}}}}, "{ mean = 1.0, a = { b = { c = { ... } } } }"),
        ({}, "{}"),
        (list(range(20)), "[0, 1, 2, 3, 4, 5, 6, 7, ...]"),
        ("a" * 1000, '"' + "a" * 27 + "..." + "a" * 28 + '"'),
    ],
)
def test_a_value_is_shown_briefly_and_as_toml(value, shown):
    assert brief(value) == shown


def test_an_error_is_the_same_after_pickling():
    error = ScenarioError("buffer.service", MISSING, "is missing", "a.toml")
    assert (
        str(pickle.loads(pickle.dumps(error))) == str(error) == "a.toml\nbuffer.service\nis missing"
    )
