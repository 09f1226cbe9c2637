"""Interrupts at any moment of a compiled run end it as interrupts, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.extending import overload

from scenarios.interrupts import interrupts_watched, uninterrupted
from sim.compiled_engine.jit import kernel

interpreted = os.environ.get("NUMBA_DISABLE_JIT") == "1"


def interrupt() -> None:
    """Interrupt this process, and wait until it has heard of it."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)


def test_an_interrupt_waits_for_the_end_and_is_not_lost() -> None:
    after = []

    def call() -> None:
        interrupt()
        after.append("the call")

    with interrupts_watched(), pytest.raises(KeyboardInterrupt):
        uninterrupted(call, ())
    assert after == ["the call"]


def test_between_two_calls_an_interrupt_comes_at_once() -> None:
    with interrupts_watched():
        uninterrupted(int, (1,))
        with pytest.raises(KeyboardInterrupt):
            interrupt()


@pytest.mark.skipif(interpreted, reason="nothing is compiled")
def test_a_call_that_has_to_compile_is_interrupted_at_once() -> None:
    """Though the same kernel was called before, with arguments of other types."""
    went_on = []

    def same(number: float) -> float:
        return number

    @overload(same)
    def _(number):  # type: ignore[no-untyped-def]  # numba compares the signatures
        if isinstance(number, numba.types.Float):
            interrupt()
            went_on.append("the compilation")
        return lambda number: number

    @kernel
    def called(number: float) -> float:
        return same(number)

    with interrupts_watched():
        assert uninterrupted(called.compiled, (1,)) == 1
        with pytest.raises(KeyboardInterrupt):
            uninterrupted(called.compiled, (1.0,))
    assert not went_on


def test_the_handler_is_there_again() -> None:
    handler = signal.getsignal(signal.SIGINT)
    with interrupts_watched():
        watching = signal.getsignal(signal.SIGINT)
        assert watching is not handler
        with interrupts_watched():
            assert signal.getsignal(signal.SIGINT) is watching
        assert signal.getsignal(signal.SIGINT) is watching
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_that_came_meanwhile_stays() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with interrupts_watched():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL], ids=["ignored", "default"])
def test_where_python_handles_no_interrupts_nothing_is_held(handler: Any) -> None:
    before = signal.signal(signal.SIGINT, handler)
    try:
        with interrupts_watched():
            assert uninterrupted(signal.getsignal, (signal.SIGINT,)) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_has_nothing_to_hold() -> None:
    seen = []

    def work() -> None:
        with interrupts_watched():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]


HUNDREDS = """
import os, signal, sys, threading
sys.path.insert(0, "tests")
from systems import queue
from sim.compiled_engine import simulate
scenario = queue({"run.horizon": 60.0, "run.warmup": 5.0})
simulate(scenario, 0, 1)
for moment in range(300):
    timer = threading.Timer(0.0005 + moment * 1e-5, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        while True:
            simulate(scenario, moment, 1)
    except KeyboardInterrupt:
        timer.join()
print("all were interrupts")
"""


@pytest.mark.thorough
@pytest.mark.large
def test_interrupts_at_hundreds_of_moments_of_short_replications_are_interrupts() -> None:
    """Without the hold some are raised while records are read, up to a crash of the process."""
    command = [sys.executable, "-c", HUNDREDS]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "all were interrupts\n"), done.stderr[-2000:]


@pytest.mark.skipif(interpreted, reason="nothing is compiled")
def test_a_kernel_runs_beside_other_threads() -> None:
    """The live page answers while it simulates: a kernel does not hold the interpreter's lock."""

    @kernel
    def called(number: float) -> float:
        return number

    assert called.compiled.targetoptions["nogil"]  # type: ignore[attr-defined]  # of numba
