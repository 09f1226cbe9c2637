"""The command line: `main`, and interrupts that no library swallows."""

from __future__ import annotations

import _thread
import gc
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from sys import UnraisableHookArgs

__all__ = ["main"]

_BAD_INPUT = 2
_INTERRUPTED = 130

_LEAST_MEMORY = 800_000_000
_MEMORY_OF_A_CORE = 100_000_000
"""Bytes of addresses that short commands were seen to need, and those for each thread of BLAS."""

_SELDOM = 300_000
"""Objects made before garbage is looked for, more than a short command makes. Loading leaves no
garbage: to look for it among several hundred thousand objects, as often as Python does by default,
took a tenth of a short command, and once still takes 50 ms."""

_SOON = 0.05
"""Seconds after which an interrupt that was swallowed comes again."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; without arguments those of the process, which then ends.

    Exit codes: 0 success, 1 a check disagreed, a bound of ``--fail-if`` is broken or no cell is
    within one of ``--first`` or ``--last``, 2 bad input, 3 nobody can tell whether a bound is
    broken, 70 a bug in crawlsim itself, 130 interrupted, be it while the program is still being
    loaded.
    """
    keep_interrupts()
    _require_memory()
    if arguments is None:
        gc.set_threshold(_SELDOM)
        sys.meta_path.insert(0, _LazyF2py)
    if {"fit", "schedule"}.intersection(sys.argv[1:] if arguments is None else arguments):
        # Their products are of small blocks, on which the threads of BLAS would only spin.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from crawlsim.cli.program import start  # takes a second: the rest of the command line
    except KeyboardInterrupt:
        print("crawlsim: interrupted; nothing was written", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    start(arguments)


class _LazyF2py:
    """Puts off numpy's wrapper generator for Fortran until something uses it.

    `scipy.special` goes through all that numpy has, and so would load it: 60 ms of each command.
    """

    @staticmethod
    def find_spec(name: str, path: Any, _target: Any = None) -> ModuleSpec | None:
        """The specification of that package, and of no other."""
        if name != "numpy.f2py":
            return None
        from importlib.machinery import PathFinder
        from importlib.util import LazyLoader

        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def _require_memory() -> None:
    """End with 2 where the process may not have the memory that numpy and scipy reserve.

    OpenBLAS, which comes with each of them, would wait for it without end.
    """
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # Windows
        return
    allowed = getrlimit(RLIMIT_AS)[0]
    needed = _LEAST_MEMORY + _MEMORY_OF_A_CORE * (os.cpu_count() or 1)
    if allowed != RLIM_INFINITY and allowed < needed:
        print(
            f"crawlsim: this process may have {allowed / 1e6:,.0f} MB of memory (ulimit -v), and "
            f"{needed / 1e6:,.0f} MB are needed on this machine",
            file=sys.stderr,
        )
        sys.exit(_BAD_INPUT)


def keep_interrupts() -> None:
    """Let interrupts that hit code which can raise nothing come again, until one gets through.

    While a function is compiled or read from the cache, the compiler calls back into Python; what
    is raised there is reported as ignored, and the search would go on to its end.
    """
    sys.unraisablehook = _again


def _again(ignored: UnraisableHookArgs) -> None:
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return
    later = threading.Timer(_SOON, _thread.interrupt_main)
    later.daemon = True
    later.start()
