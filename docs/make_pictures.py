"""Make docs/pictures/report.png, the picture of a report in README.md.

Run as ``python docs/make_pictures.py``; it needs chromium and takes half a minute.
"""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from PIL import Image

from sim.cli import main

SCENARIO = "four-robots-one-threshold"
WIDTH, HEIGHT, COLOURS = 1120, 960, 256
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync"
)


def make_picture(target: Path) -> None:
    """The top of the report of one check, as a browser shows it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with suppress(SystemExit):
            main(["check", SCENARIO, "--jobs", "2", "--out", name])
        shot = folder / "shot.png"
        options = [f"--user-data-dir={folder / 'profile'}", f"--screenshot={shot}"]
        page = (folder / "report.html").as_uri()
        size = f"--window-size={WIDTH},{HEIGHT}"
        command = ["chromium", *FLAGS.split(), *options, size, page]
        subprocess.run(command, check=True, capture_output=True)
        Image.open(shot).convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE).save(
            target, optimize=True
        )


if __name__ == "__main__":
    make_picture(Path(__file__).parent / "pictures" / "report.png")
