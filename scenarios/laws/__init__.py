"""Laws of times: one file per law, of the name that its draw and its formulas have elsewhere.

`sim/laws` draws from a law, `analytic/laws` computes with it, each in a file of the same name. A
law is known as soon as its file lies here, or a plugin has it (`scenarios.plugins`).
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
from scenarios.laws.lognormal import Lognormal
from scenarios.laws.mixture import Mixture
from scenarios.laws.pareto import Pareto
from scenarios.laws.phase_type import PhaseType
from scenarios.laws.uniform import Uniform
from scenarios.laws.weibull import Weibull

__all__ = [
    "ADDED",
    "LAWS",
    "OTHER_NAMES",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "Hyperexponential",
    "Law",
    "Lognormal",
    "Mixture",
    "Pareto",
    "PhaseType",
    "Uniform",
    "Weibull",
]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

_IN_MESSAGES = (
    Deterministic,
    Exponential,
    Erlang,
    Gamma,
    Lognormal,
    Weibull,
    Pareto,
    Uniform,
    Hyperexponential,
    PhaseType,
    Empirical,
)
"""The order in which messages and the schema name the laws; all others follow."""

LAWS: tuple[type[Law], ...] = tuple(dict.fromkeys((*_IN_MESSAGES, *Law.__subclasses__())))
"""All laws of ours."""

ADDED: list[type[Law]] = []
"""Those of plugins."""

OTHER_NAMES = {
    **dict.fromkeys(
        ("normal", "gaussian"),
        "times are never negative; lognormal, gamma and weibull take a mean and an sd",
    ),
    **dict.fromkeys(("constant", "const", "fixed"), "write deterministic = { value = … }"),
    **dict.fromkeys(("hyper-erlang", "coxian", "cox"), "write it as phase-type = { alpha, T }"),
    "lomax": "a Pareto law without a least time; pareto = { mean, shape } has one",
    "triangular": "uniform, gamma and lognormal take a mean and an sd",
    "trace": "write empirical = { file = … }",
}
"""What to write for names of laws elsewhere."""

_ONE_IS_ENOUGH = "one mixture can hold the laws of both, with the products of the probabilities"

if TYPE_CHECKING:
    Distribution = Law
else:
    Distribution = Annotated[Union[LAWS], OneKey(OTHER_NAMES, "exponential", ADDED)]  # noqa: UP007  # made of a tuple
    _others = tuple(law for law in LAWS if law is not Mixture)
    _elsewhere = {**OTHER_NAMES, "mixture": _ONE_IS_ENOUGH}
    _component = Annotated[Union[_others], OneKey(_elsewhere, "exponential", ADDED)]  # noqa: UP007  # as above
    Mixture.model_rebuild(_types_namespace={"Component": _component})
"""Any law, written as a table with one key."""
