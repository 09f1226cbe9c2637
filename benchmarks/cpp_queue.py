"""The benchmark queue in C++ (`queue.cpp`), compiled here, with the streams of this project.

It is linked with the library of random numbers that numpy ships for C programs, and starts from the
same states, so that it simulates the very path of the compiled engine: its counts must be the same.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from outcome import Outcome

from sim.compiled_engine.seeding import Streams
from sim.compiled_engine.states import places_of_words

SOURCE = Path(__file__).with_name("queue.cpp")
ROBOTS = 4


def compiler() -> str | None:
    """A C++ compiler, if there is one."""
    return shutil.which("g++") or shutil.which("clang++")


def run(horizon: float, seed: int) -> Outcome:
    """One run from time 0 to the horizon."""
    streams = Streams(seed, 0)
    states = [
        streams.states("access", range(ROBOTS)),
        streams.states("service", [0]),
        streams.states("obsolescence", [0]),
    ]
    words = np.concatenate(states)[:, places_of_words()].ravel().tolist()
    call = [_program(), repr(float(horizon)), *map(str, words)]
    printed = subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()
    return Outcome(*map(int, printed[:4]), seconds=float(printed[-1]))


@cache
def _program() -> str:
    """The compiled program, in a temporary folder that lasts as long as this process."""
    place = tempfile.mkdtemp(prefix="crawlsim-cpp-")
    program = str(Path(place, "queue"))
    found = compiler()
    assert found is not None
    library = Path(np.__file__).parent / "random" / "lib"
    flags = ["-O3", "-std=c++17", f"-I{np.get_include()}", str(SOURCE), f"-L{library}"]
    subprocess.run([found, *flags, "-lnpyrandom", "-lm", "-o", program], check=True)
    return program
