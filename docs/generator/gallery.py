"""A page for each scenario of the library, with a picture of its own run, and a card for each."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from generator.markdown import block, heading, page, plain, toctree
from scenarios import Scenario, library_names, load
from scenarios.library import library_text

FOLDER = "gallery"


_NUMBERS = Path(__file__).parents[1] / "pictures" / FOLDER / "made-of.csv"

_STORIES: dict[str, Callable[[Scenario], Any]] = {
    "What happens over time": lambda each: each.run.observe is not None,
    "When to probe": lambda each: each.probing,
    "Which server next": lambda each: each.servers,
    "Pages come and go": lambda each: each.page_set,
    "From the page to the index": lambda each: each.pages and each.buffer,
    "Which page next": lambda each: each.pages,
    "When robots should pause": lambda each: each.costs.model_fields_set,
    "The queue in front of the indexer": lambda each: each.buffer,
}
"""What scenarios are about; each is in the first story that it belongs to."""


def gallery_pages() -> dict[str, str]:
    """The pages by their places."""
    scenarios = [load(name) for name in library_names()]
    pages = {f"{FOLDER}/{each.name}": _page(each) for each in scenarios}
    stories: dict[str, list[Scenario]] = {story: [] for story in _STORIES}
    for each in scenarios:
        stories[_story_of(each)].append(each)
    pages[f"{FOLDER}/index"] = page(
        "# Gallery",
        "The scenarios of the library by what they are about, each with a picture of its own run, "
        "and the number that it is about. `crawlsim scenarios NAME` prints the file of one.",
        *(part for story, mine in stories.items() for part in (f"## {story}", _grid(mine))),
        toctree((each.name for each in scenarios), "hidden"),
    )
    return pages


def _story_of(scenario: Scenario) -> str:
    return next(story for story, belongs in _STORIES.items() if belongs(scenario))


@cache
def _numbers() -> dict[str, str]:
    """By scenario the measure that it is about, with its exact value; what has none is left out."""
    with _NUMBERS.open(encoding="utf-8", newline="") as file:
        return {
            row["scenario"]: f"{row['measure'].replace('_', ' ')} {row['value']}"
            for row in csv.DictReader(file)
            if row["measure"]
        }


def _grid(scenarios: list[Scenario]) -> str:
    lines = ["::::{grid} 2 2 3 3", ":gutter: 2 3 3 3", ""]
    for each in scenarios:
        lines += [f":::{{grid-item-card}} {plain(each.name)}", f":link: scenario-{each.name}"]
        lines += [":link-type: ref", f":img-bottom: /pictures/gallery/{each.name}.png"]
        lines += [f":img-alt: {plain(_alt(each))}", "", plain(each.title)]
        lines += ["", f"*{plain(_numbers()[each.name])}*"] if each.name in _numbers() else []
        lines += [":::", ""]
    return "\n".join([*lines, "::::"])


def _alt(scenario: Scenario) -> str:
    return f"The run of {scenario.name}: {scenario.title}"


def _page(scenario: Scenario) -> str:
    paper = [f"From {plain(scenario.paper)}\\."] if scenario.paper else []
    return page(
        heading(f"scenario-{scenario.name}", plain(scenario.name)),
        f"{plain(scenario.title)}\\.",
        *paper,
        f"![{plain(_alt(scenario))}](/pictures/gallery/{scenario.name}.png)",
        block(f"crawlsim check {scenario.name}", "sh"),
        "## The file",
        block(library_text(scenario.name), "toml"),
    )
