"""A page for each scenario of the library, with a picture of its own run, and a card for each."""

from __future__ import annotations

from generator.markdown import block, heading, page, plain, toctree
from scenarios import Scenario, library_names, load
from scenarios.library import library_text

FOLDER = "gallery"


def gallery_pages() -> dict[str, str]:
    """The pages by their places."""
    scenarios = [load(name) for name in library_names()]
    pages = {f"{FOLDER}/{each.name}": _page(each) for each in scenarios}
    pages[f"{FOLDER}/index"] = page(
        "# Gallery",
        "The scenarios of the library, each with a picture of its own run. "
        "`crawlsim scenarios NAME` prints the file of one.",
        *_grid(scenarios),
        toctree((each.name for each in scenarios), "hidden"),
    )
    return pages


def _grid(scenarios: list[Scenario]) -> list[str]:
    lines = ["::::{grid} 1 2 3 3", ":gutter: 3", ""]
    for each in scenarios:
        lines += [f":::{{grid-item-card}} {plain(each.name)}", f":link: scenario-{each.name}"]
        lines += [":link-type: ref", f":img-bottom: /pictures/gallery/{each.name}.png"]
        lines += [f":img-alt: {plain(_alt(each))}", "", plain(each.title), ":::", ""]
    return ["\n".join([*lines, "::::"])]


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
