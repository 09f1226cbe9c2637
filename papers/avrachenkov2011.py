"""avrachenkov2011, computed anew.

Our copy of the paper has lost its formulas: those of crawlsim are shown at one system, the library
scenario `marked-robots`, and at random ones, and compared with the model written out event by event
(`papers.queue_by_events`). It has lost the delivery processes and the prices of its tables
too; what follows from printed numbers alone is computed from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise, product
from typing import Any

import numpy as np

from analytic import predict
from analytic.index.conditions import fleet_of
from analytic.indexing_queue.chain import QueueChain, accepted_pages, count_states, dense_generator
from analytic.indexing_queue.formulas import birth_death_levels
from analytic.indexing_queue.levels_and_fates import level_probabilities, marginals_of
from analytic.indexing_queue.measures import chain_of, service_and_patience, solution_of, solved
from analytic.indexing_queue.sojourns import (
    ends_of,
    entries,
    sojourn_moments,
    sojourn_quantiles,
    sojourn_transform,
)
from analytic.machinery.active_robots import robots_at
from analytic.machinery.arrival_process import delivery_modes, mean_rate
from analytic.machinery.phase_type import PhaseLaw, moment, phases_after
from analytic.rules.bound import Bound
from analytic.rules.searching import Family, all_costs, thresholds_of
from analytic.rules.subject_to import best_within
from analytic.rules.thresholds import best_thresholds
from crawlsim.logs.fit.order_two import Process, correlation_bound, gap_correlations, gap_moments
from papers import crawler_log
from papers import threshold_tables as tables
from papers.computed import Experiment, Figure, Line, Number, agreed, table_lines
from papers.queue_by_events import (
    FATES,
    Event,
    Followed,
    Found,
    Page,
    Queue,
    State,
    followed_in_order,
    measures_of,
    tagged_entries,
)
from papers.rows import rows_of
from scenarios import Scenario, load, scenario_from
from scenarios.arrays import Array
from scenarios.deliveries import Independent, Thinned, batch_matrices

PAPER = "avrachenkov2011"
EXAMPLE = "marked-robots"

S = 0.5
"""Where the transforms of the example are taken, per unit time."""

SYSTEMS = 60
"""Random systems in which the theorems are tried."""


# -- the formulas at the example ------------------------------------------------------------------


@cache
def example() -> Scenario:
    """The system at which the formulas are shown."""
    return load(EXAMPLE)


@cache
def by_events() -> Queue:
    """The same system from the words of the model."""
    return Queue(example())


@cache
def followed(queue: Queue) -> Followed:
    """Its pages, each followed to its end."""
    return followed_in_order(queue.scenario, *tagged_entries(queue))


@cache
def told(queue: Queue) -> Found:
    """What its events say, but for the times of pages."""
    return measures_of(queue)


@cache
def times(queue: Queue) -> Found:
    """How long its pages are in the system."""
    return followed(queue).sojourns()


@cache
def solved_measures() -> Found:
    """What the formulas say of it."""
    return {row[:2]: row[2] for row in solved(example()).rows}


def measure(name: str, subject: int | str | None = None) -> float:
    """A measure of the example by the formulas, and by the events."""
    return agreed(solved_measures()[name, subject], told(by_events())[name, subject])


def modes(scenario: Scenario) -> Array:
    """D0, D1, … while 0, 1, … robots are active."""
    fleet = fleet_of(scenario)
    return delivery_modes(fleet, range(fleet.available + 1))


def rate_of_two_robots() -> float:
    """(1): pages per unit time while two robots are active, ``lambda = theta sum k D_k 1``."""
    batches = modes(example())[2]
    return agreed(mean_rate(batches), rate_by_jumps(batches))


def rate_by_jumps(batches: Array) -> float:
    """Pages per jump over time per jump, with the probabilities p_k of which D_k are made."""
    stays = -batches[0].diagonal()
    jumps = batches / stays[:, None]
    jumps[0] -= np.diag(np.diag(jumps[0]))
    visits = left_null(jumps.sum(axis=0) - np.eye(len(stays)))
    pages = np.tensordot(np.arange(len(batches)), jumps, axes=1).sum(axis=1)
    return float(visits @ pages / (visits @ (1.0 / stays)))


def two_independent() -> float:
    """First interpretation: the rates of two robots, and of each alone."""
    system = load("bursty-robots")
    assert system.robots is not None
    assert isinstance(system.robots.deliveries, Independent)
    alone = [mean_rate(batch_matrices(process)) for process in system.robots.deliveries.root]
    return agreed(mean_rate(modes(system)[2]), sum(alone))


def two_thinned() -> float:
    """Second interpretation: the rate of two robots, and the share that they keep."""
    system = load("batches")
    assert system.robots is not None
    assert isinstance(system.robots.deliveries, Thinned)
    thinned = system.robots.deliveries.root
    kept = thinned.keep[1] * mean_rate(batch_matrices(thinned.process))
    return agreed(mean_rate(modes(system)[2]), kept)


def two_marked() -> float:
    """Third interpretation: the rate of two robots, and the marks of each."""
    system: Any = example().robots
    marked = system.deliveries.root
    robots = [np.array(batches) for batches in marked.robots]
    phases = left_null(np.array(marked.D0) + sum(batches.sum(axis=0) for batches in robots))
    marks = [
        pages * float(phases @ batch.sum(axis=1))
        for batches in robots[:2]
        for pages, batch in enumerate(batches, start=1)
    ]
    return agreed(mean_rate(modes(example())[2]), sum(marks))


def two_free() -> float:
    """Fourth interpretation: the rate of two robots."""
    batches = modes(load(tables.BASE))[2]
    return agreed(mean_rate(batches), rate_by_jumps(batches))


def batches_of_two() -> tuple[Process, Array, float]:
    """The batches of two robots whatever their size, phases at any time, and their rate."""
    silent, *delivered = modes(example())[2]
    process = Process(silent, np.sum(delivered, axis=0))
    phases = left_null(process.D0 + process.D1)
    return process, phases, float(phases @ process.D1.sum(axis=1))


def variance_of_gaps() -> float:
    """``2 theta (-D0)^-1 1 / lambda_b - 1 / lambda_b^2``, and from the phases after batches."""
    process, phases, rate = batches_of_two()
    times = np.linalg.inv(-process.D0)
    value = 2.0 * float(phases @ times.sum(axis=1)) / rate - 1.0 / rate**2
    mean, variation, *_ = gap_moments(process)
    return agreed(variation * mean**2, value)


def correlation_of_gaps() -> float:
    """``(theta (-D0)^-1 (D(1) - D0) (-D0)^-1 1 / lambda_b - 1 / lambda_b^2) / variance``."""
    process, phases, rate = batches_of_two()
    times = np.linalg.inv(-process.D0)
    both = float(phases @ times @ process.D1 @ times.sum(axis=1)) / rate
    value = (both - 1.0 / rate**2) / variance_of_gaps()
    return agreed(float(gap_correlations(process, 1)[0]), value)


def left_null(matrix: Array) -> Array:
    """The vector x with x A = 0 that sums to one."""
    equations = np.vstack([matrix.T, np.ones(len(matrix))])
    one = np.append(np.zeros(len(matrix)), 1.0)
    result: Array = np.linalg.lstsq(equations, one, rcond=None)[0]
    return result


def cost() -> float:
    """(2)."""
    prices, events = example().prices, told(by_events())
    by_words = (
        prices.loss * events["loss_rate", None]
        + prices.obsolescence
        * events["obsolescence_probability", None]
        * events["arrival_rate", None]
        + prices.starvation * events["starvation_probability", None]
        + prices.robots * events["mean_active_robots", None]
        + prices.response * times(by_events())["sojourn_time", "served"]
    )
    return agreed(solved_measures()["control_cost", None], by_words)


def three_in_system() -> float:
    """(3): the limit of the probability of three pages, from an empty and from a full system."""
    queue = by_events()
    after = phases_after(queue.generator, 2000.0)
    three = np.array([len(state.pages) == 3 for state in queue.states])
    limits = after[[0, -1]] @ three
    stationary = solution_of(example()).stationary
    value = float(level_probabilities(chain_of(example()), stationary)[3])
    return agreed(agreed(value, float(limits[0])), float(limits[1]))


def different_rates() -> float:
    """Lemma: rates between states that differ from those of the events."""
    chain = dense_generator(chain_of(example()))
    words = by_events().generator
    np.fill_diagonal(chain, 0.0)
    np.fill_diagonal(words, 0.0)
    return float((np.abs(chain - words) > 1e-12).sum())


def by_blocks(chain: QueueChain) -> Array:
    """Fraction of time at each level, by the recursions over blocks of section 3.

    With G_l from level l + 1 down to l, what happens above a level is left out: Q_il + Q_i,l+1 G_l
    is the block from i to l, from the top down. Levels then follow from level 0 upwards.
    """
    rates = dense_generator(chain)
    np.fill_diagonal(rates, 0.0)
    rates -= np.diag(rates.sum(axis=1))
    edges = chain.starts.tolist()
    levels = [slice(start, end) for start, end in pairwise(edges)]
    blocks = {
        (i, n): rates[levels[i], levels[n]]
        for i in range(chain.top + 1)
        for n in range(i, chain.top + 1)
    }
    for i in range(chain.top, -1, -1):
        for n in range(chain.top - 1, i - 1, -1):
            down = np.linalg.solve(-blocks[n + 1, n + 1], rates[levels[n + 1], levels[n]])
            blocks[i, n] = blocks[i, n] + blocks[i, n + 1] @ down
    here = [left_null(blocks[0, 0])]
    for n in range(1, chain.top + 1):
        coming = sum(here[i] @ blocks[i, n] for i in range(n))
        here.append(np.linalg.solve(-blocks[n, n].T, coming))
    weights = np.array([vector.sum() for vector in here])
    result: Array = weights / weights.sum()
    return result


def full_by_blocks() -> float:
    """Section 3, steps 1 to 5: the fraction of time with a full system."""
    return agreed(measure("level_probability", 6), float(by_blocks(chain_of(example()))[6]))


def full_one_by_one() -> float:
    """Section 6, steps 1 to 4: the same where pages come one by one."""
    system = load("bursty-robots")
    value = predicted(system)["level_probability", 5]
    return agreed(value, float(by_blocks(chain_of(system))[5]))


def loss_one_by_one() -> float:
    """Section 6: the share of the deliveries that meet a full system."""
    system = load("bursty-robots")
    chain = chain_of(system)
    here = marginals_of(chain, solution_of(system).stationary).phases.sum(axis=2)
    delivered = (chain.batch_rates[:, 1, :, 0] * here).sum(axis=1)
    value = predicted(system)["loss_probability", None]
    return agreed(value, float(delivered[-1] / delivered.sum()))


def full_with_one_phase() -> float:
    """Section 3 with one phase everywhere: the fraction of time with a full system."""
    system = load("four-robots-one-threshold")
    chain = chain_of(system)
    robots: Any = system.robots
    buffer: Any = system.buffer
    at = robots_at(system)
    births = np.array([at(n) for n in range(chain.top + 1)]) / robots.access_time.mean
    service, timer = 1.0 / buffer.service.mean, 1.0 / buffer.obsolescence.mean
    levels = birth_death_levels(births, service, timer, chain.top)
    return agreed(float(levels[-1]), float(by_blocks(chain)[-1]))


def two_active() -> float:
    """(7): the fraction of time with two active robots."""
    at = robots_at(example())
    stationary = solution_of(example()).stationary
    levels = level_probabilities(chain_of(example()), stationary)
    value = sum(float(p) for level, p in enumerate(levels) if at(level) == 2)
    queue = by_events()
    return agreed(value, sum(p for state, p in queue.solution if queue.active(state) == 2))


def batch_rates() -> Array:
    """Batches per unit time by the level that they meet and their size: the terms of (9)."""
    chain = chain_of(example())
    phases = marginals_of(chain, solution_of(example()).stationary).phases.sum(axis=2)
    rates: Array = np.einsum("ikw,iw->ik", chain.batch_rates[..., 0], phases)
    rates[:, 0] = 0.0
    return rates


def batches_by_events() -> Array:
    """The same, counted."""
    counted = np.zeros_like(batch_rates())
    for often, before, event in by_events().happening:
        if event.delivered:
            counted[len(before.pages), event.delivered] += often
    return counted


def loss_by_total_probability() -> float:
    """(10): one less the sum of P(i pages | batch of k) P(in a batch of k) P(accepted | i, k)."""
    chain = chain_of(example())
    rates = batch_rates()
    sizes = np.arange(rates.shape[1])
    meets = rates[:, 1:] / rates[:, 1:].sum(axis=0)
    belongs = (sizes * rates.sum(axis=0) / (rates * sizes).sum())[1:]
    accepted = chain.accepted[:, 1:] / sizes[1:]
    value = 1.0 - float((meets * belongs * accepted).sum())
    return agreed(value, told(by_events())["loss_probability", None])


def meets_two() -> float:
    """(11): the probability that a batch of three pages meets two pages in the system."""
    rates, counted = batch_rates(), batches_by_events()
    return agreed(float(rates[2, 3] / rates[:, 3].sum()), counted[2, 3] / counted[:, 3].sum())


def in_pairs() -> float:
    """(12): the probability that a page belongs to a batch of two."""
    sizes = np.arange(batch_rates().shape[1])
    pages, counted = batch_rates().sum(axis=0) * sizes, batches_by_events().sum(axis=0) * sizes
    return agreed(float(pages[2] / pages.sum()), float(counted[2] / counted.sum()))


def accepted_of_three() -> float:
    """(13): the probability that a page enters in a batch of three that meets four pages."""
    queue = by_events()
    entered = [
        len(event.after.pages) - len(before.pages)
        for _, before, event in queue.happening
        if (len(before.pages), event.delivered) == (4, 3)
    ]
    value = accepted_pages(4, 3, queue.places, "partial") / 3
    return agreed(agreed(value, min(entered) / 3), max(entered) / 3)


def transform(fate: str) -> float:
    """(16) to (18): ``E exp(-s V)`` of all pages, of those served, of those obsolete."""
    value = sojourn_transform(chain_of(example()), solution_of(example()).stationary, S)[fate]
    return agreed(float(value), followed(by_events()).transform(S)[fate])


def transform_in_batch() -> float:
    """(19): ``E exp(-s V)`` of a page served that comes in a batch of three and meets two pages."""
    chain = chain_of(example())
    only = np.zeros_like(chain.batch_rates)
    only[2, 3] = chain.batch_rates[2, 3]
    starts = entries(replace(chain, batch_rates=only), solution_of(example()).stationary)
    value = ends_of(chain, starts, 1, S)[0].served / ends_of(chain, starts, 1)[0].served

    def threes(before: State, event: Event) -> bool:
        return (len(before.pages), event.delivered) == (2, 3)

    those = followed_in_order(example(), *tagged_entries(by_events(), threes))
    return agreed(value, those.transform(S)["served"])


def transform_behind_two(fate: str) -> float:
    """(20), (21): ``E exp(-s V)`` on the event of an end, behind a service and two waiting pages.

    All of them have just begun: the service, both timers ahead and the page's own.
    """
    chain = chain_of(example())
    starts: list[Array] = [np.zeros(states) for states in chain.inner[1:]]
    timer = chain.patience.start
    starts[3] = np.kron(chain.service.start, np.kron(timer, np.kron(timer, timer)))
    value = getattr(ends_of(chain, starts, 1, S)[0], fate)
    queue = by_events()
    begun = {
        State(Page(m), (Page(first), Page(second), Page(own, tagged=True)), (0,)): p * a * b * c
        for p, m in queue.service.draws()
        for a, first in queue.clock.draws()
        for b, second in queue.clock.draws()
        for c, own in queue.clock.draws()
    }
    page = followed_in_order(example(), begun)
    return agreed(value, page.transform(S)[fate] * float(page.pages()[FATES.index(fate)]))


def second_moment() -> float:
    """Theorem 4: the second moment of the time until a page is served."""
    rows = sojourn_moments(chain_of(example()), solution_of(example()).stationary)
    values = {row[:2]: row[2] for row in rows}
    key = ("sojourn_time_second_moment", "served")
    return agreed(float(values[key]), times(by_events())[key])


def slowest_tenth() -> float:
    """Theorem 4, inverted: the time by which nine tenths of the pages served are; NaN if not so."""
    stationary = solution_of(example()).stationary
    time = float(sojourn_quantiles(chain_of(example()), stationary, [0.9])["served"][0])
    page = followed(by_events())
    by_then = page.ended_by(phases_after(page.generator, time))["served"]
    return time if math.isclose(by_then, 0.9, abs_tol=1e-8) else math.nan


# -- the theorems in random systems ---------------------------------------------------------------


def random_system(rng: np.random.Generator) -> Scenario:
    """Up to three robots, batches of up to three pages, two phases of everything."""
    robots = int(rng.integers(1, 4))
    marked = [rng.random((int(rng.integers(1, 4)), 2, 2)) for _ in range(robots)]
    hidden = rng.random((2, 2))
    hidden -= np.diag(hidden.sum(axis=1) + sum(each.sum(axis=(0, 2)) for each in marked))
    numbers = sorted(rng.choice(np.arange(1, robots + 1), rng.integers(1, robots + 1), False))
    places = int(rng.integers(1, 4))
    levels = sorted(rng.integers(0, places + 2, len(numbers) - 1).tolist())
    steps = rng.random((2, 2))
    steps -= np.diag(steps.sum(axis=1) + rng.random(2))
    first = rng.random(2)
    return scenario_from(
        {
            "name": "random",
            "robots": {
                "available": robots,
                "deliveries": {
                    "marked": {"D0": hidden.tolist(), "robots": [m.tolist() for m in marked]}
                },
            },
            "activation": {"threshold": {"robots": [int(n) for n in numbers[::-1]], "at": levels}},
            "buffer": {
                "waiting_places": places,
                "service": {
                    "phase-type": {"alpha": [first[0], 1.0 - first[0]], "T": steps.tolist()}
                },
                "obsolescence": {
                    "hyperexponential": {
                        "probabilities": [first[1], 1.0 - first[1]],
                        "rates": (0.05 + rng.random(2)).tolist(),
                    }
                },
            },
        }
    )


@cache
def random_systems() -> list[tuple[Scenario, Queue]]:
    """Some systems, and each from the words of the model."""
    rng = np.random.default_rng(26)
    systems = [random_system(rng) for _ in range(SYSTEMS)]
    return [(system, Queue(system)) for system in systems]


Key = tuple[str, int | str | None]


def violated(*keys: Key) -> float:
    """Random systems in which a measure is not what the events say."""
    wrong = 0
    for system, queue in random_systems():
        found = predicted(system)
        wrong += any(
            math.isnan(agreed(found[key], (times if "sojourn" in key[0] else told)(queue)[key]))
            for key in keys
        )
    return float(wrong)


def predicted(system: Scenario) -> Found:
    """What the formulas say."""
    return {(each.measure, each.subject): each.value for each in predict(system)[0]}


def transforms_violated() -> float:
    """Theorem 4: random systems in which a transform is not what the events say."""
    wrong = 0
    for system, queue in random_systems():
        found = sojourn_transform(chain_of(system), solution_of(system).stationary, S)
        events = followed(queue).transform(S)
        wrong += any(math.isnan(agreed(float(found[c]), events[c])) for c in ("served", "obsolete"))
    return float(wrong)


# -- what follows from printed cells --------------------------------------------------------------


def printed(item: str) -> float:
    """What the paper prints in a cell."""
    text = rows_of(PAPER)[item].printed
    assert text is not None
    return float(text)


def saving(best: float, single: float) -> float:
    """``g = 100 (min J_r - J*) / min J_r``, in per cent."""
    return 100.0 * (single - best) / single


def fixed_costs(row: str) -> list[float]:
    """J_1 to J_4 of a row, "Table 2, (5)" say."""
    return [printed(f"{row}, J_{robots}") for robots in (1, 2, 3, 4)]


def least_fixed(row: str) -> float:
    """The least cost of a fixed number of robots."""
    return min(fixed_costs(row))


def gain(row: str) -> float:
    """The saving, from the costs that are printed beside it."""
    return saving(printed(f"{row}, J*"), least_fixed(row))


def gain_where_costs_are_rounded(row: str) -> float:
    """What the rounding of the costs to one digit leaves possible, nearest to what is printed."""
    best, single = printed(f"{row}, J*"), least_fixed(row)
    low, high = (saving(best + half, single - half) for half in (0.05, -0.05))
    return min(max(printed(f"{row}, gain"), low), high)


def corrected_gain() -> float:
    """The saving at the factor 0.01 of Table 4, with J* corrected."""
    row = "Table 4, (0.01)"
    return saving(best_where_gain_fits(row), least_fixed(row))


def best_of_the_last_row() -> float:
    """The saving at the factor 15 of Table 3, where nothing is controlled."""
    single = least_fixed("Table 3, (15)")
    return saving(min(single, printed("Table 3, (15), J*")), single)


def best_where_gain_fits(row: str) -> float:
    """J* with one digit changed, so that the printed saving comes out; cut or rounded."""
    text = rows_of(PAPER)[f"{row}, J*"].printed or ""
    goal = printed(f"{row}, gain")
    single = least_fixed(row)
    fits = [
        float(text[:place] + digit + text[place + 1 :])
        for place, letter in enumerate(text)
        if letter != "."
        for digit in "0123456789"
    ]
    (found,) = {each for each in fits if -0.005 <= saving(each, single) - goal < 0.01}
    return found


def smoothest_cost() -> float:
    """J_1 of eight places with one digit changed, so that each place saves less than the last.

    Of these the one with the least third differences.
    """
    places = range(1, 11)
    text = rows_of(PAPER)["Table 2, (8), J_1"].printed or ""
    candidates = [
        float(text[:place] + digit + text[place + 1 :])
        for place, letter in enumerate(text)
        if letter != "."
        for digit in "0123456789"
    ]

    def column(cost: float) -> Array:
        return np.array([cost if n == 8 else printed(f"Table 2, ({n}), J_1") for n in places])

    convex = [each for each in candidates if (np.diff(column(each), 2) > 0).all()]
    return min(convex, key=lambda each: float((np.diff(column(each), 3) ** 2).sum()))


def same_policy(item: str) -> float:
    """The one cost that Table 1 prints in other rows for the policy of a row."""
    costs = {
        printed(f"{name}, J")
        for name in thresholds_printed("Table 1")
        if name != item and robots_by_level(name) == robots_by_level(item)
    }
    (cost,) = costs
    return cost


def thresholds_printed(table: str) -> dict[str, list[int]]:
    """The rows of a table with their thresholds."""
    return {
        row.item.removesuffix(", thresholds"): [int(each) for each in row.printed.split(",")]
        for row in rows_of(PAPER).values()
        if row.item.startswith(f"{table}, ") and row.item.endswith(", thresholds") and row.printed
    }


def robots_by_level(name: str) -> list[int]:
    """The robots at levels 0 to 6 under the policy of a row of Table 1."""
    numbers = [int(each) for each in name[name.index("(") + 1 : name.index(")")].split(",")]
    rule = {"robots": numbers, "at": thresholds_printed("Table 1")[name]}
    at = robots_at(load("optimal-thresholds").with_("activation", {"threshold": rule}))
    return [at(level) for level in range(7)]


def most_for_three() -> float:
    """The highest level with three robots under modes 4, 3, 2, 1 at the printed thresholds."""
    robots = robots_by_level("Table 1, (4, 3, 2, 1)")
    return float(max(level for level, number in enumerate(robots) if number == 3))


def coinciding() -> float:
    """Optimal lists of two thresholds or more that are printed with equal ones."""
    found = [*thresholds_printed("Table 1").values(), *thresholds_printed("last table").values()]
    return float(sum(any(a == b for a, b in pairwise(each)) for each in found))


def scaled_mean(mean: float, factor: float) -> float:
    """The mean of an exponential time whose matrix is multiplied by a factor."""
    return moment(PhaseLaw(np.ones(1), np.array([[-factor / mean]])), 1)


def variance_of(mean: float, rate: float) -> float:
    """Variance of the paper's family of laws, by its phases and by its formula."""
    law, stated = tables.variable(mean, rate)
    phases, _ = service_and_patience(load("one-robot").with_("buffer.service", law))
    return agreed(moment(phases, 2) - moment(phases, 1) ** 2, stated)


