"""The command `explore`: the live page."""

from __future__ import annotations

import errno
import os
import secrets
import sys
import threading
import webbrowser

import click

from crawlsim.cli.options import command, option, takes
from crawlsim.cli.workers import processes

_PROCESSES = 2
"""One for formulas, one for the compiled engine."""


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
        from crawlsim.explore import server
    except ImportError as error:
        if (error.name or "").partition(".")[0] in ("crawlsim", "sim", "analytic", "scenarios"):
            raise
        raise click.ClickException("explore needs: pip install 'crawlsim[explore]'") from None
    from crawlsim.explore.lesson import opened

    first = None if source is None else opened(source)
    try:
        listener = server.listening(port or 0)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise click.ClickException(f"port {port} is taken; choose another with --port") from None
    token = secrets.token_urlsafe(24)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/?token={token}"
    with processes(_PROCESSES) as executor, listener:
        click.echo(address)
        sys.stdout.flush()
        if not no_browser and _has_screen():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        server.serve(listener, token, executor, first)


def _has_screen() -> bool:
    """Whether a browser would come in a window: one within the terminal is in the way."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
