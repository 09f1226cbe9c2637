"""Interrupts wait where none may be raised.

That is while compiled code takes its arguments apart, and while pydantic serialises. It stands in
`scenarios`, since the scenario is what pydantic serialises, and both `scenarios` and `sim` call it;
what an interrupt ends with, its message and exit code 130, is in `crawlsim/cli/program.py`
(`_exit_code`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Watch:
    """A handler of interrupts that hands them on, but not during a call that cannot bear them.

    Parameters
    ----------
    handler : callable
        The one that was there before.

    Attributes
    ----------
    compilations : int
        Functions that are being compiled now, one for the sake of another.
    """

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self._handler = handler
        self.compilations = 0
        self._holds = False
        self._came: tuple[int, FrameType | None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """An interrupt comes."""
        if self._holds and not self.compilations:
            self._came = number, frame
        else:
            self._handler(number, frame)

    def uninterrupted(self, function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
        """Call a function; an interrupt that comes meanwhile comes at its end."""
        self._holds = True
        try:
            return function(*arguments)
        finally:
            self._holds = False
            if self._came is not None:
                came, self._came = self._came, None
                self._handler(*came)


class _OfThread(threading.local):
    watch: _Watch | None = None


_here = _OfThread()


@contextmanager
def interrupts_watched() -> Iterator[None]:
    """Let `uninterrupted` hold interrupts, here and in all that is called from here.

    To change the handler takes longer than a short replication's calls of compiled code, so it is
    done once for as many as possible. Only the main thread hears of interrupts, and only where
    Python handles them.
    """
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main and _here.watch is None else None
    if not callable(handler):
        yield
        return
    watch = _Watch(handler)
    try:
        signal.signal(signal.SIGINT, watch)
        _here.watch = watch
        yield
    finally:
        _here.watch = None
        if signal.getsignal(signal.SIGINT) is watch:
            signal.signal(signal.SIGINT, handler)


def uninterrupted(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    """Call a function that cannot bear an interrupt.

    Reading the fields of a record calls Python, where an interrupt would be raised; compiled code
    then goes on with what it has not read. So does pydantic where it calls a serialiser of ours: an
    interrupt would be lost, and the value come out otherwise.

    Parameters
    ----------
    function : callable
    arguments : tuple
    """
    watch = _here.watch
    return function(*arguments) if watch is None else watch.uninterrupted(function, arguments)


def count_compilations(change: int) -> None:
    """Hear that one more function is being compiled, or one less.

    A call may have to compile first, which takes its time; an interrupt comes at once meanwhile.

    Parameters
    ----------
    change : int
        1 when a compilation begins, -1 when it ends.
    """
    if _here.watch is not None:
        _here.watch.compilations += change
