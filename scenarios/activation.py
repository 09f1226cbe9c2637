"""How many robots are active: a fixed number, one for each state, or slow switching."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    RootModel,
    Tag,
    WithJsonSchema,
    model_validator,
)

from scenarios.base import ByType, Count, Keyed, OneKey, Section
from scenarios.errors import refused
from scenarios.laws import Distribution
from scenarios.text import counted


class ByName(RootModel[dict[str, Count]]):
    """How many robots of each class, by its name."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    def __hash__(self) -> int:
        """As equal ones have, in whatever order."""
        return hash(frozenset(self.root.items()))


Numbers = Annotated[Count | tuple[Count, ...] | ByName, ByType()]
"""How many robots: the first ones, or the first of each class, in the file's order or by name."""


def total_of(numbers: Numbers) -> int:
    """Number of robots, of all classes together."""
    if isinstance(numbers, int):
        return numbers
    return sum(numbers.root.values() if isinstance(numbers, ByName) else numbers)


class Static(Keyed[Numbers]):
    """Always the same robots: a number of the first ones, or a number of each class."""

    key = "static"

    @property
    def robots(self) -> int:
        """Number of active robots."""
        return total_of(self.root)


class These(Keyed[tuple[Count, ...]]):
    """Always exactly these robots of a joint process; the others run on unheard."""

    key = "these"

    @model_validator(mode="after")
    def _in_order(self) -> These:
        if any(a >= b for a, b in _neighbours(self.root)):
            raise refused("must be numbers of robots in increasing order", value=self.root)
        return self

    @property
    def robots(self) -> int:
        """Number of active robots."""
        return len(self.root)


class ThresholdRule(Section):
    """``robots[t]`` robots while the level is at most ``at[t]``; the last above all of them.

    With `back` there are again ``robots[t]`` of them only at ``back[t]`` or below.
    """

    robots: tuple[Numbers, ...]
    at: tuple[Count, ...]
    back: tuple[Count, ...] | None = None

    @property
    def totals(self) -> tuple[int, ...]:
        """Numbers of robots, of all classes together."""
        return tuple(total_of(each) for each in self.robots)

    @model_validator(mode="after")
    def _valid(self) -> ThresholdRule:
        if not self.robots or any(a <= b for a, b in _neighbours(self.totals)):
            allowed = "their totals must be strictly decreasing, with at least one entry"
            if all(isinstance(each, int) for each in self.robots):
                allowed = "must be strictly decreasing, with at least one entry"
            raise refused(allowed, key="robots", value=self.robots)
        if len(self.at) != len(self.robots) - 1:
            allowed = f"must have {counted(len(self.robots) - 1, 'entry')}, one fewer than robots"
            raise refused(allowed, key="at", value=self.at)
        if any(a > b for a, b in _neighbours(self.at)):
            raise refused("must not decrease", key="at", value=self.at)
        self._check_back(self.at if self.back is None else self.back)
        return self

    def _check_back(self, back: tuple[int, ...]) -> None:
        if len(back) != len(self.at):
            allowed = f"must have {counted(len(self.at), 'entry')}, as many as at"
            raise refused(allowed, key="back", value=back)
        if any(a > b for a, b in _neighbours(back)):
            raise refused("must not decrease", key="back", value=back)
        for index, (low, high) in enumerate(zip(back, self.at, strict=True)):
            if low > high:
                raise refused(
                    f"must be at most at[{index}] ({high})", key=f"back[{index}]", value=low
                )


