"""Interrupts wait while compiled code takes its arguments apart, where none may be raised."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let an interrupt that comes meanwhile come at the end.

    Reading the fields of a record calls Python, where an interrupt would be raised; compiled code
    then goes on with what it has not read. Only the main thread hears of interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, Any]] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came and callable(handler):
            handler(*came[0])
