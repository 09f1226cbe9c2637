"""The best decision where no formula gives it exactly: the next best answer, marked as such.

An exact answer is taken where there is one, else the approximation that `solve` shows of the cost,
else a simulated search: rules of one family are simulated with common random numbers, and the
procedure of `sim.estimates.choosing` drops those that cannot be the best. A family has coordinates,
such as two numbers of robots and the level between them. Where it has too many rules, a coarse grid
of them is searched first, then a finer one around what was chosen, until nothing lies between. Each
round has replications of its own and an equal part of the indifference and of the error
probability, so that the promise holds for all rules that were compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import sim
from analytic import Optimum
from analytic.index.optimum import NoOptimumError, NoRuleError
from analytic.index.targets import (
    TARGETS,
    approximate_optimum,
    planned,
    require_target,
    without_interventions,
)
from analytic.machinery.refusal import NoAnswerError
from analytic.rules.bound import COUNTED, Bound
from analytic.rules.fixed import StaticSearch
from analytic.rules.hysteresis import activation_of, counts_switches
from analytic.rules.subject_to import best_within
from crawlsim.best_design import Over, at_the_ends, designs_of, solved_design
from crawlsim.bounds import bound_on_measure, written_bound
from scenarios import Scenario, ScenarioError
from scenarios.activation import Free, Levels, Threshold
from scenarios.arrays import Array
from scenarios.base import one_of
from scenarios.model import Hysteresis, present
from scenarios.scenario import require_scenario
from scenarios.text import counted
from sim.estimates.choosing import (
    LEAST_REPLICATIONS,
    MOST_REPLICATIONS,
    Choice,
    Indifference,
    choose,
    unseen_deviation,
)
from sim.estimates.jackknife import t_quantile
from sim.estimates.paired import Estimated

KINDS = ("exact", "approximation", "simulated")
"""What an answer can rest on, the better one first."""

_MOST_RULES = 100
"""Rules of one round."""

_FINER = 3
"""How many times as fine a round's grid is as the one before."""

_SHARE = 0.01
"""The indifference unless given: this share of the least cost in a short trial."""

_TRIED = 16
"""Fixed numbers of robots that are tried for that."""

_COST = "control_cost"

_DESIGN = "design"
"""The target whose decision is a combination of entries, given by `SearchRequest.over`."""

Point = tuple[int, ...]
Rule = dict[str, Any]
"""Changes of the scenario: dotted keys and values."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """How a decision is to be found.

    Attributes
    ----------
    kind : str, optional
        The only kind of answer that will do; default: the best of `KINDS` that there is.
    subject_to : tuple of str
        Bounds that must all be kept, such as ``loss_probability <= 0.01``.
    over : mapping str -> sequence
        What may be chosen with the target "design": entries and their values.
    indifference : float, optional
        What no rule may be better by than the chosen one; default: 1 % of the least cost of a fixed
        number of robots in a trial.
    confidence : float
        With at least this probability none is.
    first : int
        Replications of every rule, before any is dropped.
    most : int
        Replications at which a rule is given up.
    engine : str, optional
        As for `sim.run`.
    executor : callable
        Gives what replications run on, or None for this process.
    progress : callable, optional
        Called with (replications that a rule has, most).
    """

    kind: str | None = None
    subject_to: tuple[str, ...] = ()
    over: Over = field(default_factory=dict)
    indifference: float | None = None
    confidence: float = 0.95
    first: int = 20
    most: int = MOST_REPLICATIONS
    engine: str | None = None
    executor: Callable[[], Executor | None] = field(default=lambda: None)
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Refuse what no search can keep."""
        if self.kind is not None and self.kind not in KINDS:
            raise ScenarioError("--kind", self.kind, f"must be {one_of(self.kind, KINDS)}")
        size = self.indifference
        if size is not None and not 0.0 < size < math.inf:
            raise ScenarioError("--indifference", size, "must be above 0, and finite")
        if not 0.5 < self.confidence < 1.0:
            raise ScenarioError("--confidence", self.confidence, "must be above 0.5 and below 1")
        if self.first < LEAST_REPLICATIONS:
            allowed = f"must be at least {LEAST_REPLICATIONS} for a simulated search"
            raise ScenarioError("--replications", self.first, allowed)
        if self.most < self.first:
            allowed = f"must be at least {self.first}, the replications of the first stage"
            raise ScenarioError("--max-replications", self.most, allowed)


