"""How the compiled functions of `analytic` are made: kept on disk, announced when slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from scenarios.compiling import kept

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function compiled, and kept on disk where there is a folder to write in."""
    made = numba.njit(nogil=True, error_model="numpy")(function)
    return kept(cast("Function", made), "solver")