def variation_of_sizes() -> float:
    """Squared coefficient of variation of the service times, and of the printed moments."""
    law = PhaseLaw(*crawler_log.service().phases())
    mean, square, _ = crawler_log.SIZES
    return agreed(moment(law, 2) / moment(law, 1) ** 2 - 1.0, square / mean**2 - 1.0)


def largest_correlation() -> float:
    """Of successive gaps with the printed mean and variance, in any MAP of order two."""
    return correlation_bound(crawler_log.VARIANCE_OF_GAPS / crawler_log.MEAN_GAP**2)


def states() -> float:
    """Two phases each of deliveries, service and timers, eight waiting places; and counted."""
    base = example().with_("buffer.waiting_places", 8)
    return agreed(float(count_states(2, 2, 2, 9)), float(len(Queue(base).states)))


# -- open problems --------------------------------------------------------------------------------

ANY = Family(
    follows=lambda count: np.ones((count, count), dtype=bool),
    members=lambda count, levels: count**levels,
    policies=lambda numbers, levels: np.array([*product(numbers, repeat=levels)])[:, ::-1],
)
"""Any number of robots at every level."""


def cheaper_rules() -> float:
    """Rules that give each level any number of robots, and cost less than the best thresholds."""
    base = load(tables.BASE)
    search = best_thresholds(base)
    costs = all_costs(base, search.numbers, ANY)
    least = search.optimum.cost
    if not math.isclose(float(costs.min()), least, rel_tol=1e-9):  # the thresholds are among them
        return float((costs < least).sum())
    return float((costs < least * (1.0 - 1e-9)).sum())