def next_best(
    scenario: Scenario, target: str, asked: SearchRequest, key: str = "target"
) -> Optimum:
    """The best decision of one kind, exactly if possible, else the next best answer.

    Parameters
    ----------
    scenario : Scenario
    target : str
        A key of `analytic.index.targets.TARGETS`.
    asked : SearchRequest
    key : str
        What a refusal names.

    Returns
    -------
    Optimum
        Its `kind` says what it rests on; its first note, where that is not "exact", why there is no
        exact answer and what was done instead.

    Raises
    ------
    ScenarioError
        If there is no such target, or no answer that was asked for, with all that stands against
        each of them.
    """
    require_scenario(scenario)
    if scenario.interventions:
        return planned(next_best(without_interventions(scenario), target, asked, key), scenario)
    rough: Optimum | None = None  # frequencies that are best for a simpler system
    if target == _DESIGN:
        answers = _designs(scenario, asked)
    else:
        require_target(target, key, beside=(_DESIGN,))
        if asked.over:
            raise ScenarioError("--over", next(iter(asked.over)), f"goes with --target {_DESIGN}")
        if asked.subject_to:
            return _within(scenario, target, asked.subject_to, asked.kind)
        answers = {
            "exact": lambda: TARGETS[target](scenario),
            "approximation": lambda: _approximation(scenario, target, rough),
            "simulated": lambda: simulated_optimum(scenario, target, asked),
        }
    against: dict[str, str] = {}
    for kind, answer in answers.items():
        if asked.kind not in (kind, None):
            continue
        try:
            optimum = answer()
        except NoRuleError as reason:
            asked_for = " and ".join(asked.subject_to)
            raise ScenarioError("--subject-to", asked_for, str(reason), scenario.name) from None
        except NoAnswerError as reason:
            against[kind] = str(reason)
            continue
        if optimum.kind == kind:
            return _marked(optimum, against.get("exact"))
        against[kind] = optimum.notes[0]
        rough = optimum
    raise ScenarioError(key, target, _refusal(scenario, target, against), scenario.name)


def _designs(scenario: Scenario, asked: SearchRequest) -> dict[str, Callable[[], Optimum]]:
    """How the best combination of some entries is found, by each kind of answer."""
    grid = designs_of(scenario, asked.over)
    bounds = [bound_on_measure(each, "--subject-to") for each in asked.subject_to]

    def simulated() -> Optimum:
        if bounds:
            raise NoOptimumError("bounds are kept by exact values alone")
        return simulated_optimum(scenario, _DESIGN, asked)

    return {
        "exact": lambda: solved_design(scenario, grid, "exact", bounds),
        "approximation": lambda: solved_design(scenario, grid, "approximation", bounds),
        "simulated": simulated,
    }


def _within(scenario: Scenario, target: str, bounds: Sequence[str], kind: str | None) -> Optimum:
    """The best rule that keeps some bounds, exactly."""
    limits = [_limit_of(each) for each in bounds]
    if kind not in ("exact", None):
        raise ScenarioError("--kind", kind, "must be exact with --subject-to")
    try:
        return best_within(scenario, target, *limits)
    except NoAnswerError as reason:
        allowed = str(reason)
        if not isinstance(reason, NoRuleError):
            allowed = f"has no exact answer: {allowed}"
        raise ScenarioError("--subject-to", " and ".join(bounds), allowed, scenario.name) from None


def _limit_of(text: str) -> Bound:
    """The bound that a text states; what is below it is as good as what is at it."""
    bound = written_bound(text, "--subject-to")
    if bound.measure not in COUNTED:
        raise ScenarioError("--subject-to", text, f"must begin with {one_of(bound.name, COUNTED)}")
    subject = bound.keys[0][1]
    if bound.measure == "sojourn_time" and subject is None:
        subject = "all"
    return Bound(bound.measure, bound.relation in (">", ">="), bound.value, subject)


def _approximation(scenario: Scenario, target: str, rough: Optimum | None) -> Optimum:
    """By the approximation that `solve` shows, or what a solver gives that knows no optimum."""
    try:
        return approximate_optimum(scenario, target)
    except NoAnswerError:
        if rough is None and target == "frequencies":
            rough = TARGETS[target](scenario)
        if rough is None or rough.kind != "approximation":
            raise
    return rough


