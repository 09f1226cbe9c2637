"""How often the chosen cell of a sweep is as good as promised, and at what price.

    python -m experiments.choosing               Markdown tables of both methods, made-up values
    python -m experiments.choosing queue         the same of a simulated queue
    python -m experiments.choosing search        the same of `crawlsim optimize --kind simulated`

Values are normal with standard deviation 3, the indifference is 1, all promises are of 95 %. The
tables state their runs, seeds are fixed; docs/theory/choosing.md has the last ones.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from analytic import predict
from analytic.rules.thresholds import best_thresholds
from crawlsim.searching import SearchRequest, next_best
from scenarios import Scenario, scenario_from
from sim import compiled_engine
from sim.estimates import results_from
from sim.estimates.choosing import Choice, Indifference, Race, choose, next_look
from sim.estimates.paired import Estimated, best_of
from sim.estimates.totals import Array

DEVIATION = 3.0
RULE = Indifference(size=1.0, confidence=0.95, most=20_000)
PIECE = 500
"""Values that are drawn at a time; a system that goes on gets more."""


class Configuration(NamedTuple):
    """The true means of some systems."""

    name: str
    means: tuple[float, ...]


def configurations(counts: Sequence[int] = (2, 5, 10)) -> Iterator[Configuration]:
    """Slippage, near ties, equal systems, and steps, for some numbers of systems."""
    for count in counts:
        yield Configuration(f"{count}, all others worse by 1", (0.0, *[1.0] * (count - 1)))
        near = tuple(0.9 * n / (count - 1) for n in range(count))
        yield Configuration(f"{count}, within 0.9", near)
        steps = tuple(0.7 * n for n in range(count))
        yield Configuration(f"{count}, steps of 0.7", steps)
        yield Configuration(f"{count}, equal", (0.0,) * count)


class Values:
    """Made-up normal values of some systems, correlated replication by replication.

    Parameters
    ----------
    means : sequence of float
    correlation : float
        Between the values of any two systems in the same replication.
    generator : numpy.random.Generator
    """

    def __init__(
        self, means: Sequence[float], correlation: float, generator: np.random.Generator
    ) -> None:
        self.means = np.array(means)[:, None]
        self.correlation = correlation
        self.generator = generator
        self.drawn: Array = np.empty((len(means), 0))

    def __call__(self, systems: Sequence[int], start: int, stop: int) -> list[Array]:
        """The values of some systems in the replications from `start` to before `stop`."""
        while self.drawn.shape[1] < stop:
            own = self.generator.normal(size=(len(self.means), PIECE))
            common = self.generator.normal(size=PIECE)
            mixed = math.sqrt(1 - self.correlation) * own + math.sqrt(self.correlation) * common
            self.drawn = np.hstack([self.drawn, self.means + DEVIATION * mixed])
        return [self.drawn[system, start:stop] for system in systems]


class Measured(NamedTuple):
    """What came out of many choices.

    Attributes
    ----------
    good : float
        Share in which no system is better than the chosen one by more than the indifference; one
        that is better by just as much counts as more.
    bounded : float
        Share in which the best system is better than the chosen one by no more than its margin.
    replications : float
        In all, on average.
    """

    good: float
    bounded: float
    replications: float


def measured(
    means: Sequence[float],
    correlation: float,
    first: int,
    runs: int,
    look: Callable[[int], int] = next_look,
    seed: int = 20,
) -> Measured:
    """Choices among systems with made-up values.

    Parameters
    ----------
    means : sequence of float
        Least is best.
    correlation : float
    first : int
        Replications of the first stage.
    runs : int
    look : callable
        As `sim.estimates.choosing.choose`.
    seed : int
    """
    generator = np.random.default_rng(seed)
    choices = []
    for _ in range(runs):
        values = Values(means, correlation, generator)
        choices.append(choose(values(range(len(means)), 0, first), values, RULE, look=look))
    return summary(choices, means, RULE.size)


def summary(choices: Sequence[Choice], truth: Sequence[float], size: float) -> Measured:
    """How often some choices were as good as promised."""
    best = int(np.argmin(truth))
    lost = [truth[choice.index] - truth[best] for choice in choices]
    good = [each < size * (1 - 1e-9) for each in lost]
    bounded = [
        choice.index == best or each <= choice.margins[best]
        for choice, each in zip(choices, lost, strict=True)
    ]
    total = float(np.mean([sum(choice.counts) for choice in choices]))
    return Measured(float(np.mean(good)), float(np.mean(bounded)), total)


def crossing(first: int, runs: int, seed: int = 20) -> float:
    """How often the boundary between two equal systems is ever wrong, about.

    The promise is that the better one of two systems is never shown to be worse than it is, in 95 %
    of all runs of any length; here they have 30 times the replications of the first stage.
    """
    generator = np.random.default_rng(seed)
    rule = Indifference(size=1.0, confidence=0.95, most=10**9)
    wrong = 0
    for _ in range(runs):
        values = 0.25 * DEVIATION * math.sqrt(first) * generator.normal(size=(2, 30 * first))
        wrong += is_crossed(values, first, rule)
    return wrong / runs


def is_crossed(values: Array, first: int, rule: Indifference) -> bool:
    """Whether the margin of the second of two equal systems is below 0 at some look."""
    race = Race(values[:, :first], rule, np.zeros(2))
    step = first // 10
    for stop in range(first + step, values.shape[1] + 1, step):
        race.add(stop, dict(enumerate(values[:, stop - step : stop])))
    return bool(race.margins(0)[1] < 0)


class Screened(NamedTuple):
    """Shares of comparisons: the best is among those named; a wrong one is named alone."""

    holds_best: float
    wrong_alone: float


def screened(means: Sequence[float], correlation: float, count: int, runs: int) -> Screened:
    """What is said of the best system without an indifference."""
    generator = np.random.default_rng(20)
    best_system = int(np.argmin(means))
    held = wrong = 0
    for _ in range(runs):
        drawn = Values(means, correlation, generator)(range(len(means)), 0, count)
        best = best_of([estimated(each) for each in drawn])
        assert best is not None
        held += best_system in (best.index, *best.rivals)
        wrong += best.index != best_system and not best.rivals
    return Screened(held / runs, wrong / runs)


def estimated(values: Array) -> Estimated:
    """The mean of some values, one a replication."""
    count = len(values)
    return Estimated(float(values.mean()), (values.sum() - values) / (count - 1))


def table(runs: int = 1000) -> Iterator[str]:
    """Rows of a Markdown table: both methods on made-up values."""
    yield "| cells | first | correlation | good | bounded | replications | set holds best |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, means in configurations():
        for first, correlation in ((10, 0.0), (10, 0.8), (40, 0.0)):
            found = measured(means, correlation, first, runs)
            said = screened(means, correlation, first, runs)
            yield (
                f"| {name} | {first} | {correlation} | {found.good:.3f} | {found.bounded:.3f} | "
                f"{found.replications:.0f} | {said.holds_best:.3f} |"
            )


def queue(rate: float) -> Scenario:
    """A queue with five places, some losses, and a window of 500 services."""
    return scenario_from(
        {
            "name": "choosing",
            "robots": {"available": 1, "access_time": {"exponential": {"rate": rate}}},
            "buffer": {"waiting_places": 4, "service": {"exponential": {"mean": 1.0}}},
            "run": {"horizon": 550.0, "warmup": 50.0, "replications": 10, "seed": 2},
        }
    )


RATES = (0.5, 0.52, 0.54, 0.56)
MEASURE = "loss_probability"


def of_queue(size: float, first: int, runs: int) -> Measured:
    """Choices of the queue that loses least, by jackknife pseudo-values as `sweep` makes them.

    The second best loses 0.0027 more.
    """
    cells = [queue(rate) for rate in RATES]
    truth = [
        next(row.value for row in predict(cell)[0] if row.measure == MEASURE) for cell in cells
    ]
    rule = Indifference(size, 0.95, 1000)
    choices = []
    for run in range(runs):

        def more(systems: Sequence[int], start: int, stop: int, run: int = run) -> list[Array]:
            return [pseudo_values(cells[n], 1000 * run + start, stop - start) for n in systems]

        choices.append(choose(more(range(len(cells)), 0, first), more, rule))
    return summary(choices, truth, size)


def controlled_queue(window: float = 30.0) -> Scenario:
    """Robots whose best threshold is known exactly, and a window of 50 services at most."""
    return scenario_from(
        {
            "name": "searching",
            "robots": {"available": 3, "access_time": {"exponential": {"mean": 1.0}}},
            "buffer": {"waiting_places": 3, "service": {"exponential": {"mean": 0.6}}},
            "costs": {"loss": 1.0, "starvation": 1.0},
            "run": {"horizon": 10.0 + window, "warmup": 10.0, "replications": 10, "seed": 1},
        }
    )


def of_search(size: float, first: int, runs: int, window: float = 30.0) -> Measured:
    """Simulated searches of the best threshold, each with a seed of its own.

    `good` and `bounded` are by the exact costs of all rules that were compared.
    """
    scenario = controlled_queue(window)
    exact = best_thresholds(scenario)
    good = bounded = 0
    total = 0
    for seed in range(1, runs + 1):
        asked = SearchRequest(kind="simulated", indifference=size, first=first)
        found = next_best(scenario.with_("run.seed", seed), "threshold", asked)
        rows = {exact.cost_of(row["robots"], row["at"]): row for row in found.table}
        least = min(rows)
        lost = exact.cost_of(found.decision["robots"], found.decision["at"]) - least
        good += lost <= size
        bounded += lost <= (rows[least]["better_by_at_most"] or 0.0)
        assert found.promise is not None
        total += found.promise["replications"]
    return Measured(good / runs, bounded / runs, total / runs)


def pseudo_values(scenario: Scenario, start: int, count: int) -> Array:
    """Those of the loss probability in some replications."""
    seed = scenario.run.seed
    which = range(start, start + count)
    tallies = [compiled_engine.simulate(scenario, each, seed) for each in which]
    results = results_from(tallies, scenario, "compiled", seed)
    row = results.find(MEASURE)
    without = np.array(results.leave_one_out[MEASURE, None])
    values: Array = count * row.estimate - (count - 1) * without
    return values


def main(arguments: Sequence[str]) -> None:
    """What the module's docstring says."""
    studies = {"queue": (of_queue, 0.0025), "search": (of_search, 0.045)}
    if arguments and arguments[0] not in studies:
        raise SystemExit(f"{arguments[0]!r} must be queue or search, or left out")
    if arguments:
        study, size = studies[arguments[0]]
        for first in (10, 40):
            print(first, study(size, first, 300), flush=True)
        return
    for line in table():
        print(line, flush=True)
    for first in (10, 40):
        print(f"boundary of two equal systems, first stage {first}: {crossing(first, 2000):.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
