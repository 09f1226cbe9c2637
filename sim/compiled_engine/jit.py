"""How the kernels are compiled, and the cache of what was compiled.

numba keeps compiled code on disk, but it notices a change of the kernel's own file only. A kernel
here is made of functions of many files, so its cache lies in a folder named after all of them.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import register_jitable

from sim import rates, rules

__all__ = ["PAUSE", "inner", "kernel", "loop"]

Function = TypeVar("Function", bound=Callable[..., Any])

_UNCOUNTED: dict[str, Any] = {"nogil": True, "_nrt": False}
"""Compiled code allocates nothing; without `_nrt=False` numba counts references to every array of
every tuple that is passed on, and that costs ten times the work itself (measured). Only what Python
calls counts them: else each call would keep the streams that it is given for ever."""

PAUSE = 2**18
"""Events after which a kernel comes back to Python, which then hears of an interrupt."""

_LOG = logging.getLogger(__name__)

_HERE = Path(__file__).parent
_SOURCES = (*sorted(_HERE.glob("*.py")), _HERE.parent / "rules.py", _HERE.parent / "rates.py")

for module in (rules, rates):
    for each in vars(module).values():
        if isinstance(each, FunctionType) and each.__module__ == module.__name__:
            register_jitable(each)


def _stamp() -> str:
    """A name for what the compiled code depends on, numba's own version and the machine apart."""
    settings = f"{np.__version__} {numba.config.BOUNDSCHECK}"  # type: ignore[attr-defined]  # read from the environment
    digest = hashlib.sha256(settings.encode())
    for path in _SOURCES:
        digest.update(path.read_bytes())
    return f"crawlsim-{digest.hexdigest()[:16]}"


class _Cache(FunctionCache):
    """numba's cache, in a folder of its own for each state of the sources."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        folder = Path(self._cache_path) / _stamp()
        folder.mkdir(exist_ok=True)
        self._cache_path = str(folder)
        base = self._impl.filename_base
        self._cache_file = IndexDataCacheFile(self._cache_path, base, source_stamp="")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before; None where there is nothing, or nothing that can be read."""
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # damaged files raise whatever the damage leads to
            found = None
            with suppress(OSError):
                self.flush()
        if found is None:
            _announce()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if the disk lets us."""
        with suppress(OSError):
            super().save_overload(sig, data)


@lru_cache
def _announce() -> None:
    """Say once that compilation takes its time."""
    _LOG.info("compiling the engine, up to half a minute; later runs find it compiled")


def inner(function: Function) -> Function:
    """A function that kernels call; it compiles into each of them."""
    return cast("Function", numba.njit(**_UNCOUNTED, forceinline=True)(function))


def loop(function: Function) -> Function:
    """The body of a kernel that passes tuples on to other functions."""
    return cast("Function", numba.njit(**_UNCOUNTED)(function))


def kernel(function: Function) -> Function:
    """A function that Python calls; its compiled code is kept between runs."""
    compiled: Any = numba.njit(nogil=True)(function)
    if compiled is not function:  # it is where compilation is switched off
        with suppress(RuntimeError, OSError):  # no folder to write in: every run compiles
            compiled._cache = _Cache(function)
    return cast("Function", compiled)