def _marked(optimum: Optimum, refused: str | None) -> Optimum:
    """With a note on what stands against an exact answer and what was done instead."""
    if refused is None or optimum.target == "frequencies":
        return optimum  # whose notes say it already
    done = {
        "approximation": "searched by the approximation of the cost that solve shows",
        "simulated": "searched by simulation",
    }
    note = f"no exact answer: {refused}; instead {done[optimum.kind]}"
    return replace(optimum, notes=[note, *optimum.notes])


def _refusal(scenario: Scenario, target: str, against: dict[str, str]) -> str:
    """All that stands against each kind of answer that was asked for, and what to try."""
    said: list[str] = []
    for kind, reason in against.items():
        new = [each for each in reason.split("; ") if not any(each in one for one in said)]
        # Where nothing can be simulated either, it does not matter what has an approximation.
        if new and not (kind == "approximation" and "simulated" in against):
            said.append(f"has no {_ANSWERS[kind]}: {'; '.join(new)}")
    return "; ".join([*said, *_advice(scenario, target)])


_ANSWERS = {
    "exact": "exact answer",
    "approximation": "approximation",
    "simulated": "simulated answer",
}


def _advice(scenario: Scenario, target: str) -> Iterator[str]:
    """The nearest command that answers something."""
    if target == _DESIGN:
        return
    if target not in FAMILIES:
        yield (
            "decisions of your own are compared by "
            "crawlsim sweep FILE --vary KEY=VALUE,… --minimise MEASURE"
        )
    elif scenario.buffer is None and scenario.model.pages is not None:
        yield "how often to access each page is found by --target frequencies"
    elif scenario.buffer is not None and not scenario.costs.model_fields_set:
        priced = "staleness=1" if scenario.model.pages else "loss=1 --set costs.starvation=1"
        yield f"try it with prices, such as --set costs.{priced}"


# --- families of rules --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Family:
    """Rules of one kind, by coordinates.

    Attributes
    ----------
    ranges : tuple of range
        The values of each coordinate.
    rule : callable
        From coordinates to changes of the scenario; None where they give none.
    decision : callable
        From such changes to what is decided, by the names in the file.
    words : str
        What the rules are.
    """

    ranges: tuple[range, ...]
    rule: Callable[[Point], Rule | None]
    decision: Callable[[Rule], dict[str, Any]]
    words: str

    def grids(self) -> list[int]:
        """The distances between the points of the grids, coarse to fine; the last one is 1."""
        steps = [1]
        while sum(1 for _ in self.points(steps[0])) > _MOST_RULES:
            steps.insert(0, steps[0] * _FINER)
        return steps

    def points(
        self, step: int, around: Point | None = None, within: int = 0
    ) -> Iterator[tuple[Point, Rule]]:
        """The points of a grid with their rules, each rule once; the ends of each range included.

        Parameters
        ----------
        step : int
        around : tuple of int, optional
            The middle, for points of which no coordinate is as far from it as `within`.
        within : int
        """
        if around is None:
            sides = [sorted({*values[::step], values[-1]}) for values in self.ranges]
        else:
            sides = [
                [n for n in values if abs(n - here) < within and (n - here) % step == 0]
                for values, here in zip(self.ranges, around, strict=True)
            ]
        known: set[str] = set()
        for point in product(*sides):
            rule = self.rule(point)
            if rule is not None and repr(rule) not in known:
                known.add(repr(rule))
                yield point, rule


def _static_family(scenario: Scenario) -> Family:
    """Numbers of robots of each class; with many classes or none, the first ones."""
    available = _robots(scenario)
    classes = (scenario.robots.classes if scenario.robots else None) or ()
    by_class = len(classes) > 1 and 2 ** len(classes) <= _MOST_RULES
    numbers = [each.available for each in classes] if by_class else [available]
    words = "numbers of robots of each class, in the order of the file"
    return Family(
        ranges=tuple(range(each + 1) for each in numbers),
        rule=lambda point: {"activation": {"static": list(point) if by_class else point[0]}},
        decision=lambda rule: {"robots": rule["activation"]["static"]},
        words=words if by_class else f"fixed numbers from 0 to {available}",
    )


def _threshold_family(scenario: Scenario) -> Family:
    """Two numbers of robots and the level up to which there are more; fixed numbers, too.

    Where switches are counted, also the level at which there are more again.
    """
    if counts_switches(scenario):
        return _hysteresis_family(scenario)
    least, available = _least_and_most(scenario)

    def rule(point: Point) -> Rule | None:
        more, less, at = point
        if less > more or (less == more and at > 0):
            return None
        robots = [more] if less == more else [more, less]
        return {"activation": {"threshold": {"robots": robots, "at": [at] * (len(robots) - 1)}}}

    return Family(
        ranges=(range(1, available + 1), range(least, available + 1), range(_top(scenario))),
        rule=rule,
        decision=lambda rule: dict(rule["activation"]["threshold"]),
        words=f"fixed numbers and single thresholds between two numbers, {least} to {available}",
    )


