"""How the loops of solvers are made: compiled where numba is installed, plain Python elsewhere.

numba exists for few platforms, and in no browser. Without it everything is the same but slow; what
is nothing without it (`sim.compiled_engine`) says so.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING or find_spec("numba") is not None:
    from scenarios.compiling import compiled, part
else:

    def compiled(function: Function, what: str | None = "solver") -> Function:  # noqa: ARG001  # for the compiler
        """The function as it is."""
        return function

    part = compiled

__all__ = ["Function", "compiled", "part"]
