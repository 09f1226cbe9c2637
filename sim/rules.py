"""The decisions of the model as pure functions on numbers; both engines call these.

Rule 1: whatever decides what happens at an event lives here: who goes first at equal times, how
many pages of a batch enter, how many robots work. Draws of laws stand in `sim.laws`.
What takes a waiting page away (push-out, obsolescence, replacement) is in `sim.buffer`.
Rule 2: this file knows no engine and no clock; it imports math and numpy only, so that it compiles.

Draws take the Generator of their source and use it in a fixed order, so that two engines that
call them on the same stream see the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

# Ranks of events at the same time; within a rank the index decides (robot, place in the queue).
PAGE_CHANGE, SERVICE, OBSOLESCENCE, DELIVERY, RETRIAL, FALLS_DUE, UPDATE, SIGNAL = range(8)
QUERY, WARMUP, OBSERVATION, CHANGE, HORIZON = range(8, 13)
INDICES = 2**52

# Admission of a batch that does not fit.
PARTIAL, REJECT, COMPLETE = range(3)

# Which waiting page is served next.
OLDEST_FIRST, NEWEST_FIRST, BY_CLASS = range(3)

# What an indexer does that rests when it finds no page.
IDLE, AWAY, SETTING_UP, AT_WORK = range(4)

# Which of the due pages is accessed next.
FIRST_DUE, MOST_OVERDUE, PRIORITY = range(3)

# Laws of the cost of an access by its distance from the last one.
TABLE, POWER, GEOMETRIC, FADING = range(4)

# Fates of a page that entered.
SERVED, OBSOLETE, PUSHED_OUT, REPLACED = range(4)

# What the course of a system counts in each interval.
DELIVERED, LOST, INDEXED, DROPPED, REPLACEMENTS, QUERIES, STALE_ANSWERS = range(7)
COUNTED = 7

# Where distributions are counted by fate, busy cycles come after the fates.
CYCLE = 4


# Sojourn times are counted in bins, the same number for each of the octaves below the horizon.
BINS_OF_OCTAVE = 1024
OCTAVES = 48
TIME_BINS = (OCTAVES + 1) * BINS_OF_OCTAVE
_BITS_BELOW_A_BIN = 52 - 10
_EXPONENT_OF_HALF = 1022


def time_bin(time: float, octave: int) -> int:
    """Bin of a time; no two times of a bin differ by more than a thousandth.

    Parameters
    ----------
    time : float
        At most the horizon.
    octave : int
        That of the horizon, `math.frexp(horizon)[1]`.
    """
    # The exponent of a double and the first ten bits of its fraction are such a number already;
    # compiled code reads them in half the time of a frexp.
    bits = int(np.float64(time).view(np.int64)) >> _BITS_BELOW_A_BIN
    return max(bits - (_EXPONENT_OF_HALF + octave - OCTAVES) * BINS_OF_OCTAVE, 0)


def time_bins(times: Any, octave: int) -> Any:
    """`time_bin` of each of many times, an array of float; SimPy's engine counts many at once."""
    bits = times.view(np.int64) >> _BITS_BELOW_A_BIN
    return np.maximum(bits - (_EXPONENT_OF_HALF + octave - OCTAVES) * BINS_OF_OCTAVE, 0)


# Pages of the accessing policy that a robot looks at before it waits for a host.
LOOKAHEAD = 1024


def is_free(now: float, busy_until: float) -> bool:
    """Whether an access may start at a host that is to be left alone until a time."""
    return busy_until <= now


def tie_order(rank: int, index: int) -> int:
    """Place of an event among those of the same time: by rank, then by index."""
    return rank * INDICES + index


def admitted(pages: int, level: int, capacity: int, admission: int) -> int:
    """Number of pages of a batch that enter.

    Parameters
    ----------
    pages : int
        Size of the batch.
    level, capacity : int
        Pages in the system, and the most that may be there (under `COMPLETE`: before the batch).
    admission : int
        `PARTIAL`: as many as fit; `REJECT`: all or none; `COMPLETE`: all if there is any room.

    Notes
    -----
    avrachenkov2011, section 2; docs/theory/indexing-queue.md, "Admission".
    """
    room = capacity - level
    if room <= 0:
        return 0
    if admission == PARTIAL:
        return pages if pages <= room else room
    if admission == REJECT:
        return pages if pages <= room else 0
    return pages


def next_in_line(order: int, first: int, last: int) -> int:
    """The page that is served next, of the first and the last one of the line.

    Pages stand in line as they entered, and `BY_CLASS` all of a class before those of the next. No
    other order comes here: `_code_of` in `sim/engine_inputs.py` refuses it.
    """
    return last if order == NEWEST_FIRST else first


def pushes_out_by_class(group: int, last: int) -> bool:
    """Whether a page of a class takes the place of the last one of the line, by the class of that.

    docs/theory/indexing-queue.md, "Priorities".
    """
    return group < last


