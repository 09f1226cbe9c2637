"""Maps of rules of activation: robots by level, and which class is switched on in each state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from analytic.rules.choices import names_of_classes
from crawlsim.report.drawing import COLOURS, ink_on, panel, plain, whole_numbers
from scenarios import Scenario
from scenarios.activation import Free, Levels, Switching
from scenarios.arrays import IntArray
from scenarios.choices import NO_CLASS, active_by_class, choices_of, class_sizes, tables_of
from scenarios.model import present

NEVER_ASKED = -2
"""Marks a state in which a rule is never asked."""

_NOBODY_ON = "#d5d8dd"
_EDGE = "#999999"
_TALLEST = 6.0
"""Inches of the rows of a map at most."""

_MOST_ROWS = 40
"""Rows of a map up to which each has its name."""

_MOST_CELLS = 400
"""Cells of a map up to which each has its number."""

_CELLS: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest"}


def has_map(scenario: Scenario) -> bool:
    """Whether the rule of a scenario is more than one list of numbers that fall with the level."""
    return isinstance(scenario.activation, Free | Levels | Switching)


def plot_rule(scenario: Scenario, ax: Axes | None = None) -> Axes:
    """The rule of a scenario that switches robots by level and state.

    Parameters
    ----------
    scenario : Scenario
        With `activation.levels`, `activation.free` or `activation.switching`.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    """
    rule = scenario.activation
    robots = present(scenario.robots)
    if isinstance(rule, Levels):
        return draw_numbers([("active", rule.robots)], "active robots", ax)
    if isinstance(rule, Free):
        return draw_numbers(_rows_of_phases(rule), "active robots", ax)
    assert isinstance(rule, Switching)
    if robots.classes is None:
        named = zip(("state", "service phase"), tables_of(robots, rule), strict=True)
        seen = [[f"{of} {each}" for each in range(many)] for of, many in named if many > 1]
        names = [", ".join(each) or "target" for each in product(*seen)]
        title = "active robots up to which one more is switched on"
        return draw_numbers(list(zip(names, rule.targets, strict=True)), title, ax)
    tables = choices_of(robots, rule)
    title = f"who is switched on after an event{of_the_first(*tables_of(robots, rule))}"
    active = active_by_class(class_sizes(robots))
    return draw_choices(tables[0], active, names_of_classes(robots), title, ax)


def of_the_first(states: int, phases: int) -> str:
    """What a title adds where only the first state of an environment, or phase, is shown."""
    state = f", state 0 of 0 … {states - 1}" if states > 1 else ""
    return state + (f", service phase 0 of 0 … {phases - 1}" if phases > 1 else "")


def _rows_of_phases(rule: Free) -> list[tuple[str, list[int]]]:
    """Numbers by level for each arrival phase and service phase."""
    phases = max(len(row) for level in rule.root for row in level)
    rows = []
    for arrival in range(len(rule.root[0])):
        for service in range(phases):
            numbers = [level[arrival][min(service, len(level[arrival]) - 1)] for level in rule.root]
            rows.append((f"arrivals {arrival}, service {service}", numbers))
    return rows


def draw_numbers(
    rows: Sequence[tuple[str, Sequence[int] | IntArray]], title: str, ax: Axes | None
) -> Axes:
    """Numbers by level, a row for each name: darker cells have more."""
    numbers = np.array([levels for _, levels in rows])
    ax = panel(ax, "pages in the system", "", max(1.2, 0.8 + 0.3 * len(rows)))
    most = max(int(numbers.max()), 1)
    image = ax.imshow(
        numbers, cmap="Blues", vmin=0, vmax=1.3 * most, aspect="auto", interpolation="nearest"
    )
    if numbers.size <= _MOST_CELLS:
        for (row, level), number in np.ndenumerate(numbers):
            ink = ink_on(image.cmap(image.norm(number)))
            ax.text(level, row, str(number), ha="center", va="center", fontsize=8, color=ink)
    ax.set_yticks(range(len(rows)), [plain(name) for name, _ in rows])
    ax.set_title(title, fontsize=9, loc="left", color="#333333")
    whole_numbers(ax.xaxis)
    ax.grid(visible=False)
    return ax


def draw_choices(
    chosen: IntArray, active: IntArray, classes: Sequence[str], title: str, ax: Axes | None
) -> Axes:
    """Which class is switched on, by level and active robots of each class.

    Parameters
    ----------
    chosen : ndarray of int, shape (levels, combinations)
        A class, `NO_CLASS`, or `NEVER_ASKED`.
    active : ndarray of int, shape (combinations, classes)
    classes : sequence of str
    title : str
    ax : Axes or None
    """
    least = max(1.2, 0.9 + min(0.2 * len(active), _TALLEST))
    ax = panel(ax, "pages in the system", f"active {', '.join(map(plain, classes))}", least)
    names = {NO_CLASS: "nobody"}
    names |= {kind: f"{plain(name)} switched on" for kind, name in enumerate(classes)}
    colours = [_NOBODY_ON, *(COLOURS[kind % len(COLOURS)] for kind in range(len(classes)))]
    cells = np.ma.masked_equal(chosen.T, NEVER_ASKED)
    last = len(colours) - 1
    ax.imshow(cells - NO_CLASS, cmap=ListedColormap(colours), vmin=0, vmax=last, **_CELLS)
    for name, colour in zip(names.values(), colours, strict=True):
        ax.plot([], [], "s", color=colour, ms=7, label=name)
    if (chosen == NEVER_ASKED).any():
        ax.plot([], [], "s", mfc="white", mec=_EDGE, ms=7, label="never asked")
    if len(active) <= _MOST_ROWS:
        ax.set_yticks(range(len(active)), [", ".join(map(str, each)) for each in active.tolist()])
    else:
        ax.set_yticks([])
    ax.set_title(title, fontsize=9, loc="left", color="#333333", y=1.0)
    whole_numbers(ax.xaxis)
    ax.grid(visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8)
    return ax
