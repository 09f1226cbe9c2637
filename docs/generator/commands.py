"""A page for each command: what it does, every option, a call."""

from __future__ import annotations

import inspect

import click

from crawlsim.cli.program import commands
from generator.markdown import block, code, heading, page, plain, prose, table, toctree

FOLDER = "reference/commands"


def command_pages() -> dict[str, str]:
    """The pages by their places."""
    loaded = {name: each.loaded for name, each in commands.every.items()}
    pages = {f"{FOLDER}/{name}": _page(name, each) for name, each in loaded.items()}
    rows = [
        [f"[`crawlsim {name}`](#command-{name})", prose(_help(each))]
        for name, each in loaded.items()
    ]
    pages[f"{FOLDER}/index"] = page(
        "# Commands",
        "`crawlsim --help` lists them; each has `--help`, which ends with an example and the next "
        "command to try. Exit codes: 0 success, 1 a check disagreed, 2 bad input, 70 an internal "
        "error, 130 interrupted.",
        table(["command", "what it does"], rows),
        toctree(loaded, "hidden"),
    )
    return pages


def _page(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"crawlsim {name}", **command.context_settings)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    options = [each for each in command.params if isinstance(each, click.Option)]
    rows = [[_option(each), plain(each.help or "")] for each in options]
    example, then = _end(command)
    return page(
        heading(f"command-{name}", code(f"crawlsim {name}")),
        prose(_help(command)),
        block(usage, "sh"),
        "## Options",
        table(["option", "what it does"], [*rows, ["`-h`, `--help`", "Show the help and exit\\."]]),
        "## A call",
        block(example, "sh"),
        f"Next: {_next(then)}",
    )


def _help(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").replace("\b", "")


def _option(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    return ", ".join(code(name + value) for name in [*option.opts, *option.secondary_opts])


def _end(command: click.Command) -> tuple[str, str]:
    """The example, and the next command to try, of the end of the help."""
    lines = inspect.cleandoc(command.epilog or "").replace("\b", "").strip().splitlines()
    example, then = (line.partition(":")[2].strip() for line in lines)
    return example, then


def _next(then: str) -> str:
    line, comma, reason = then.partition(", ")
    return code(line) + comma + plain(reason)
