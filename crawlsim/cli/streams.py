"""What a terminal gets: text that cannot act on it, and a line now and then while one waits."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any, TextIO, cast

import click

from scenarios.text import visible


class OutputError(Exception):
    """Output that cannot be written; the text says why."""


class Interrupted(KeyboardInterrupt):
    """Stopped by the user; the text says what is kept."""


class Checked:
    """A text stream whose failures are `OutputError`, but for that of a reader that has gone.

    It has no `buffer`: what is written goes through `write`.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        with _failures_said():
            return self.stream.write(text)

    def flush(self) -> None:
        """Write what is held back."""
        with _failures_said():
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        if name not in ("closed", "encoding", "errors", "fileno", "isatty"):
            raise AttributeError(name)
        return getattr(self.stream, name)


class Shown(Checked):
    """A text stream that shows what would act on a terminal (`scenarios.text.visible`).

    Parameters
    ----------
    stream : text stream
        Where the text goes.
    """

    def write(self, text: str) -> int:
        """Write a text."""
        super().write(visible(text))
        return len(text)


_SPELLED = "crawlsim.spelled"

_PLAIN = {"±": "+/-", "²": "^2", "×": "x", "≥": ">=", "≤": "<=", "→": "->", "…": "..."}
_PLAIN |= dict.fromkeys("–—−", "-") | dict.fromkeys("“”„", '"') | dict.fromkeys("‘’", "'")
"""Signs, and what stands for them where a stream has no letters but those of ASCII."""


def _spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is written in place of letters that a stream cannot have; a question mark at worst."""
    assert isinstance(error, UnicodeEncodeError)
    letters = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in letters), error.end


codecs.register_error(_SPELLED, _spelled)


def writable(text: str) -> str:
    """A text as stdout can have it."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, _SPELLED).decode(encoding)


@contextmanager
def _failures_said() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror or str(error)) from None


_SIZE = re.compile("[1-9][0-9]{0,3}")


def environment() -> dict[str, str]:
    """The environment, without sizes of a terminal that are none."""
    sizes = ("COLUMNS", "LINES")
    return {k: v for k, v in os.environ.items() if k not in sizes or _SIZE.fullmatch(v)}


@contextmanager
def shown_streams() -> Iterator[None]:
    """While it lasts, stdout and stderr show what would act on a terminal.

    Raises
    ------
    OutputError
        If stdout is closed: better said now than when the work is done.
    """
    with ExitStack() as until_the_end:
        if sys.stderr is None:  # closed; a file that is opened later must not take its place
            nowhere = until_the_end.enter_context(open(os.devnull, "w"))  # noqa: PTH123
            until_the_end.enter_context(redirect_stderr(nowhere))
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors=_SPELLED)
        until_the_end.enter_context(redirect_stderr(cast("TextIO", Shown(sys.stderr))))
        if sys.stdout is None:
            raise OutputError("stdout is closed")
        until_the_end.enter_context(redirect_stdout(cast("TextIO", Shown(sys.stdout))))
        yield


EVERY = 10.0
"""Seconds between two lines, and before the first."""


@dataclass
class Stage:
    """A part of the work whose steps are counted.

    Attributes
    ----------
    title : str
    things : str
        What is counted: "replications", "cells".
    done : int
    total : int or None
    first, last : (int, float), optional
        After how many steps, and when by a monotonic clock, the first ones and the last ones were
        done.
    """

    title: str
    things: str
    done: int = 0
    total: int | None = None
    first: tuple[int, float] | None = None
    last: tuple[int, float] | None = None

    def reached(self, done: int, total: int) -> None:
        """So many steps are done."""
        self.total = total
        if done > self.done:
            self.last = (done, time.monotonic())
            self.first = self.first or self.last
        self.done = done

    def words(self) -> str:
        """How far it is, and how long it will take at the pace of the steps after the first.

        Before that one is done, something may have had to be compiled or set up once for all.
        """
        if self.total is None:
            return f"{self.title}: at work"
        counted = f"{self.title}: {self.done:,} of {self.total:,} {self.things}"
        if self.first is None or self.last is None or not self.first[0] < self.done < self.total:
            return counted
        (begun, since), (done, now) = self.first, self.last
        left = (now - since) * (self.total - done) / (done - begun) - (time.monotonic() - now)
        return f"{counted}, about {max(left, 0.0):.0f} s left"


_stages: list[Stage] = []
"""What is going on, the innermost last."""

_said_at = 0.0
"""When anything was last said, by a monotonic clock."""


@contextmanager
def stage(title: str, things: str) -> Iterator[Stage]:
    """Count steps of a part of the work; within another one it stands behind that."""
    here = Stage(title, things)
    _stages.append(here)
    try:
        yield here
    finally:
        _stages.remove(here)


def something_was_said() -> None:
    """Somebody else has just said how far the work is: no line is due for a while."""
    global _said_at
    _said_at = time.monotonic()


@contextmanager
def lines_while_waiting(command: str) -> Iterator[None]:
    """Say every ten seconds how far a command is, where stderr is not a terminal."""
    if sys.stderr is None or sys.stderr.isatty():
        yield
        return
    finished = threading.Event()
    something_was_said()
    speaker = threading.Thread(target=_speak, args=(command, finished), daemon=True)
    speaker.start()
    try:
        yield
    finally:
        finished.set()
        speaker.join()


def _speak(command: str, finished: threading.Event) -> None:
    begun = time.monotonic()
    while not finished.wait(max(_said_at + EVERY - time.monotonic(), 0.0)):
        if time.monotonic() < _said_at + EVERY:
            continue
        words = "; ".join(each.words() for each in _stages) or f"{command}: at work"
        with suppress(OSError, ValueError):  # nobody reads any more
            click.echo(f"crawlsim: {words} ({time.monotonic() - begun:.0f} s)", err=True)
        something_was_said()