def _least_and_most(scenario: Scenario) -> tuple[int, int]:
    """Numbers of robots between which thresholds are."""
    activation = scenario.activation
    listed = isinstance(activation, Threshold | Levels | Free) and 0 in activation.robots
    return 0 if listed or scenario.prices.staleness else 1, _robots(scenario)


def _hysteresis_family(scenario: Scenario) -> Family:
    """The same with a way back; robots take as long to start as under the file's own rule."""
    least, available = _least_and_most(scenario)
    levels = range(_top(scenario))

    def rule(point: Point) -> Rule | None:
        more, less, at, back = point
        if less > more or back > at or (less == more and at > 0):
            return None
        given = Hysteresis((more, less), (at,), (back,), None)
        if less == more:
            given = Hysteresis((more,), (), (), None)
        return {"activation": activation_of(scenario, given)}

    return Family(
        ranges=(range(1, available + 1), range(least, available + 1), levels, levels),
        rule=rule,
        decision=lambda rule: dict(rule["activation"]["threshold"]),
        words=(
            "fixed numbers, and two numbers with a threshold and a way back, "
            f"{least} to {available}"
        ),
    )


def _switching_family(scenario: Scenario) -> Family:
    """Targets that fall in a line from a number of robots at level 0; constant ones, too."""
    top = _top(scenario)

    def rule(point: Point) -> Rule:
        number, last = point
        fall = number / last if last <= top else 0.0
        targets = [max(round(number - fall * level), 0) for level in range(top + 1)]
        return {"activation": {"switching": {"targets": targets}}}

    return Family(
        ranges=(range(1, _robots(scenario) + 1), range(1, top + 2)),
        rule=rule,
        decision=lambda rule: dict(rule["activation"]["switching"]),
        words="targets that are constant, or fall in a line from level 0 to none at some level",
    )


def _design_family(over: Over) -> Family:
    """Combinations of entries; the coordinates are the places of their values."""

    def rule(point: Point) -> Rule:
        return {key: over[key][place] for key, place in zip(over, point, strict=True)}

    return Family(
        ranges=tuple(range(len(values)) for values in over.values()),
        rule=rule,
        decision=dict,
        words=f"combinations of {' and '.join(over)}",
    )


FAMILIES: dict[str, Callable[[Scenario], Family]] = {
    "static": _static_family,
    "threshold": _threshold_family,
    "switching": _switching_family,
}
"""What is simulated for each target; for the others nothing sensible is."""


def _robots(scenario: Scenario) -> int:
    return present(scenario.robots).available


def _top(scenario: Scenario) -> int:
    return present(scenario.buffer).capacity


# --- the search ---------------------------------------------------------------------------------


def simulated_optimum(scenario: Scenario, target: str, asked: SearchRequest) -> Optimum:
    """The rule of a family that is best by simulation.

    With a probability of at least ``asked.confidence`` no rule that was compared is better than the
    chosen one by more than the indifference, where the values of replications are normal.

    Parameters
    ----------
    scenario : Scenario
    target : str
    asked : SearchRequest

    Raises
    ------
    NoAnswerError
        If there is nothing sensible to simulate.
    ScenarioError
        If a rule cannot be simulated, or a cost is undefined in some replications.
    """
    if reasons := list(_obstacles(scenario, target)):
        raise NoOptimumError("; ".join(reasons))
    family = _design_family(asked.over) if target == _DESIGN else FAMILIES[target](scenario)
    steps = family.grids()
    # First of all, so that rules which the scenario does not take are refused at once.
    simulated = Simulated(scenario, dict(family.points(steps[0])), asked, 0)
    trial = [rule for _, rule in family.points(1)] if target == _DESIGN else _numbers(scenario)
    size = asked.indifference or _one_per_cent(scenario, trial, asked, len(steps) * asked.most)
    each = 1.0 - (1.0 - asked.confidence) / len(steps)
    rule = Indifference(size / len(steps), each, asked.most)
    rounds = [_round(simulated, rule, None)]
    for number, step in enumerate(steps[1:], 1):
        around = rounds[-1].chosen
        points = dict(family.points(step, around, steps[number - 1]))
        simulated = Simulated(scenario, points, asked, number * asked.most)
        rounds.append(_round(simulated, rule, around))
    return _optimum(scenario, target, family, rounds, asked, size)