def places_taken(waiting: int, busy: int, most: int) -> int:
    """Places of the buffer that no new page can have, where servers take batches of pages.

    A busy server's are all taken, however few pages it took; all pages that a free one can take may
    enter, since it takes them once they all have entered.
    """
    return waiting + busy * most


def batch_size(waiting: int, most: int, least: int, is_overdue: bool) -> int:
    """Pages that a free server takes at once; 0 while it waits for more.

    Parameters
    ----------
    waiting, most, least : int
    is_overdue : bool
        Whether the oldest has waited so long that it is taken with fewer pages than the least.

    Notes
    -----
    Neuts' general bulk service rule (neuts1967); docs/theory/indexing-queue.md, "Batches".
    """
    if waiting >= least or is_overdue:
        return min(waiting, most)
    return 0


def after_rest(doing: int, waiting: int, enough: int, goes_away: bool, sets_up: bool) -> int:
    """What an indexer does whose service, set-up or vacation has ended, or that is idle.

    Parameters
    ----------
    doing : int
        `IDLE`, `AWAY`, `SETTING_UP` or `AT_WORK`.
    waiting, enough : int
        Pages that wait, and how many bring it back.
    goes_away, sets_up : bool
        Whether it has vacations, and takes a time to get ready.

    Notes
    -----
    Exhaustive service, multiple vacations, the N-policy; docs/theory/indexing-queue.md,
    "Vacations and retrials".
    """
    if doing in (SETTING_UP, AT_WORK):
        if waiting > 0:
            return AT_WORK
        return AWAY if goes_away else IDLE
    if waiting >= enough:
        return SETTING_UP if sets_up else AT_WORK
    return doing


def resumes(before: int, after: int) -> bool:
    """Whether an indexer that was idle or away begins to set up, or to work."""
    return before <= AWAY < after


def threshold_robots(level: int, robots: Sequence[int], at: Sequence[int]) -> int:
    """Active robots at a level: ``robots[t]`` while the level is at most ``at[t]``.

    avrachenkov2011, section 2 (multi-threshold control).
    """
    for mode in range(len(at)):
        if level <= at[mode]:
            return robots[mode]
    return robots[len(at)]


def thresholds_passed(level: int, passed: int, at: Sequence[int], back: Sequence[int]) -> int:
    """How many thresholds the level has passed, by how many it had before the event.

    It passes the next one above ``at``, and goes back behind the last one at ``back`` or below.
    """
    while passed < len(at) and level > at[passed]:
        passed += 1
    while passed > 0 and level <= back[passed - 1]:
        passed -= 1
    return passed


def is_heard(place: float, active: int) -> bool:
    """Whether a robot is active, by its place in the order of activation."""
    return place < active


def row_of_tables(state: int, phase: int, phases: int) -> int:
    """Which table of a rule counts in a state of the environment and a phase of the service."""
    return state * phases + phase


def switches_on(active: int, target: int) -> bool:
    """Whether one robot more is switched on, both numbers taken after the event (talim2001)."""
    return active < target


def place_of(active: Sequence[int], steps: Sequence[int]) -> int:
    """Place of a combination of numbers of active robots, where one robot more is a step."""
    place = 0
    for each in range(len(active)):
        place += active[each] * steps[each]
    return place


def length_of_access(length: float, share: float, unchanged: bool) -> float:
    """How long an access takes, of which a share is enough where the page is unchanged."""
    return length * share if unchanged else length


def fails(probability: float, uniform: float) -> bool:
    """Whether an access fails."""
    return uniform < probability


def gives_up(failures: int, retries: int) -> bool:
    """Whether a robot goes on to its next page, by its failures with this one."""
    return failures > retries


def urgency(order: int, overdue: float, interval: float, priority: float) -> float:
    """How urgent a due page is that has waited for a time, the most urgent one being next."""
    if order == MOST_OVERDUE:
        return overdue / interval if interval > 0.0 else math.inf
    return -priority


def next_due(now: float, began: float, interval: float, pause: float, from_start: bool) -> float:
    """When a page is due again whose access ends now.

    Parameters
    ----------
    now, began : float
        When the access ends and began.
    interval : float
        Of the page.
    pause : float
        Its back-off; 0: the access delivered, or there is none.
    from_start : bool
        Whether intervals count from the start of an access.
    """
    if pause > 0.0:
        return now + pause
    return max(began + interval, now) if from_start else now + interval


def next_pause(pause: float, first: float, factor: float, most: float) -> float:
    """The back-off of a page after one failure more; 0 before the first."""
    return min(pause * factor if pause > 0.0 else first, most)


def is_news(age: float, delay: float) -> bool:
    """Whether a signal counts that is heard so long after an access.

    One that is heard sooner than signals take in the mean tells of a change before the access.
    """
    return age >= delay


