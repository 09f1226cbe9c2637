"""Names at the ends of lines."""

from __future__ import annotations

import pytest

from crawlsim.report.drawing import axes_for
from experiments.names_of_lines import apart, name_ends


@pytest.mark.parametrize(
    ("heights", "places"),
    [
        ([0.0, 20.0], [0.0, 20.0]),
        ([10.0, 11.0], [5.5, 15.5]),
        ([10.0, 11.0, 12.0], [1.0, 11.0, 21.0]),
        ([0.0, 8.0, 9.0, 60.0], [-4.0 - 1 / 3, 5.0 + 2 / 3, 15.0 + 2 / 3, 60.0]),
    ],
)
def test_names_stand_apart_in_their_order_as_near_as_can_be(
    heights: list[float], places: list[float]
) -> None:
    assert apart(heights, 10.0) == pytest.approx(places)


def test_names_at_the_ends_of_lines_do_not_touch() -> None:
    ax = axes_for(None)
    ax.plot([0.0, 1.0], [[0.0, 0.0], [0.98, 1.0]])
    name_ends(ax, [(1.0, 1.0, "upper"), (1.0, 0.98, "lower")])
    lower, upper = (text.get_window_extent() for text in ax.texts)
    assert upper.y0 >= lower.y1
