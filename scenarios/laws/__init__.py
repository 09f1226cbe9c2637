"""Laws of times: one file per law, of the name that its draw and its formulas have elsewhere.

`sim/laws` draws from a law, `analytic/laws` computes with it, each in a file of the same name. A
law is known as soon as its file lies here.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Union

from scenarios.base import OneKey
from scenarios.laws.deterministic import Deterministic
from scenarios.laws.empirical import Empirical
from scenarios.laws.erlang import Erlang
from scenarios.laws.exponential import Exponential
from scenarios.laws.gamma import Gamma
from scenarios.laws.hyperexponential import Hyperexponential
from scenarios.laws.law import Law
from scenarios.laws.phase_type import PhaseType
from scenarios.laws.uniform import Uniform

__all__ = [
    "LAWS",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "Hyperexponential",
    "Law",
    "PhaseType",
    "Uniform",
]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

_IN_MESSAGES = (Deterministic, Exponential, Erlang, Gamma, Uniform, Hyperexponential, PhaseType)
"""The order in which messages and the schema name the laws; all others follow."""

LAWS: tuple[type[Law], ...] = tuple(dict.fromkeys((*_IN_MESSAGES, *Law.__subclasses__())))
"""All laws."""

if TYPE_CHECKING:
    Distribution = Law
else:
    Distribution = Annotated[Union[LAWS], OneKey()]  # noqa: UP007  # made of a tuple
"""Any law, written as a table with one key."""
