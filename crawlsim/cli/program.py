"""The commands, what they log, and the codes they end with."""

from __future__ import annotations

import errno
import logging
import os
import platform
import sys
import threading
import traceback
from contextlib import nullcontext, suppress
from typing import NoReturn, TextIO

import click

from crawlsim.cli.later import HELP, OURS, Commands, Later
from crawlsim.cli.streams import (
    Interrupted,
    OutputError,
    lines_while_waiting,
    shown_streams,
    something_was_said,
)
from scenarios.errors import LONGEST_LINE, ScenarioError
from scenarios.text import shortened, visible

_DEFECT = 70
_INTERRUPTED = 130
_MAY_BE_ABSENT = ("numba", "pandas")
"""What platforms without machine code, a browser for one, do not have."""

_NEVER_DONE = ("explore",)
"""Commands for whose end nobody waits."""


def _show_versions(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from crawlsim.cli.files import package_versions

        ours, *others = package_versions().items()
        below = [("Python", platform.python_version()), *others]
        click.echo(f"{ours[0]} {ours[1]}\n{', '.join(f'{name} {what}' for name, what in below)}")
        context.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": HELP, "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_versions,
    help="Show the versions of the program and of what its numbers depend on, and exit.",
)
def commands() -> None:
    """Simulate the robots of a search engine, solve the same system exactly, compare the two.

    \b
    Where to begin:
      crawlsim new my.toml      writes a scenario with comments: put your numbers in
      crawlsim check my.toml    what happens there, and do the formulas say the same?
      crawlsim scenarios        systems that are ready to run
      crawlsim run --help       options, an example, and what to try next; of every command
    """  # noqa: D301  # click takes the character itself


for _name, _home, _summary in (
    ("new", "new:new", "Write a commented scenario file to start from."),
    ("scenarios", "listing:list_scenarios", "List the scenarios of the library, or print one."),
    ("run", "commands:run", "Simulate scenarios: estimates with 95 % intervals."),
    ("solve", "commands:solve", "Evaluate the formulas that apply; why others do not."),
    ("check", "commands:check", "Simulate and solve, and say whether the two agree."),
    ("rare", "rare:rare", "Find a loss probability too small to be counted."),
    ("optimize", "optimize:optimize", "Find the best decision, exactly or by simulation."),
    ("sweep", "sweep:sweep", "Simulate and solve every combination of some entries."),
    ("compare", "compare:compare", "Compare two designs with common random numbers."),
    ("fit", "fit:fit", "Make a scenario from a log, with error bars."),
    ("schedule", "schedule:schedule", "Plan from a crawl log how often to visit each page."),
    ("frequencies", "frequencies:frequencies", "Find how often to access each of very many pages."),
    ("repeat", "study:repeat_study", "Run a study again: is it the same, byte for byte?"),
    ("explore", "explore:explore", "Open the live page: watch a formula and a simulation."),
    ("export", "export:export", "Write the same system as a program of LINE, Ciw or SimPy."),
    ("formulas", "listing:formulas", "List the formulas, and when they hold."),
    ("schema", "listing:print_schema", "JSON Schema of the scenario file, for editors."),
):
    commands.add_command(Later(_name, f"crawlsim.cli.{_home}", _summary))


def start(arguments: list[str] | None = None) -> None:
    """Run the commands and exit, with the codes of `crawlsim.cli.main`.

    The program itself ends without first taking apart all that it has loaded: that took a sixth of
    a short command.
    """
    try:
        with shown_streams():
            _show_what_is_logged()
            code = _exit_code(arguments)
    except OutputError as error:
        code = _not_written(str(error))
    if code in (_DEFECT, _INTERRUPTED) and _threads_are_left():
        os._exit(code)
    if arguments is None and not _threads_are_left():
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> NoReturn:
    """End the process once all is written that anybody can read."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # it was closed before the start
            with suppress(OSError):
                stream.flush()
    os._exit(code)


def _threads_are_left() -> bool:
    """Whether there are worker threads, which would first finish their replications."""
    return threading.active_count() > 1


def _show_what_is_logged() -> None:
    """What the engines and the solvers have to say while one waits, on stderr."""
    handler = _Handler()
    handler.setFormatter(logging.Formatter("crawlsim: %(message)s"))
    for package in ("scenarios", "sim", "analytic", "crawlsim"):
        log = logging.getLogger(package)
        log.handlers = [handler]
        log.setLevel(logging.INFO)
        log.propagate = False


class _Handler(logging.StreamHandler[TextIO]):
    """Log lines on stderr, known to `lines_while_waiting`."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        super().emit(record)
        something_was_said()


def _exit_code(arguments: list[str] | None) -> int:
    command: click.Command = commands
    try:
        given = sys.argv[1:] if arguments is None else arguments
        command = next((found for each in given if (found := commands.find(each))), commands)
        name = "crawlsim" if command is commands else str(command.name)
        with nullcontext() if name in _NEVER_DONE else lines_while_waiting(name):
            code = commands.main(arguments, prog_name="crawlsim", standalone_mode=False)
            sys.stdout.flush()
    except ScenarioError as error:
        click.echo(f"crawlsim: {error}", err=True)
        return 2
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        where = getattr(error, "ctx", None)
        help_of = f"\nsee: {where.command_path} --help" if where else ""
        message = shortened(visible(error.format_message()), LONGEST_LINE)
        click.echo(f"crawlsim: {message}{help_of}", err=True)
        return 2
    except (KeyboardInterrupt, click.Abort) as error:
        cause = error.__cause__
        what = str(cause) if isinstance(cause, Interrupted) else "nothing was written"
        click.echo(f"crawlsim: interrupted; {what}", err=True)
        return _INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # click turns a closed pipe into an exit with 1, which here means that something failed.
        _forget_output()
        return 0
    except OutputError as error:
        _forget_output()
        return _not_written(str(error))
    except Exception as error:
        from scenarios.plugins import blamed  # help needs none of it

        if reason := blamed(error):
            click.echo(f"crawlsim: {reason}", err=True)
            return 2
        return _reported(error, getattr(command, "package", OURS))
    return code if isinstance(code, int) else 0


def _not_written(reason: str) -> int:
    """Output that nobody gets, said where that can be said."""
    with suppress(OSError, OutputError):
        click.echo(f"crawlsim: cannot write the output: {reason}", err=True)
    return 2


def _reported(error: Exception, package: str) -> int:
    """What the machine lacks; what nobody foresaw, shown whole; not 1: no check disagreed."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO):
        return _not_written(error.strerror or str(error))
    if isinstance(error, MemoryError):
        reason = str(error) or "it takes a smaller system, or a machine with more"
        click.echo(f"crawlsim: there is not enough memory: {reason}", err=True)
        return 2
    if isinstance(error, ModuleNotFoundError):
        needed = (error.name or "").partition(".")[0]
        if needed in _MAY_BE_ABSENT:
            click.echo(f"crawlsim: this needs {needed}, which is not installed here", err=True)
            return 2
    traceback.print_exc()
    click.echo(f"crawlsim: this is a bug in {package}; please report what is shown above", err=True)
    return _DEFECT


def _forget_output() -> None:
    """What is still buffered goes nowhere, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
