"""How the passes over large chains are compiled: kept on disk, and said when it takes its time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

__all__ = ["compiled"]

Function = TypeVar("Function", bound=Callable[..., Any])

_LOG = logging.getLogger(__name__)


class _Cache(FunctionCache):
    """numba's cache, which says when there is nothing in it."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before; None where there is nothing."""
        found = super().load_overload(sig, target_context)
        if found is None:
            _announce()
        return found


@lru_cache
def _announce() -> None:
    """Say once that compilation takes its time."""
    _LOG.info("compiling the solver, up to half a minute; later runs find it compiled")


def compiled(function: Function) -> Function:
    """The function compiled, and kept on disk where there is a folder to write in."""
    made: Any = numba.njit(nogil=True, error_model="numpy")(function)
    if made is not function:  # it is where compilation is switched off
        with suppress(RuntimeError):  # no folder to write in: every run compiles
            made._cache = _Cache(function)
    return cast("Function", made)
