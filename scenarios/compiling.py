"""Compiled code kept on disk, and never taken for the code of other sources.

numba keeps compiled code, but looks at a function's own file only. Machine code also holds the
functions that are called, the constants that are read, wherever they come from, and the layout of
the named tuples that are passed: here what was compiled lies in a folder named after all of them,
as this process has them. Imported only where something is compiled: numba takes its time.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys

from scenarios.compile_times import note_time, place_of_code, time_in_words

Function = TypeVar("Function", bound=Callable[..., Any])

_LOG = logging.getLogger(__name__)

_LONGEST: dict[str, float] = {}
"""Seconds that the longest compilation of each kind took in this process, once it is announced."""


NOT_FROM_C: dict[str, Any] = {"no_cfunc_wrapper": True}
"""Options of `numba.njit` for what C does not call."""

_FOR_SOLVERS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


class _OnlyLinked(JITCodeLibrary):
    """Code that goes into that of its callers, and becomes machine code only there.

    Nor is it optimised before: to do so function by function, each with all that it calls, took
    more than half of the time of compilation, and made nothing faster (measured, of the loop of a
    search engine: 10 instead of 18 CPU s).
    """

    def finalize(self) -> None:
        """All calls are known; nothing is linked yet."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """The code with that of all that it calls.

        What nobody calls so far is left out of it: callers come first.
        """
        whole = self._alone().clone()
        _, *called = reversed(_callees_first(self, {}))
        for each in called:
            is_part = isinstance(each, _OnlyLinked)
            module = each._alone() if is_part else each._get_module_for_linking()
            whole.link_in(module, preserve=True)
        return whole

    def _alone(self) -> Any:
        return super()._get_module_for_linking()


def _callees_first(library: JITCodeLibrary, found: dict[JITCodeLibrary, None]) -> Any:
    """A library and those of all that it calls, directly or not, added to those found so far."""
    for each in library._linking_libraries if isinstance(library, _OnlyLinked) else ():
        if each not in found:
            _callees_first(each, found)
    found[library] = None
    return found


class _ForParts(CompilerBase):
    """What compiles functions that only compiled code calls."""

    def define_pipelines(self) -> list[Any]:
        """The usual passes, without machine code at their end."""
        state = self.state
        state.library = _OnlyLinked(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class _Part(CPUDispatcher):
    """Called by compiled code only: there is no entry for Python, which would jump to nowhere."""

    def __call__(self, *_: object) -> NoReturn:
        raise TypeError(f"{self.py_func.__qualname__}: only compiled code calls this function")

    def add_overload(self, compiled: Any) -> None:
        """Let others find what was compiled by a key of its own, as there is no entry."""
        key = object()
        self.targetctx.insert_user_function(key, compiled.fndesc, [compiled.library])
        self.overloads[tuple(compiled.signature.args)] = compiled._replace(entry_point=key)


def part(function: Function, **options: Any) -> Function:
    """A function that only compiled code calls, and becomes part of; options as of `numba.njit`.

    What unpacks the arguments for callers that do not exist is left out, too: where they are worlds
    of several hundred arrays, that took more than half of the time of compilation.
    """
    options = {**(options or _FOR_SOLVERS), **NOT_FROM_C, "no_cpython_wrapper": True}
    compiled = numba.njit(**options, pipeline_class=_ForParts)(function)
    if isinstance(compiled, CPUDispatcher):
        compiled.__class__ = _Part
    return cast("Function", compiled)


def compiled(function: Function, what: str | None = "solver") -> Function:
    """The function compiled without the interpreter's lock, and `kept`."""
    made = numba.njit(**_FOR_SOLVERS, **NOT_FROM_C)(function)
    return kept(cast("Function", made), what)


def kept(compiled: Function, what: str | None = None) -> Function:
    """The compiled function, with its machine code kept between runs.

    Parameters
    ----------
    compiled : dispatcher
        What `numba.njit` returns; a plain function, where compilation is switched off, stays so.
    what : str, optional
        Of what it is a part, such as "engine": said once when nothing was kept.
    """
    if hasattr(compiled, "py_func"):
        with suppress(RuntimeError, OSError):  # no folder to write in: every run compiles
            cast("Any", compiled)._cache = _Cache(compiled, what)
    return compiled


class _Code(CompileResultCacheImpl):
    """Machine code on disk, without the modules from which it keeps no constant.

    numba would import them all to load the code, even those that it only compiles from.
    """

    def reduce(self, cres: Any) -> tuple[Any, ...]:
        """The parts to be written."""
        *parts_of_code, environments = super().reduce(cres)
        return (*parts_of_code, tuple(each for each in environments if each.consts))