def _neighbours(values: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(pairwise(values))


class Threshold(Section):
    """Robots switched on and off freely as the level crosses thresholds (avrachenkov2011).

    With `start_up` a robot that is switched on begins its access after a time, and one that is
    switched off gives up what it was doing.
    """

    key: ClassVar[str] = "threshold"
    whole: ClassVar[bool] = True
    threshold: ThresholdRule
    start_up: Distribution | None = None

    @property
    def robots(self) -> tuple[int, ...]:
        """Numbers of robots, strictly decreasing."""
        return self.threshold.totals

    @property
    def at(self) -> tuple[int, ...]:
        """Thresholds on the number of pages in the system, one fewer than `robots`."""
        return self.threshold.at

    @property
    def back(self) -> tuple[int, ...]:
        """Levels at which a number of robots is active again; `at` where the file has none."""
        return self.at if self.threshold.back is None else self.threshold.back


class Levels(Keyed[tuple[Count, ...]]):
    """A number of robots for each level, in any order, switched on and off freely."""

    key = "levels"

    @property
    def robots(self) -> tuple[int, ...]:
        """Numbers of robots, by level."""
        return self.root


class Free(Keyed[tuple[tuple[tuple[Count, ...], ...], ...]]):
    """A number of robots for each level, arrival phase and service phase, switched freely.

    Level 0 has one service phase.
    """

    key = "free"

    @property
    def robots(self) -> frozenset[int]:
        """All numbers of robots that are listed."""
        return frozenset(number for level in self.root for row in level for number in row)

    @property
    def when_empty(self) -> int:
        """Robots in the first phase of the empty system, in whose mode the first phase is drawn."""
        return self.root[0][0][0]


def _shape(targets: Any) -> str:
    inner = [row for row in _listed(targets) if isinstance(row, list | tuple)]
    if any(isinstance(each, list | tuple) for row in inner for each in row):
        return "<twice nested>"
    return "<nested>" if inner else "<flat>"


def _listed(given: Any) -> Any:
    return given if isinstance(given, list | tuple) else ()


def _nested(given: Any) -> Any:
    """Lists in lists as tuples, with whole numbers in them."""
    if isinstance(given, list | tuple):
        return tuple(map(_nested, given))
    if isinstance(given, bool) or not isinstance(given, int):
        raise refused("must be nested lists of whole numbers", value=given)
    return given


_Choices = Annotated[
    tuple[Any, ...],
    BeforeValidator(_nested),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"anyOf": [{"type": "integer", "minimum": -1}, {"type": "array"}]},
        }
    ),
]
"""Classes by level and active robots of each class, as deep as there are classes."""


class SwitchingRule(Section):
    """Target numbers of active robots by level, or one such list per service phase.

    Where the robots have an environment, one such list per state of that, or for each of its
    states one per service phase. Or the class of the robot that is switched on, by level and active
    robots of each class (`scenarios.choices`).
    """

    one_of: ClassVar[tuple[tuple[str, ...], ...]] = (("targets", "choices"),)
    targets: (
        Annotated[
            Annotated[tuple[Count, ...], Tag("<flat>")]
            | Annotated[tuple[tuple[Count, ...], ...], Tag("<nested>")]
            | Annotated[tuple[tuple[tuple[Count, ...], ...], ...], Tag("<twice nested>")],
            Discriminator(_shape),
        ]
        | None
    ) = None
    choices: _Choices | None = None

    @model_validator(mode="after")
    def _valid(self) -> SwitchingRule:
        if (self.targets is None) == (self.choices is None):
            raise refused("must have exactly one of the keys targets or choices")
        for row in self.rows:
            if not row or row[0] < 1:
                allowed = "the target at level 0 must be >= 1"
                raise refused(allowed, key="targets", value=self.targets)
        return self

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The lists of targets: one per service phase, state of the environment or both, or one.

        None of them where there are choices.
        """
        rows: Any = () if self.targets is None else (self.targets,)
        while rows and rows[0] and isinstance(rows[0][0], tuple):
            rows = tuple(row for each in rows for row in each)
        return rows


class Switching(Keyed[SwitchingRule]):
    """Robots switched on one at a time and never recalled (talim2001)."""

    key = "switching"

    @property
    def targets(self) -> tuple[tuple[int, ...], ...]:
        """Target numbers of robots, shape (lists, levels); no list where there are choices."""
        return self.root.rows

    @property
    def choices(self) -> tuple[Any, ...] | None:
        """Classes in nested lists, as the file has them; None where there are targets."""
        return self.root.choices


class Optimal(Keyed[Literal["static", "threshold", "levels", "free", "switching"]]):
    """To be found by optimisation within one family of rules."""

    key = "optimal"

    @property
    def family(self) -> str:
        """The family: static, threshold, levels, free or switching."""
        return self.root


Activation = Annotated[Static | These | Threshold | Levels | Free | Switching | Optimal, OneKey()]
"""The rule that says how many robots are active."""


def switches_one_at_a_time(rule: Activation | None) -> bool:
    """Whether robots are switched on one at a time, or may be once the best rule is found."""
    sought = isinstance(rule, Optimal) and rule.family == "switching"
    return sought or isinstance(rule, Switching)
