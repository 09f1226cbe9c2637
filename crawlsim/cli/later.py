"""Commands that are loaded when they are called: those of the program, and those of other packages.

A package adds a command by an entry point of the group `crawlsim.commands`
(docs/from-python.md). Of a package that is broken the other commands know nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crawlsim.companions import stranger
from scenarios.errors import LONGEST_LINE
from scenarios.text import shortened, visible

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUP = "crawlsim.commands"
OURS = "crawlsim"
"""The distribution, whose own commands come by entry points as well."""

HELP = ["-h", "--help"]
"""Options of every command that show its help."""


class Later(click.Command):
    """A command that is loaded when it is called: the list of all of them needs one line of it.

    Parameters
    ----------
    name : str
    home : str
        Its module, and what it is called there.
    summary : str
        What it does, in a few words.
    """

    def __init__(self, name: str, home: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._module, _, self._attribute = home.partition(":")

    @property
    def loaded(self) -> click.Command:
        """The command itself."""
        return _command(getattr(import_module(self._module), self._attribute))

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """The context of the command itself, so that click goes on with that."""
        return self.loaded.make_context(info_name, args, parent, **extra)


class OfPackage(Later):
    """A command of an installed package, which is loaded by its entry point.

    Parameters
    ----------
    entry : EntryPoint
    """

    def __init__(self, entry: EntryPoint) -> None:
        super().__init__(entry.name, entry.value, "")
        self._entry = entry
        self.package = OURS if entry.dist is None else _name_of(entry.dist)

    @cached_property
    def _named(self) -> click.Command:
        """What the entry point names, which may itself be loaded later."""
        with self._failures():
            if self.package == OURS and (reason := stranger(self._entry.module.partition(".")[0])):
                raise click.ClickException(reason)
            return _command(self._entry.load())

    @property
    def loaded(self) -> click.Command:
        """The command itself."""
        with self._failures():
            return self._named.loaded if isinstance(self._named, Later) else self._named

    def get_short_help_str(self, limit: int = 45) -> str:
        """What the command says of itself; if it cannot be loaded, stderr gets the reason."""
        try:
            return self._named.get_short_help_str(limit)
        except click.ClickException as error:
            _say(error.format_message())
            return "(cannot be loaded)"

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Say in one line that another package is broken, whatever it does."""
        try:
            yield
        except click.ClickException:
            raise
        except (Exception, SystemExit) as error:
            if self.package == OURS:
                raise
            what = f"the command {self.name} of the package {self.package} cannot be loaded"
            raise click.ClickException(f"{what}: {_reason(error)}") from error


class Commands(click.Group):
    """The commands of the program and, once one that is not among them is wanted, of packages.

    They do not end the program: who does is a stranger, whose 0 would be a success.
    """

    def find(self, name: str) -> click.Command | None:
        """The command of that name."""
        return self.commands.get(name) or self.every.get(name)

    @cached_property
    def every(self) -> dict[str, click.Command]:
        """All commands by name; of a name that is taken stderr says by whom."""
        for each in sorted(_of_packages(), key=lambda each: each.package != OURS):
            taken = self.commands.get(str(each.name))
            owner = taken.package if isinstance(taken, OfPackage) else OURS
            if taken is None:
                self.add_command(each)
            elif owner != each.package:  # or else it is a second copy of the same
                what = f"the command {each.name} of the package {each.package} is left out"
                _say(f"{what}: {owner} has one of that name")
        return dict(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's own
        """The same for click."""
        return self.find(cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's own
        """The names of all."""
        return sorted(self.every)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the one that is asked for."""
        try:
            return super().invoke(ctx)
        except SystemExit as error:
            raise RuntimeError("something that was imported ended the program") from error


def _command(found: object) -> click.Command:
    if not isinstance(found, click.Command):
        raise TypeError(f"{found!r} is not a command of click")
    return found


def _of_packages() -> Iterator[OfPackage]:
    """The commands of all that is installed; whose list cannot be read has none."""
    from importlib.metadata import distributions  # takes as long as all else

    for each in distributions():
        try:
            entries = each.entry_points.select(group=GROUP)
        except Exception as error:  # however a list is broken
            _say(f"the commands of the package {_name_of(each)} cannot be read: {_reason(error)}")
            continue
        yield from map(OfPackage, entries)


def _reason(error: BaseException) -> str:
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return shortened(visible(line), LONGEST_LINE)


@cache
def _name_of(distribution: Distribution) -> str:
    """Its name; where the file that says it is missing, that of its folder."""
    name: str | None = None
    with suppress(Exception):  # each version of Python has its own
        name = distribution.name
    return name or getattr(distribution, "_path", Path("without a name")).name.partition("-")[0]


@cache
def _say(line: str) -> None:
    """Write a line on stderr, once."""
    click.echo(f"crawlsim: {line}", err=True)