class _Cache(FunctionCache):
    """numba's cache, in a folder of its own for each state of the sources."""

    _impl_class = _Code

    def __init__(self, compiled: Any, what: str | None) -> None:
        super().__init__(compiled.py_func)
        self._compiled = compiled
        self._what = what
        self._above = Path(self._cache_path)
        self._begun = 0.0

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before; None where there is nothing, or nothing that can be read.

        numba first loads all that it knows how to compile, which takes longer than this does and
        is of no use to machine code; it does so again where something is compiled after all.
        """
        try:
            self._turn_to_folder(sig)
            rtsys.initialize(target_context)
            code = self._load_overload(sig, target_context)
        except Exception:  # damaged files raise whatever the damage leads to
            code = None
            with suppress(OSError):
                self.flush()
        if code is None and self._what is not None:
            self._begun = time.monotonic()
            _announce(self._what, place_of_code(self._above))
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if the disk lets us, and what the longest part of it took."""
        if self._what is not None:
            spent = time.monotonic() - self._begun
            if spent > _LONGEST[self._what]:
                _LONGEST[self._what] = spent
                note_time(self._what, place_of_code(self._above), spent)
        with suppress(OSError):
            self._turn_to_folder(sig)
            super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Of the signature and the machine: the folder's name stands for all the code.

        numba adds the functions that this one is made of, by numbers that every process gives anew.
        """
        return sig, codegen.magic_tuple()

    def _turn_to_folder(self, sig: Any) -> None:
        folder = self._above / f"crawlsim-{_stamp(self._compiled, _passed(sig))}"
        folder.mkdir(exist_ok=True)
        self._cache_path = str(folder)
        base = self._impl.filename_base
        self._cache_file = IndexDataCacheFile(self._cache_path, base, source_stamp="")


def _announce(what: str, place: Path) -> None:
    """Say once that compilation takes its time."""
    if what not in _LONGEST:
        _LONGEST[what] = 0.0
        words = time_in_words(what, place)
        _LOG.info("compiling the %s, %s; later runs find it compiled", what, words)


@cache
def _stamp(compiled: Any, passed: tuple[Any, ...]) -> str:
    """A name for what the compiled code depends on, the machine and numba's version apart."""
    settings = f"{np.__version__} {numba.config.BOUNDSCHECK} {_how()}"  # type: ignore[attr-defined]  # read from the environment
    texts = [settings, *parts(compiled)]
    for each in passed:
        texts += [_of_class(each)] if isinstance(each, type) else parts(each)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


@cache
def _how() -> str:
    """A name for the way in which code is compiled and passes things on."""
    own = Path(__file__)
    files = (own, own.with_name("in_place.py"))
    return hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()


def parts(compiled: Any) -> list[str]:
    """All that the machine code of a function is made of, as texts.

    Parameters
    ----------
    compiled : dispatcher or function

    Returns
    -------
    list of str
        Of every function that is called, directly or not, its code and options, every constant and
        class that it reads, and which function it calls where: the same functions may be nested in
        several orders. Plain functions only of the caller's own package and `scenarios`.
    """
    waiting = [compiled]
    number = {_function(compiled): 0}
    texts: list[str] = []
    for each in waiting:  # and those that are found meanwhile
        function = _function(each)
        ours = {_package(function.__module__), _package(__name__)}
        name = f"{function.__module__}.{function.__qualname__}"
        options = getattr(each, "targetoptions", None)
        defaults = f"{function.__defaults__} {function.__kwdefaults__}"
        texts.append(f"{name} {options} {defaults} {_of_code(function.__code__)}")
        for place, value in _read_by(function, ours):
            called = _function(value)
            is_ours = hasattr(value, "py_func") or (called and _package(called.__module__) in ours)
            if not is_ours:
                texts.append(f"{name} {place} {_of_value(value)}")
                continue
            if called not in number:
                number[called] = len(waiting)
                waiting.append(value)
            texts.append(f"{name} {place} function {number[called]}")
    return texts


def _read_by(function: Any, ours: set[str]) -> Iterator[tuple[str, Any]]:
    """Names and values that a function reads from outside, those in tuples and our modules too."""
    names = sorted(set(_names(function.__code__)))
    cells = (each.cell_contents for each in function.__closure__ or ())
    read = dict(zip(function.__code__.co_freevars, cells, strict=True))
    globals_ = function.__globals__
    read |= {name: globals_[name] for name in names if name in globals_}
    for name, value in read.items():
        yield from _within(name, value)
        if isinstance(value, ModuleType) and _package(value.__name__) in ours:
            yield from (
                (f"{name}.{each}", vars(value)[each]) for each in names if each in vars(value)
            )


def _within(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value and, of a tuple, all that is in it, however deep."""
    yield name, value
    if isinstance(value, tuple):
        for place, each in enumerate(value):
            yield from _within(f"{name}[{place}]", each)


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes in a piece of code and in those within it."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)


def _of_code(code: CodeType) -> str:
    """What a piece of code does, without its place in a file."""
    constants = [
        _of_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)
    return f"{code.co_code.hex()} {names} {constants}"


def _of_value(value: Any) -> str:
    """A constant by its value, anything else by its name."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        return repr(value)
    if isinstance(value, tuple):
        return f"{type(value).__qualname__} {[_of_value(each) for each in value]}"
    if isinstance(value, type):
        return _of_class(value)
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', '')}"


def _of_class(named: type) -> str:
    """A named tuple by its fields, any class by its name."""
    return f"{named.__module__}.{named.__qualname__} {getattr(named, '_fields', ())}"


def _passed(sig: Any) -> tuple[Any, ...]:
    """Named tuples and compiled functions among the arguments, those within others included."""
    given: Iterable[Any] = sig.args if hasattr(sig, "args") else sig
    passed: list[Any] = []
    for each in given:
        if hasattr(each, "instance_class"):
            passed.append(each.instance_class)
        if isinstance(each, types.Dispatcher):
            passed.append(each.dispatcher)
        if isinstance(each, types.BaseTuple):
            passed += _passed(each)
    return tuple(passed)


def _function(value: Any) -> Any:
    """The Python function of a compiled or plain function, or of an intrinsic; else None."""
    function = getattr(value, "py_func", getattr(value, "_defn", value))
    return function if hasattr(function, "__code__") else None


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]
