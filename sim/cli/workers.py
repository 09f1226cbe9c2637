"""Worker processes for replications, and what Ctrl-C does to them."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

__all__ = ["workers"]


@contextmanager
def workers(jobs: int) -> Iterator[Executor | None]:
    """An executor with `jobs` processes, or None for this process alone.

    An interrupt ends the workers at once instead of waiting for their replications.
    """
    if jobs == 1:
        yield None
        return
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(jobs, context, initializer=_leave_interrupts_to_the_parent)
    try:
        yield executor
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        executor.shutdown()


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
