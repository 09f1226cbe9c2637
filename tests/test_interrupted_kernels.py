"""Interrupts at any moment of a compiled run end it as interrupts, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sim.compiled_engine.jit import interrupts_held


def test_an_interrupt_waits_for_the_end_and_is_not_lost() -> None:
    after = []

    def call() -> None:
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            after.append("the call")

    with pytest.raises(KeyboardInterrupt):
        call()
    assert after == ["the call"]


def test_the_handler_is_there_again() -> None:
    handler = signal.getsignal(signal.SIGINT)
    with interrupts_held():
        assert signal.getsignal(signal.SIGINT) is not handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_another_thread_has_nothing_to_hold() -> None:
    seen = []

    def work() -> None:
        with interrupts_held():
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


@pytest.mark.large
def test_interrupts_at_hundreds_of_moments_of_short_replications_are_interrupts() -> None:
    """Without the hold some are raised while records are read, up to a crash of the process."""
    command = [sys.executable, "-c", HUNDREDS]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "all were interrupts\n"), done.stderr[-2000:]
