"""Make the pictures of the pages of docs/how-to/: each is of the command that its page shows.

Run as ``python -m experiments.make_how_to_pictures``; with the engines compiled it takes ten
seconds. Decisions are drawn as ``crawlsim optimize --figure`` draws them, systems as the figure of
their reports that answers the question. Beside the pictures stands of what each was made, so that a
test sees one that is out of date.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import re
import shlex
import tempfile
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import crawlsim
from analytic import check_course, course_of, predict, resolve
from crawlsim.cli.loading import load_scenarios
from crawlsim.cli.program import commands
from crawlsim.report import (
    plot_course,
    plot_groups,
    plot_levels,
    plot_obsolescence_rates,
    plot_page_set,
)
from crawlsim.report.course_figures import theory_between
from experiments.make_gallery import COLOURS, DOTS_PER_INCH
from scenarios import Scenario
from scenarios.library import library_text
from scenarios.page_groups import only_sums

PAGES = Path(__file__).parents[1] / "docs" / "how-to"
FOLDER = PAGES.parent / "pictures" / "how-to"
DIGESTS = FOLDER / "made-of.csv"
REPLICATIONS = 10

OF_PAGES = ("how-stale", "worst-pages")
"""Questions about the pages; others are about the pages in the system."""

OF_SWEEPS = {
    "commits": "stale-answer-probability-",
    "trust-signals": "weighted-obsolescence-lines",
}
"""Sweeps, and what is drawn of them."""

WITHOUT = {
    "change-unseen": "two quantiles",
    "classes-of-pages": "three lines with three numbers",
    "failing-ci": "an exit code",
    "full-batches": "four numbers in a table of a sweep",
    "how-many-indexers": "the answer is a number in a table of a sweep",
    "millions-of-pages": "a hundred million frequencies",
    "news-first": "six numbers in a table of a sweep",
    "precision": "how long a run must be",
    "rare-losses": "one probability",
    "repeatable-study": "a folder of files",
    "sitemaps-worth": "two shares of a host",
    "sleeping-indexer": "four numbers in a table of a sweep",
    "throughput": "that of the bottleneck shows it",
    "time-to-index": "two quantiles",
    "two-designs": "--figure draws it",
    "what-to-buy": "three numbers",
}
"""Pages without a picture, and why."""


def commands_of_pages() -> dict[str, list[str]]:
    """The first command of each page that shows one, as words."""
    found = {}
    for page in sorted(PAGES.glob("*.md")):
        command = re.search(r"^\$ (crawlsim .+)$", page.read_text("utf-8"), re.MULTILINE)
        if command is not None:
            found[page.stem] = shlex.split(command[1])
    return found


def digest_of(words: list[str]) -> str:
    """What a picture is made of: the command, and the file of its scenario."""
    source = PAGES / words[2]
    text = source.read_text("utf-8") if source.exists() else library_text(words[2])
    return hashlib.sha256("\n".join([*words, text]).encode()).hexdigest()[:16]


def changes_of(words: list[str]) -> tuple[str, ...]:
    """What is set."""
    return tuple(words[n + 1] for n, word in enumerate(words) if word == "--set")


def figure_of(name: str, scenario: Scenario) -> Axes:
    """The figure of a run beside its formulas that answers the question."""
    results = crawlsim.run(scenario, replications=REPLICATIONS)
    if len(results.course):
        course = check_course(scenario, course_of(scenario).course, results)
        theory = theory_between(scenario)
        due = scenario.model.frontier is not None
        measure = "frontier_length" if due else "mean_in_system"
        return plot_course(results, scenario, measure, course, theory=theory)
    predictions, _ = predict(scenario)
    if scenario.page_set is not None:
        return plot_page_set(results, predictions)
    if only_sums(scenario):
        return plot_groups(results, predictions)
    plot = plot_obsolescence_rates if name in OF_PAGES else plot_levels
    return plot(results, predictions)


def write_picture(name: str, words: list[str]) -> None:
    """The picture of a page, as a PNG of few colours."""
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.png"
        if words[1] == "optimize":
            commands.main([*words[1:], "--figure", str(large)], standalone_mode=False)
        elif words[1] == "sweep":
            figures = ("--figures", folder, "--format", "png")
            commands.main([*words[1:], *figures], standalone_mode=False)
            (large,) = Path(folder).glob(f"*-{OF_SWEEPS[name]}*.png")
        else:
            (scenario,) = load_scenarios((words[2],), changes_of(words))
            figure = figure_of(name, resolve(scenario)).figure
            assert isinstance(figure, Figure)
            with mpl.rc_context({"savefig.facecolor": "white"}):
                figure.savefig(large, dpi=DOTS_PER_INCH)
        picture = Image.open(large).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)


def main() -> None:
    """All pictures, and what they are made of."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    drawn = {name: words for name, words in commands_of_pages().items() if name not in WITHOUT}
    with contextlib.chdir(PAGES):
        for name, words in drawn.items():
            write_picture(name, words)
    with DIGESTS.open("w", encoding="utf-8", newline="") as file:
        rows = [(name, digest_of(words)) for name, words in drawn.items()]
        csv.writer(file, lineterminator="\n").writerows([("page", "made of"), *rows])


if __name__ == "__main__":
    main()
