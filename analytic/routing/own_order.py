"""The order that a scenario file has already, and what it costs: what a better one would gain."""

from __future__ import annotations

from analytic import page_conditions
from analytic.routing.comparing import Alternative
from analytic.routing.conditions import servers_of
from analytic.routing.spacing import SpacingCosts
from analytic.routing.words import Word
from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.page_data import access_shares
from scenarios.sections import Period, Random

_NAME = "as in the file"


def order_of_servers(scenario: Scenario, costs: SpacingCosts) -> Alternative | None:
    """Period or random routing of [servers]; None where it is still to be found."""
    routing = servers_of(scenario).routing
    if isinstance(routing, Period):
        return _periodic(routing.root, costs)
    if isinstance(routing, Random):
        return Alternative(_NAME, None, costs.at_random(routing.root))
    return None


def order_of_pages(scenario: Scenario, costs: SpacingCosts) -> Alternative | None:
    """Period or random order of the accessing policy; None of one that looks at its pages."""
    policy = scenario.robots.accessing if scenario.robots else None
    if policy is None or scenario.pages is None or policy.unresolved:
        return None
    shares = access_shares(policy, scenario.pages)
    if isinstance(policy, Periodic):
        return _periodic(tuple(policy.cycle_of(shares).tolist()), costs)
    if page_conditions.randomized_policy(scenario) is None:
        return Alternative(_NAME, None, costs.at_random(shares))
    return None


def _periodic(word: Word, costs: SpacingCosts) -> Alternative:
    return Alternative(_NAME, word, costs.of(word))
