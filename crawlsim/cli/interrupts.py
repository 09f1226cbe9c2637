"""Interrupts that no library swallows."""

from __future__ import annotations

import _thread
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


_SOON = 0.05
"""Seconds after which an interrupt that was swallowed comes again."""


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
