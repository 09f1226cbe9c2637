"""What an optimiser hands back, whatever it optimises."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from analytic.index.formula import Condition, reason_against
from analytic.machinery.refusal import NoAnswerError
from scenarios import Scenario
from scenarios.results import html_of

if TYPE_CHECKING:
    import pandas as pd


class NoOptimumError(NoAnswerError):
    """There is no optimum to give; the text is the reason."""


class NoRuleError(NoOptimumError):
    """No rule keeps the bound that was asked for; the text says which comes nearest."""


def require(conditions: Iterable[Condition], scenario: Scenario) -> None:
    """Refuse to look for an optimum where a condition does not hold.

    Raises
    ------
    NoOptimumError
        With all reasons.
    """
    if reason := reason_against(conditions, scenario):
        raise NoOptimumError(reason)


Rule = TypeVar("Rule")


class Best(NamedTuple, Generic[Rule]):
    """The best rule of a kind.

    Attributes
    ----------
    rule : object
        As its search has it.
    cost : float
        Per unit time.
    lower : float
        No rule that knows as much costs less.
    """

    rule: Rule
    cost: float
    lower: float


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Optimum:
    """The best decision of one kind for a scenario.

    Parameters
    ----------
    target : str
        What was decided, as in ``crawlsim optimize --target``.
    cost : float or None
        Exact cost of what the scenario would then do, or None where no exact value is known, or
        none without a long computation; where the index commits, without what that adds to the cost
        of every decision, which a note says.
    lower_bound : float or None
        A bound below which no policy of any kind comes, where one is known.
    decision : mapping
        The numbers that are best, by their names in the scenario file.
    changes : mapping
        Dotted keys and values that put the decision into the scenario (`Scenario.with_`).
    table : sequence of mapping
        The alternatives, one row each, all with the same columns.
    notes : sequence of str
        What a reader of the table should know.
    search : object
        The subject's own result, with all that it knows.
    measure : str
        What the cost is: a key of `scenarios.MEASURES`.
    horizon : float or None
        Time over which the cost is a total; None where it is a cost per unit time.
    proved : bool or None
        Whether no decision of this kind is better; None where the target does not say.
    gap : float or None
        How far the cost may be above the least one, in per cent of the bound; 0 where proved.
    kind : str
        What the answer rests on: "exact" formulas, an "approximation", or, of a decision that
        `crawlsim.optimize` simulated, "simulated".
    promise : mapping, optional
        Of a simulated decision: what is promised of it, and how many replications that took.
    scenario : str
        The name of the system.
    """

    target: str
    cost: float | None
    lower_bound: float | None = None
    decision: Mapping[str, Any]
    changes: Mapping[str, Any]
    table: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    search: Any = None
    measure: str = "control_cost"
    horizon: float | None = None
    proved: bool | None = None
    gap: float | None = None
    kind: str = "exact"
    promise: Mapping[str, Any] | None = None
    scenario: str = field(default="the scenario", compare=False)

    def __repr__(self) -> str:
        return f"<Optimum of {self._headline()}>"

    def _repr_html_(self) -> str:
        return html_of(self.to_frame(), self._headline())

    def to_frame(self) -> pd.DataFrame:
        """The alternatives, one row each."""
        import pandas as pd

        return pd.DataFrame(list(self.table))

    def _headline(self) -> str:
        """What was decided, and what it costs."""
        cost = "no exact cost" if self.cost is None else f"{self.measure} {self.cost:.4g}"
        best = ", ".join(f"{name} {reprlib.repr(value)}" for name, value in self.decision.items())
        return f"{self.scenario}, {self.target}: {cost} with {best}"