def least_cost_within() -> float:
    """Least cost of the thresholds that lose at most 0.002 of the pages; and of all, one by one."""
    base = load(tables.BASE)
    found = best_within(base, "threshold", Bound("loss_probability", above=False, value=0.002))
    search = best_thresholds(base)
    kept = []
    for rule in range(len(search.costs)):
        robots, at = thresholds_of(search.robots_by_level(rule))
        ruled = {"threshold": {"robots": list(robots), "at": list(at)}}
        measures = predicted(base.with_("activation", ruled))
        if measures["loss_probability", None] <= 0.002:
            kept.append(measures["control_cost", None])
    return agreed(float(found.cost or math.nan), min(kept))


# -- all of them ----------------------------------------------------------------------------------


def _gains() -> Iterator[tuple[str, Number]]:
    """The savings of Tables 2 to 4."""
    for places in tables.BUFFERS:
        row = f"Table 2, ({places})"
        fits = gain if places == 1 else gain_where_costs_are_rounded
        yield f"{row}, gain", partial(fits, row)
    for factor in tables.SERVICE_FACTORS:
        row = f"Table 3, ({factor:g})"
        best = best_of_the_last_row if factor == 15 else partial(gain, row)
        yield f"{row}, gain", best
    for factor in tables.PATIENCE_FACTORS:
        row = f"Table 4, ({factor:g})"
        yield f"{row}, gain", corrected_gain if factor == 0.01 else partial(gain, row)


