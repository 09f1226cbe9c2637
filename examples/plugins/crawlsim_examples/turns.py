"""A formula: how often each page is accessed where all take turns, whatever their order."""

from __future__ import annotations

from analytic import Formula
from analytic.machinery.transforms import mean_time
from crawlsim_examples.backwards import Backwards
from scenarios import Scenario


def turns(pages: int, mean: float) -> float:
    """Accesses per unit time of each page: all of them are `pages` accesses of one robot."""
    return 1.0 / (pages * mean)


def in_turn(scenario: Scenario) -> str | None:
    """The policy is backwards, of one robot that never rests."""
    robots = scenario.robots
    if not isinstance(scenario.model.accessing, Backwards) or scenario.pages is None:
        return "the policy is not backwards"
    if robots is None or robots.available != 1 or scenario.buffer is not None:
        return "there is not just one robot, without a buffer"
    return None


def _evaluate(scenario: Scenario) -> list[tuple[str, int, float]]:
    count = scenario.model.pages.count
    rate = turns(count, mean_time(scenario.robots.access_time))
    return [("crawl_rate", page, rate) for page in range(count)]


FORMULAS = (
    Formula(
        paper="examples",
        number="(1)",
        quantity="accesses per unit time of each page, where all take turns",
        latex=r"\nu_i=\frac{1}{K\,\mathbb{E}X}",
        function=turns,
        kind="exact",
        origin="own",
        conditions=(in_turn,),
        evaluate=_evaluate,
    ),
)

NOTATION = {
    "examples": {
        r"\nu_i": "accesses of page i per unit time",
        "K": "number of pages",
        r"\mathbb{E}X": "mean access time",
    }
}

REFERENCES = {"examples": "The examples of plugins, docs/plugins.md"}

FAMILIES = [{"name": "pages in turn", "freshness": ["examples (1)"]}]
