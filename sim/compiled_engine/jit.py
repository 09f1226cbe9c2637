"""How the kernels are compiled and called; `scenarios.compiling` keeps what was compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType, ModuleType
from typing import Any, NoReturn, TypeVar, cast

import numba
import numpy as np
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.event import Listener, register
from numba.core.registry import CPUDispatcher
from numba.extending import register_jitable

from scenarios.compiling import kept
from sim import rates, rules
from sim.compiled_engine.interrupts import count_compilations, uninterrupted

Function = TypeVar("Function", bound=Callable[..., Any])

_NOT_FROM_C: dict[str, Any] = {"no_cfunc_wrapper": True}
_NOT_FROM_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True, **_NOT_FROM_C}
"""What unpacks a world of several hundred arrays for callers that do not exist took more than half
of the time of compilation (66 against 28 CPU s for the loop of a search engine)."""

_UNCOUNTED: dict[str, Any] = {"nogil": True, "_nrt": False, **_NOT_FROM_PYTHON}
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


class _OnlyLinked(JITCodeLibrary):
    """Code that goes into that of its callers, and becomes machine code only there.

    Machine code of each function by itself, which nobody calls, took a fifth of the time of
    compilation. To optimise each by itself before takes half of what is left, and makes the loop of
    a queue five percent faster; where indices are checked nobody asks for that.
    """

    def _optimize_final_module(self) -> None:
        if not numba.config.BOUNDSCHECK:  # type: ignore[attr-defined]  # read from the environment
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _ForKernels(CompilerBase):
    """What compiles functions that only kernels call."""

    def define_pipelines(self) -> list[Any]:
        """The usual passes, without machine code at their end."""
        state = self.state
        state.library = _OnlyLinked(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class _OfKernels(CPUDispatcher):
    """Called by compiled code only: there is no entry for Python, which would jump to nowhere."""

    def __call__(self, *_: object) -> NoReturn:
        raise TypeError(f"{self.py_func.__qualname__}: only compiled code calls this function")

    def add_overload(self, compiled: Any) -> None:
        """Let others find what was compiled by a key of its own, as there is no entry."""
        key = object()
        self.targetctx.insert_user_function(key, compiled.fndesc, [compiled.library])
        self.overloads[tuple(compiled.signature.args)] = compiled._replace(entry_point=key)


def _called_by_kernels(function: Function, **options: Any) -> Function:
    compiled = numba.njit(**_UNCOUNTED, **options, pipeline_class=_ForKernels)(function)
    if isinstance(compiled, CPUDispatcher):
        compiled.__class__ = _OfKernels
    return cast("Function", compiled)


def inner(function: Function) -> Function:
    """A function that kernels call; it compiles into each of them."""
    return _called_by_kernels(function, forceinline=True)


def loop(function: Function) -> Function:
    """The body of a kernel that passes tuples on to other functions."""
    return _called_by_kernels(function)


def kernel(function: Function) -> Function:
    """A function that Python calls; its compiled code is kept between runs.

    Interrupts wait until a call is over, but not until it is compiled, which takes its time.
    """
    compiled = kept(cast("Function", numba.njit(nogil=True, **_NOT_FROM_C)(function)), "engine")
    if not hasattr(compiled, "overloads"):
        return compiled

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return uninterrupted(compiled, arguments)

    call.compiled = compiled  # type: ignore[attr-defined]  # for those that ask what was compiled
    return cast("Function", call)
