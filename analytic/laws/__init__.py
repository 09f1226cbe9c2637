"""What formulas know of a law: one file per law, of the name that it has in `scenarios.laws`.

Such a file holds functions of the law; `analytic.machinery.transforms` says what each of them is.

mean(law), log_transform(law, s), excess(law, s), matrix_transform(law, generator),
survival(law, t), poisson_counts(law, rate, below)
    Of a law with phases only where there is something better than what `laws.phase_type` computes
    from the phases. For those that have no closed form there is `analytic.machinery.quadrature`.
time_weighted_transform(law, generator)
    Where it does not follow by extrapolation, as higher moments are large or infinite.
variance(law)
    Where it does not follow from the excess at small s, to ten digits, or is infinite.
phases(law), phase_count(law)
    Its phase-type form, of a law that has one, and the size of that, without building it.
jumps(law), shortest(law)
    Times at which its survival is not smooth, and its least time; none, and 0, where they are left
    out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from scenarios.laws import Distribution
from scenarios.laws.law import home_of

__all__ = ["function_of"]


def function_of(law: Distribution, name: str) -> Callable[..., Any] | None:
    """A function from the file of a law, or of its phases where it has some; None: from neither.

    It is that of the simplest law of the same times: Weibull times of shape 1 have phases.

    Parameters
    ----------
    law : Distribution
    name : str
        Of the function, such as ``log_transform``.
    """
    simplest = law.simplest
    function = _function(type(simplest), name)
    if function is None or simplest is law:
        return function
    return lambda _, *arguments: function(simplest, *arguments)


@cache
def _function(law: type[Distribution], name: str) -> Callable[..., Any] | None:
    file = home_of(law, "analytic")
    try:
        if find_spec(file) is None:
            return None
    except ModuleNotFoundError:  # nor is there a folder for it
        return None
    own = import_module(file)
    if hasattr(own, "phases") and not hasattr(own, name):
        own = import_module(f"{__name__}.phase_type")
    return getattr(own, name, None)