def hazard_of_age(age: float, change: float, silent: float, delay: float) -> float:
    """The hazard of a page so long after an access, if no signal was heard since.

    A page with the hazard h is out of date with probability 1 - e^-h. For the time that signals
    take in the mean, silence tells nothing.

    Parameters
    ----------
    age : float
    change, silent : float
        Rates of all changes, and of those without a signal.
    delay : float
        Mean delay of a signal.
    """
    return change * min(age, delay) + silent * max(age - delay, 0.0)


def hazard_left(level: float, jump: float) -> float:
    """What is left up to a level when signals have added so much; inf is never reached."""
    if level == math.inf:
        return math.inf
    return level - jump if level > jump else 0.0


def age_at_hazard(hazard: float, change: float, silent: float, delay: float) -> float:
    """The age at which `hazard_of_age` reaches a hazard; inf: it never does."""
    if hazard <= change * delay:
        return hazard / change if hazard > 0.0 else 0.0
    if silent > 0.0:
        return delay + (hazard - change * delay) / silent
    return math.inf


def caught_up_after(since: float, now: float, waiting: int, ended: float, enough: float) -> float:
    """Time from the end of the interventions until few pages wait; inf: not yet by now.

    Parameters
    ----------
    since, now : float
        For this long the same number of pages has been waiting.
    waiting : int
    ended : float
        When the last intervention ended.
    enough : float
        At most so many pages may wait.
    """
    if now > ended and waiting <= enough:
        return max(since - ended, 0.0)
    return math.inf


def next_commit(now: float, interval: float, phase: float) -> float:
    """When what is indexed now can be searched: at the next commit, now at the earliest."""
    return now + (phase - now) % interval


def holds_change(stale_from: float, delivered: float, unseen_from: float) -> bool:
    """Whether a copy holds the first change that the searchable copy lacks."""
    return stale_from > delivered and stale_from > unseen_from


def is_gone(death: float, now: float) -> bool:
    """Whether a page that lives until a time has vanished, at that very time already."""
    return death <= now


def is_discovered(discovery: float, death: float) -> bool:
    """Whether a page becomes known before it vanishes."""
    return discovery < death


def overlap(begin: float, end: float, first: float, last: float) -> float:
    """How much of the time from `begin` to `end` lies between `first` and `last`."""
    begin = max(begin, first)
    end = min(end, last)
    return end - begin if begin < end else 0.0


def place_drawn(uniform: float, places: int) -> int:
    """One of some places, all equally likely."""
    return min(int(uniform * places), places - 1)


def time_of_robots(level_time: Sequence[float], active_at: Sequence[int]) -> float:
    """Time integral of the active robots where their number depends on the level alone."""
    total = 0.0
    for level in range(len(level_time)):
        total += active_at[level] * level_time[level]
    return total


def turns_away(busy: bool, preemptive: bool) -> bool:
    """Whether a server without a free place loses the packet that comes, not the one in service.

    altman2000, section 2.
    """
    return busy and not preemptive


def may_wait(busy: bool, waiting: int, places: int) -> bool:
    """Whether a packet that comes to a server waits there."""
    return busy and waiting < places


def spacing_cost(
    law: int, first: float, second: float, table: Any, distance: int, elapsed: float
) -> float:
    """What an access costs by its distance from the last one to the same server.

    Parameters
    ----------
    law : int
        `TABLE`, `POWER`, `GEOMETRIC` or `FADING`.
    first, second : float
        Its parameters: the rise beyond the table; scale and exponent; first cost and ratio; scale
        and rate.
    table : ndarray of float
        Costs of the distances 1, 2, …
    distance : int
        In accesses, at least 1.
    elapsed : float
        Time since the last access.

    Notes
    -----
    Powers as exponentials, which Python and compiled code compute alike to the last bit.
    """
    if law == TABLE:
        beyond = max(distance - len(table), 0)
        return float(table[min(distance, len(table)) - 1]) + first * beyond
    if law == POWER:
        return first * math.exp(second * math.log(distance))
    if law == GEOMETRIC:
        return first * math.exp((distance - 1) * math.log(second))
    return first * math.exp(-second * elapsed)


def cumulative(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Cumulative probabilities, exactly 1 from the last positive one on, as `pick` wants them."""
    last = max(index for index, value in enumerate(probabilities) if value > 0)
    sums = []
    total = 0.0
    for value in probabilities[:last]:
        total += value
        sums.append(total)
    return tuple(sums) + (1.0,) * (len(probabilities) - last)


def pick(cumulative: Sequence[float], uniform: float) -> int:
    """Index of the first cumulative probability above `uniform`; the last must be 1 or more.

    It counts those that are not, all of them: where to stop nobody could predict, and that costs
    compiled code more than the rest of a short list.
    """
    index = 0
    for place in range(len(cumulative) - 1):
        index += cumulative[place] <= uniform
    return index


def pick_of_many(cumulative: Sequence[float], uniform: float) -> int:
    """The same as `pick`, by bisection."""
    low = 0
    high = len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] <= uniform:
            low = middle + 1
        else:
            high = middle
    return low


def draw_exponential(stream: Any, mean: float) -> float:
    """An exponential time."""
    return stream.standard_exponential() * mean