NUMBERS: Mapping[str, Number] = {
    "(1)": rate_of_two_robots,
    "(2)": cost,
    "(3)": three_in_system,
    "(4)": partial(measure, "mean_in_system"),
    "(5)": partial(measure, "starvation_probability"),
    "(6)": partial(measure, "mean_active_robots"),
    "(7)": two_active,
    "(8)": partial(measure, "loss_probability"),
    "(9)": partial(measure, "arrival_rate"),
    "(10)": loss_by_total_probability,
    "(11)": meets_two,
    "(12)": in_pairs,
    "(13)": accepted_of_three,
    "(14)": partial(measure, "obsolescence_probability"),
    "(15)": partial(measure, "success_probability"),
    "(16)": partial(transform, "all"),
    "(17)": partial(transform, "served"),
    "(18)": partial(transform, "obsolete"),
    "(19)": transform_in_batch,
    "(20)": partial(transform_behind_two, "served"),
    "(21)": partial(transform_behind_two, "obsolete"),
    "Lemma": different_rates,
    "Theorem 1": partial(violated, ("starvation_probability", None), ("mean_active_robots", None)),
    "Theorem 2": partial(violated, ("arrival_rate", None), ("loss_probability", None)),
    "Theorem 3": partial(
        violated, ("obsolescence_probability", None), ("success_probability", None)
    ),
    "Theorem 4": transforms_violated,
    "Corollary 1": partial(
        violated, *(("sojourn_time", pages) for pages in ("served", "obsolete", "all"))
    ),
    "Table 1, (4, 3, 1), J": partial(same_policy, "Table 1, (4, 3, 1)"),
    "Table 2, (8), J_1": smoothest_cost,
    "Table 3, (15), J*": partial(least_fixed, "Table 3, (15)"),
    "Table 4, (0.01), J*": partial(best_where_gain_fits, "Table 4, (0.01)"),
    **dict(_gains()),
    **{
        f"Table 3, ({factor:g}), b1": partial(scaled_mean, tables.MEAN_SERVICE, factor)
        for factor in tables.SERVICE_FACTORS
    },
    **{
        f"Table 4, ({factor:g}), mean": partial(scaled_mean, tables.MEAN_PATIENCE, factor)
        for factor in tables.PATIENCE_FACTORS
    },
    "throughout, level and queue length": most_for_three,
    "section 7, more than 28 %": lambda: saving(
        printed("Table 1, (3, 1), J"), min(printed(f"Table 1, ({n}), J") for n in range(1, 5))
    ),
    "section 7, exceeds 9 %": lambda: saving(
        printed("last table, (1, 4), J"), min(printed(f"last table, ({n}), J") for n in range(1, 5))
    ),
    "section 7, squared coefficient of variation 86.03": variation_of_sizes,
    "section 7, lag correlations 0.622 to 0.507": largest_correlation,
    "section 7, b1 below 0.04 at factor 15": partial(scaled_mean, tables.MEAN_SERVICE, 15.0),
    "section 3, dimension 2046": states,
    "section 7, thresholds cannot coincide": coinciding,
    "section 7, variance of service from 0.431 to 5.798": partial(variance_of, 0.65714, 9.0),
    "section 7, variance of service 0.431 at the exponential law": partial(
        variance_of, 0.65714, 1.521
    ),
    "section 7, variance of obsolescence from 25 to 449": partial(variance_of, 5.0, 7.0),
    "section 7, first rate of service above 1.369": lambda: 0.9 / 0.65714,
    "section 2, first interpretation": two_independent,
    "section 2, second interpretation": two_thinned,
    "section 2, third interpretation": two_marked,
    "section 2, fourth interpretation": two_free,
    "section 2, variance of intervals between groups": variance_of_gaps,
    "section 2, correlation of successive intervals": correlation_of_gaps,
    "section 3, steps 1 to 5": full_by_blocks,
    "section 3, one phase": full_with_one_phase,
    "Theorem 4, second moment": second_moment,
    "Theorem 4, inverted": slowest_tenth,
    "section 6, steps 1 to 4": full_one_by_one,
    "section 6, loss probability": loss_one_by_one,
    "section 8, wider classes of policies": cheaper_rules,
    "section 2, constrained and multi-criteria formulation": least_cost_within,
}