def _obstacles(scenario: Scenario, target: str) -> Iterator[str]:
    """Why a target is not simulated."""
    if target not in (*FAMILIES, _DESIGN):
        yield f"{target} cannot be searched by simulation"
        return
    if scenario.buffer is None or scenario.robots is None:
        yield "there is no [buffer]"
    if not scenario.costs.model_fields_set:
        yield "there are no [costs]"


def _numbers(scenario: Scenario) -> list[Rule]:
    """Fixed numbers of robots."""
    return [{"activation": {"static": each}} for each in range(1, _robots(scenario) + 1)]


def _one_per_cent(
    scenario: Scenario, rules: Sequence[Rule], asked: SearchRequest, offset: int
) -> float:
    """The indifference by default, from replications that the search does not use.

    Were it taken from those of the search, the promise would not be proved.
    """
    some = dict(enumerate(rules[:: -(-len(rules) // _TRIED)]))
    trial = Simulated(scenario, {(n,): rule for n, rule in some.items()}, asked, offset)
    costs = [float(trial.values(point, 0, LEAST_REPLICATIONS).mean()) for point in trial.rules]
    least = min((each for each in costs if math.isfinite(each)), default=0.0)
    size = float(f"{_SHARE * abs(least):.1g}")
    if not size:
        raise ScenarioError("--indifference", "not given", "is needed: the least cost may be 0")
    return size


class Simulated:
    """Rules, simulated with common random numbers as replications are needed.

    Parameters
    ----------
    scenario : Scenario
    rules : mapping point -> changes of the scenario
    asked : SearchRequest
    offset : int
        The number of the first replication.
    """

    def __init__(
        self, scenario: Scenario, rules: dict[Point, Rule], asked: SearchRequest, offset: int
    ) -> None:
        try:
            self.scenarios = {point: scenario.with_(rule) for point, rule in rules.items()}
        except ScenarioError as refusal:
            raise NoOptimumError(f"{refusal.key} {refusal.allowed}") from None
        self.rules = rules
        self.asked = asked
        self.offset = offset
        self.drawn: dict[Point, list[Array]] = {point: [] for point in rules}
        self.unseen: dict[Point, float] = {}

    def values(self, point: Point, start: int, stop: int) -> Array:
        """The cost of a rule in the replications from `start` to before `stop`; nan: undefined."""
        scenario = self.scenarios[point]
        results = sim.run(
            scenario,
            first=self.offset + start,
            replications=stop - start,
            engine=self.asked.engine,
            executor=self.asked.executor(),
        )
        row = results.rows.find(_COST)
        values = np.full(stop - start, math.nan)
        if row is not None:
            estimated = Estimated(row.estimate, np.array(results.leave_one_out[_COST, None]))
            values = estimated.pseudo_values
            self.unseen.setdefault(point, unseen_deviation(estimated, row.low, row.high))
        self.drawn[point].append(values)
        return values

    def half_width(self, point: Point) -> float:
        """Of the 95 % interval of its cost."""
        values = np.concatenate(self.drawn[point])
        count = len(values)
        return float(t_quantile(count - 1) * values.std(ddof=1) / math.sqrt(count))


class Round(NamedTuple):
    """The rules of a round whose cost is defined, those whose is not, and what was chosen."""

    simulated: Simulated
    points: list[Point]
    undefined: list[Point]
    choice: Choice

    @property
    def chosen(self) -> Point:
        """The rule that was chosen."""
        return self.points[self.choice.index]

    def margin_of(self, point: Point) -> float:
        """By how much a rule may be better than the chosen one."""
        return max(0.0, self.choice.margins[self.points.index(point)])


def _round(simulated: Simulated, rule: Indifference, before: Point | None) -> Round:
    """Choose among some rules; the one that was chosen before must be among them."""
    asked = simulated.asked
    first = asked.first
    values = {}
    for done, point in enumerate(simulated.rules, 1):
        values[point] = simulated.values(point, 0, first)
        if asked.progress:
            asked.progress(done * first, len(simulated.rules) * first)
    points = [point for point, each in values.items() if np.isfinite(each).all()]
    if not points or (before is not None and before not in points):
        raise NoOptimumError("the cost is undefined in some replications of every rule")

    def more(systems: Sequence[int], start: int, stop: int) -> list[Array]:
        further = [simulated.values(points[n], start, stop) for n in systems]
        if not all(np.isfinite(each).all() for each in further):
            allowed = "leaves the cost undefined in some replications; a longer one defines it"
            horizon = next(iter(simulated.scenarios.values())).run.horizon
            raise ScenarioError("run.horizon", horizon, allowed)
        if asked.progress:
            asked.progress(stop, rule.most)
        return further

    unseen = [simulated.unseen[point] for point in points]
    choice = choose([values[point] for point in points], more, rule, unseen)
    return Round(simulated, points, [each for each in values if each not in points], choice)


def _optimum(
    scenario: Scenario,
    target: str,
    family: Family,
    rounds: Sequence[Round],
    asked: SearchRequest,
    size: float,
) -> Optimum:
    """What the last round chose, beside all rules that were compared."""
    last = rounds[-1]
    rows: dict[Point, dict[str, Any]] = {}
    left_out: set[Point] = set()
    carried = 0.0
    for later, each in zip([None, *reversed(rounds[1:])], reversed(rounds), strict=True):
        if later is not None:
            carried += later.margin_of(each.chosen)
        for point, row in _rows(each, family, carried):
            rows.setdefault(point, row)
        left_out.update(each.undefined)
    table = [rows[point] for point in sorted(rows)]
    best = rows[last.chosen]
    best |= {"role": "best", "better_by_at_most": None}
    margin = max([0.0, *(row["better_by_at_most"] or 0.0 for row in table)])
    settled = all(each.choice.is_settled for each in rounds)
    total = sum(sum(each.choice.counts) for each in rounds)
    rule = last.simulated.rules[last.chosen]
    promise = {
        "confidence": asked.confidence,
        "indifference": size,
        "settled": settled,
        "better_by_at_most": margin,
        "half_width": best["half_width"],
        "rules": len(table),
        "rounds": len(rounds),
        "first_replications": asked.first,
        "replications": total,
    }
    return Optimum(
        target=target,
        cost=best["cost"],
        decision=family.decision(rule),
        changes=rule,
        table=table,
        notes=[*_notes(family, promise, len(left_out - set(rows))), *at_the_ends(asked.over, rule)],
        search=_static_search(scenario, table) if target == "static" and not rounds[1:] else None,
        proved=False,
        kind="simulated",
        promise=promise,
    )


def _rows(each: Round, family: Family, carried: float) -> Iterator[tuple[Point, dict[str, Any]]]:
    """The rules of a round as rows of the table."""
    choice = each.choice
    known = zip(each.points, choice.estimates, choice.counts, strict=True)
    for point, cost, count in known:
        margin = each.margin_of(point) + carried
        yield (
            point,
            {
                **family.decision(each.simulated.rules[point]),
                "cost": cost,
                "half_width": each.simulated.half_width(point),
                "replications": count,
                "better_by_at_most": margin,
                "role": "may be best" if margin else "worse",
            },
        )


def _notes(family: Family, promise: dict[str, Any], left_out: int) -> list[str]:
    """What a reader of the table should know."""
    what = "none of them is better"
    if promise["better_by_at_most"]:
        size = promise["indifference" if promise["settled"] else "better_by_at_most"]
        what += f" by more than {size:.4g}"
    if not promise["settled"]:
        what += f" (--max-replications was reached before {promise['indifference']:.4g})"
    compared = (
        f"{counted(promise['rules'], 'rule')} compared in {promise['replications']:,} replications"
    )
    if promise["rounds"] > 1:
        compared += f" and {promise['rounds']} rounds, coarse to fine"
    notes = [
        f"{compared}: {family.words}",
        f"with a probability of at least {promise['confidence'] * 100:g} % {what}; nothing is "
        "promised of other rules",
    ]
    if left_out:
        notes.append(f"{left_out} rules left out: their cost is undefined in some replications")
    return notes


def _static_search(scenario: Scenario, table: Sequence[dict[str, Any]]) -> StaticSearch | None:
    """What a figure of the costs is drawn from, where the number of robots is all that differs."""
    if not all(isinstance(row["robots"], int) for row in table):
        return None
    costs = np.full(_robots(scenario) + 1, math.nan)
    for row in table:
        costs[row["robots"]] = row["cost"]
    return StaticSearch(scenario.name, scenario.time_unit, costs)
