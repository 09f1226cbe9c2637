"""Make the pictures of the documents: a report, costs against thresholds, a switching rule, probes.

Run as ``python -m experiments.make_pictures``; it needs chromium and takes half a minute.
"""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from PIL import Image

from analytic import optimize
from crawlsim.cli import main
from crawlsim.report import plot_best_probes, plot_rule_map, plot_threshold_costs
from crawlsim.report.region_figures import region_figure
from papers import talim2001
from scenarios import load

SCENARIO = "four-robots-one-threshold"
CONTROLLED = "optimal-thresholds"
DOTS_PER_INCH = 130
WIDTH = 1120
HEIGHT = 960
COLOURS = 256
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


def make_threshold_picture(target: Path) -> None:
    """Cost against the threshold, as `crawlsim optimize --figure` draws it."""
    search = optimize(load(CONTROLLED), "threshold").search
    figure = plot_threshold_costs(search).figure
    figure.savefig(target, dpi=DOTS_PER_INCH, metadata={"Software": None})


def make_region_picture(target: Path) -> None:
    """The best rule of level and phases, as `crawlsim optimize --figure` draws it."""
    search = optimize(load("pause-for-large-pages"), "free").search
    figure = plot_rule_map(search).figure
    figure.savefig(target, dpi=DOTS_PER_INCH, metadata={"Software": None})


def make_where_picture(target: Path) -> None:
    """The best fixed number over two entries, as the report of `crawlsim sweep` draws it."""
    across, up = "costs.starvation", "robots.access_time.exponential.rate"
    base = load("talim-static-k5").with_("costs.loss", 1.0)
    rows = []
    for price in np.arange(0.5, 4.1, 0.5).round(2).tolist():
        for rate in np.arange(0.05, 0.51, 0.05).round(2).tolist():
            best = optimize(base.with_({across: price, up: rate}), "static").search.optimum
            rows.append({across: price, up: rate, "decision": f"robots = {best}"})
    figure = region_figure(rows, (across, up))
    assert figure is not None
    figure.savefig(target, dpi=DOTS_PER_INCH, metadata={"Software": None})


def make_switching_picture(target: Path) -> None:
    """Figure 3 of talim2001, as the script of its tables and figures draws it."""
    drawn = talim2001.figure(talim2001.FIGURE_PRICES[3])
    drawn.savefig(target, dpi=DOTS_PER_INCH, metadata={"Software": None})


def make_probes_picture(target: Path) -> None:
    """A source and its best probes, as `crawlsim optimize --figure` draws them."""
    search = optimize(load("dbworld-optimal"), "probes").search
    figure = plot_best_probes(search).figure
    figure.savefig(target, dpi=DOTS_PER_INCH, metadata={"Software": None})


if __name__ == "__main__":
    pictures = Path(__file__).parents[1] / "docs/pictures"
    make_picture(pictures / "report.png")
    make_threshold_picture(pictures / "thresholds.png")
    make_region_picture(pictures / "regions.png")
    make_where_picture(pictures / "where.png")
    make_switching_picture(pictures / "switching.png")
    make_probes_picture(pictures / "probes.png")
