"""The command `explore`: the live page."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import sys
import threading
import webbrowser
from importlib import import_module

import click

from crawlsim.cli.options import command, option, takes
from crawlsim.cli.workers import processes

_NEEDED = ("starlette", "uvicorn", "latex2mathml")
"""What the extra brings."""


@command(
    example="crawlsim explore",
    then="crawlsim explore my.toml, the same of your own system or lesson",
)
@takes(
    click.argument("source", metavar="[SCENARIO]", required=False),
    option("--port N", "Port; by default one that is free.", type=click.IntRange(0, 65535)),
    option("--no-browser", "Print the address only."),
)
def explore(source: str | None, port: int | None, no_browser: bool) -> None:
    """Open the live page: watch a formula and a simulation, and break what it assumes."""
    try:
        for needed in _NEEDED:
            import_module(needed)
    except ImportError:
        raise click.ClickException("explore needs: pip install 'crawlsim[explore]'") from None
    with processes(1) as engine, processes(1) as solver:  # they start while this one imports
        from crawlsim.explore import server
        from crawlsim.explore.own_scenario import opened

        first = None if source is None else opened(source)
        with _listening(port or 0) as listener:
            token = secrets.token_urlsafe(24)
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/?token={token}"
            click.echo(address)
            sys.stdout.flush()
            if not no_browser and _has_screen():
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            server.serve(listener, token, engine, solver, first)


def _listening(port: int) -> socket.socket:
    """A socket that hears this machine only."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = "is taken" if error.errno == errno.EADDRINUSE else f"is not free: {error.strerror}"
        raise click.ClickException(f"port {port} {reason}; choose another with --port") from None
    return listener


def _has_screen() -> bool:
    """Whether a browser would come in a window: one within the terminal is in the way."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
