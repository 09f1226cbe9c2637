"""The command `explore`: the live page."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawlsim.cli.options import command, option, takes
from crawlsim.cli.streams import lines_while_waiting
from crawlsim.cli.tables import warn
from crawlsim.cli.workers import processes
from scenarios import ScenarioError
from sim.atomic_files import staging

if TYPE_CHECKING:
    from crawlsim.cli.files import Text
    from crawlsim.explore.server import Explorer
    from crawlsim.explore.static import Replay

_NEEDED = ("starlette", "uvicorn", "latex2mathml")
"""What the extra brings."""

_TOKEN = re.compile(r"[\w-]{16,64}", re.ASCII)


@command(
    example="crawlsim explore",
    then="crawlsim explore my.toml, the same of your own system or lesson",
)
@takes(
    click.argument("source", metavar="[SCENARIO]", required=False),
    option("--port N", "Port; by default that of last time.", type=click.IntRange(0, 65535)),
    option("--token WORD", "What the address must hold; by default that of last time."),
    option("--no-browser", "Print the address only."),
    option("--static DIR", "Write replays of the lessons, to look at without a server."),
    option("--force", "Replace files of somebody else in that folder."),
)
def explore(
    source: str | None,
    port: int | None,
    token: str | None,
    no_browser: bool,
    static: str | None,
    force: bool,
) -> None:
    """Open the live page: watch a formula and a simulation, and break what it assumes."""
    try:
        for needed in _NEEDED:
            import_module(needed)
    except ImportError:
        raise click.ClickException("explore needs: pip install 'crawlsim[explore]'") from None
    for option_, value in (("--port", port), ("--token", token)):
        if static is not None and value is not None:
            raise ScenarioError(option_, value, "does not go with --static, which needs no server")
    with processes(1) as engine, processes(1) as solver:  # they start while this one imports
        from crawlsim.explore import server
        from crawlsim.explore.own_scenario import opened

        first = None if source is None else opened(source)
        if static is not None:
            _write_replays(server.Explorer(engine, solver, first), static, force)
            return
        if token is not None and not _TOKEN.fullmatch(token):
            allowed = "must be 16 to 64 letters, digits, hyphens and underscores"
            raise ScenarioError("--token", token, allowed)
        last_port, last_token = _last_time()
        token = token or last_token or secrets.token_urlsafe(24)
        with _listening(last_port if port is None else port, may_differ=port is None) as listener:
            used = listener.getsockname()[1]
            # A port that is taken for now is free again tomorrow, when a link asks for it.
            _remember(last_port if port is None and last_port else used, token)
            address = f"http://127.0.0.1:{used}/?token={token}"
            click.echo(address)
            sys.stdout.flush()
            if not no_browser and _has_screen():
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            server.serve(listener, token, engine, solver, first)


def _write_replays(explorer: Explorer, folder: str, force: bool) -> None:
    """The replays of all lessons, and the page that leads to them."""
    import asyncio  # what nobody else who explores waits for

    from crawlsim.cli.files import own_folder, place_of, provenance, write_files
    from crawlsim.cli.output import progress_bar
    from crawlsim.explore.static import at_most, index_of, replays

    async def made(progress: Callable[[int, int], None]) -> list[Replay]:
        pages: list[Replay] = []
        async for each in replays(explorer):
            pages.append(each)
            progress(len(pages), at_most(explorer))
        return pages

    own_folder(folder, ["index.html"], force=force, option="--static")
    with lines_while_waiting("explore"), progress_bar(folder, False, "replays") as progress:
        pages = asyncio.run(made(progress))
    files: dict[str, Text] = {each.name: each.text for each in pages if not each.refusal}
    files["index.html"] = index_of(pages)
    runs = [
        {"lesson": each.lesson.key, "setting": each.setting, "seed": each.seed}
        for each in pages
        if not each.refusal
    ]
    made_by = partial(provenance, runs, {"static": folder})
    write_files(place_of(folder), files, made_by, force=force, option="--static")
    for each in pages:
        if each.refusal:
            warn(f"{each.lesson.key}, {each.setting or 'as it is'}: {each.refusal}")
    begin = Path(folder) / "index.html"
    click.echo(f"written to {folder}: {len(files) - 1} replays; begin at {begin}")


def _kept() -> Path:
    """Where the port and the token of last time are, so that a link of yesterday opens today."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(state) / "crawlsim/explore.json"


def _last_time() -> tuple[int, str | None]:
    """The port and the token of last time; 0, for any port, and None where there were none."""
    with suppress(OSError, ValueError, TypeError, KeyError, RuntimeError):
        kept = json.loads(_kept().read_text("utf-8"))
        if 0 < kept["port"] < 65536 and _TOKEN.fullmatch(kept["token"]):
            return int(kept["port"]), str(kept["token"])
    return 0, None


def _remember(port: int, token: str) -> None:
    """Keep them, for their owner only; where there is no place for it they are new next time."""
    with suppress(OSError, RuntimeError), staging((place := _kept()).parent) as staged:
        file = staged / place.name
        file.touch(mode=0o600)
        file.write_text(json.dumps({"port": port, "token": token}), "utf-8")
        file.replace(place)


def _listening(port: int, may_differ: bool) -> socket.socket:
    """A socket that hears this machine only, at another port if the one is taken and it may."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        if port and may_differ:
            return _listening(0, may_differ)
        reason = "is taken" if error.errno == errno.EADDRINUSE else f"is not free: {error.strerror}"
        raise click.ClickException(f"port {port} {reason}; choose another with --port") from None
    return listener


def _has_screen() -> bool:
    """Whether a browser would come in a window: one within the terminal is in the way."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
