"""How the kernels of `analytic` are compiled: kept on disk, and said when it takes its time."""

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
