"""How the kernels are compiled and called; `scenarios.compiling` keeps what was compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.event import Listener, register
from numba.extending import register_jitable

from scenarios.compiling import NOT_FROM_C, kept, part
from scenarios.interrupts import count_compilations, uninterrupted
from sim import rates, rules

Function = TypeVar("Function", bound=Callable[..., Any])

_UNCOUNTED: dict[str, Any] = {"nogil": True, "_nrt": False}
"""Compiled code allocates nothing; without `_nrt=False` numba counts references to every array of
every tuple that is passed on, and that costs ten times the work itself (measured). Only what Python
calls counts them: else each call would keep the streams that it is given for ever."""

IS_COMPILED: bool = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]  # read from the environment

at: Any = np.uintp if IS_COMPILED else int
"""An index that cannot be negative: where others are, compiled code adds the length of the array,
which makes a short loop longer by a fifteenth (measured)."""

PAUSE = 2**18
"""Events after which a kernel comes back to Python, which then hears of an interrupt."""


@cache
def let_kernels_call(module: ModuleType) -> None:
    """Let compiled code call the functions of a module, which it may then compile."""
    for each in vars(module).values():
        if isinstance(each, FunctionType) and each.__module__ == module.__name__:
            register_jitable(each)


def let_kernels_call_all_of(function: Callable[..., Any]) -> None:
    """Let compiled code call what lies in the module of a function, and what the function holds."""
    let_kernels_call(sys.modules[function.__module__])
    for cell in getattr(function, "__closure__", None) or ():
        if isinstance(held := cell.cell_contents, FunctionType):
            if held.__closure__:
                register_jitable(held)
            let_kernels_call_all_of(held)


class _Compilations(Listener):
    """Tells those who hold interrupts when something is compiled."""

    def on_start(self, _: object) -> None:
        """A compilation begins."""
        count_compilations(1)

    def on_end(self, _: object) -> None:
        """One ends."""
        count_compilations(-1)


register("numba:compile", _Compilations())
let_kernels_call(rules)
let_kernels_call(rates)


def inner(function: Function) -> Function:
    """A function that kernels call; it compiles into each of them."""
    return part(function, **_UNCOUNTED, forceinline=True)


def loop(function: Function) -> Function:
    """The body of a kernel that passes tuples on to other functions."""
    return part(function, **_UNCOUNTED)


def kernel(function: Function) -> Function:
    """A function that Python calls; its compiled code is kept between runs.

    Interrupts wait until a call is over, but not until it is compiled, which takes its time.
    """
    compiled = kept(cast("Function", numba.njit(nogil=True, **NOT_FROM_C)(function)), "engine")
    if not hasattr(compiled, "overloads"):
        return compiled

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return uninterrupted(compiled, arguments)

    call.compiled = compiled  # type: ignore[attr-defined]  # for those that ask what was compiled
    return cast("Function", call)
