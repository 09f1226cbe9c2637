"""Robots of several classes by number, and what of a fleet nobody uses."""

from __future__ import annotations

import pytest
from systems import queue

from scenarios import ScenarioError, load

TWO_CLASSES = {
    "activation": {"static": [1, 2]},
    "robots": {
        "classes": [
            {"available": 1, "access_time": {"exponential": {"mean": 1.0}}},
            {"available": 2, "access_time": {"exponential": {"mean": 2.0}}},
        ]
    },
}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([1], "has 1 entry; must have 2, one per class"),
        ([1, 1, 1], "has 3 entries; must have 2, one per class"),
        ([2, 1], r"must be at most robots.classes\[0\].available \(1\)"),
    ],
)
def test_every_class_has_its_number(given: list[int], says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        queue(TWO_CLASSES | {"activation": {"static": given}})


def test_servers_without_a_packet_are_named_whatever_the_routing() -> None:
    two = load("routing-two-servers")
    assert two.servers is not None
    assert two.servers.unused == ()
    for routing in ({"random": [1.0, 0.0]}, {"period": [0]}):
        servers = two.with_("servers.routing", routing).servers
        assert servers is not None
        assert servers.unused == (1,)