def _with_five_digits(rows: Callable[[], Sequence[Line]]) -> Experiment:
    return lambda: table_lines(rows(), 5)


EXPERIMENTS: Mapping[str, Experiment] = {
    "Table 1": _with_five_digits(lambda: tables.table_1(load(tables.BASE))),
    "Table 2": _with_five_digits(lambda: tables.table_2(load(tables.BASE))),
    "Table 3": _with_five_digits(lambda: tables.table_3(load(tables.BASE))),
    "Table 4": _with_five_digits(lambda: tables.table_4(load(tables.BASE))),
    "last table": _with_five_digits(crawler_log.last_table),
    "section 7": crawler_log.application,
    "Figure 1": _with_five_digits(
        lambda: tables.pairs_against_threshold(best_thresholds(load(tables.BASE)))
    ),
    "Figure 2": _with_five_digits(
        lambda: tables.against_threshold(tables.by_variance_of_service(), (3, 1))
    ),
    "Figure 3": _with_five_digits(
        lambda: tables.against_threshold(tables.by_variance_of_service(), None)
    ),
    "Figure 4": _with_five_digits(
        lambda: tables.against_threshold(tables.by_variance_of_patience(), None)
    ),
}

FIGURES: Mapping[str, Figure] = {
    "Figure 1": tables.figure_1,
    "Figure 2": tables.figure_2,
    "Figure 3": tables.figure_3,
    "Figure 4": tables.figure_4,
    "section 7": crawler_log.figure,
}
