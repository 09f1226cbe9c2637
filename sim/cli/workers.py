"""Workers for replications, and what Ctrl-C does to them."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager

__all__ = ["workers"]


@contextmanager
def workers(jobs: int, engines: Iterable[str]) -> Iterator[Executor | None]:
    """An executor with `jobs` workers, or None for this process alone.

    Threads where all engines run without the interpreter's lock, which saves the start of
    processes (measured: benchmarks/README.md); else processes. An interrupt ends processes at
    once; threads end with the program.
    """
    from sim.replicate import ENGINES

    if jobs == 1:
        yield None
        return
    unlocked = all(ENGINES[engine].unlocked for engine in engines)
    executor = ThreadPoolExecutor(jobs) if unlocked else _processes(jobs)
    try:
        yield executor
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        executor.shutdown(wait=not unlocked, cancel_futures=True)
        raise
    executor.shutdown()


def _processes(jobs: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, context, initializer=_leave_interrupts_to_the_parent)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
