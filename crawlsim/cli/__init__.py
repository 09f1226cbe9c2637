"""The command line; the only part of `sim` that sees the formulas too."""

from __future__ import annotations

import sys

from crawlsim.cli.interrupts import keep_interrupts

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """Run the command line.

    Exit codes: 0 success, 1 a check disagreed, 2 bad input, 70 a defect of crawlsim itself,
    130 interrupted, be it while the program is still being loaded.
    """
    keep_interrupts()
    try:
        from crawlsim.cli.program import start  # takes a second: the rest of the command line
    except KeyboardInterrupt:
        print("crawlsim: interrupted; nothing was written", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    start(arguments)
