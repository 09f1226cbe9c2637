"""What all figures share: colours, axes, and the text of a figure as SVG."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from scenarios.arrays import spans_decades
from scenarios.results import Estimate

COLOURS = ("#0072b2", "#c24a00", "#00805e", "#b07800", "#8a4a8f", "#5a6270")
"""Colours of things to be distinguished."""

SIMULATED = "#0072b2"
THEORY = "#333333"
VERDICT_COLOURS = {
    "agrees": "#00805e",
    "disagrees": "#c24a00",
    "inconclusive": "#b07800",
    "not judged": "#8a8f98",
}
"""Distinct for the colour-blind (Okabe and Ito, darkened); markers differ as well."""

MANY_POINTS = 200
"""Figures with more points keep them as an image, their text as text."""

_WIDTH = 4.4
_HEIGHT = 2.8
_SLIDE = (8.0, 4.5)
_SLIDE_TEXT = 12.0
_MARGIN = 0.15
"""Least size of a slide in inches, 16 to 9, of its text in points, and its margin."""

_LARGER = 4.0 / 3.0
"""By how much a figure grows that becomes a slide: 9 points are 12 then."""

_LONGEST_TEXT = 36
_RESOLUTION = 200
_MANY = 400
_DECADES = 1000.0
_UNSEEN = 1000.0
"""By how much a formula is shown below all that was simulated."""

_INK = "#1d2329"
_MIDDLE = 0.21
"""Luminance at which white and ink have the same contrast."""


class Drawing(NamedTuple):
    """A figure with a name that can be that of its file, and what it shows."""

    name: str
    ax: Axes
    caption: str


def axes_for(ax: Axes | None, height: float = _HEIGHT) -> Axes:
    """The axes given, or those of a new figure that belongs to no window."""
    if ax is not None:
        return ax
    return Figure(figsize=(_WIDTH, height), layout="constrained").add_subplot()


def panel(ax: Axes | None, x: str, y: str, height: float = _HEIGHT) -> Axes:
    """The axes given, or new ones, with labels."""
    ax = axes_for(ax, height)
    dress(ax, x, y)
    return ax


def whole_numbers(*axes: Axis) -> None:
    """Ticks at whole numbers only."""
    for axis in axes:
        axis.set_major_locator(MaxNLocator("auto", integer=True))


def plain(text: str, longest: int = _LONGEST_TEXT) -> str:
    """Text from a scenario as a figure can show it: no formula marks, not too long."""
    kept = "".join(letter if letter.isprintable() else " " for letter in text)
    if len(kept) > longest:
        kept = kept[: longest - 1] + "…"
    return kept.replace("$", r"\$")


def dress(ax: Axes, x: str, y: str) -> None:
    """Labels, a faint grid behind the data, and no more frame than needed."""
    ax.set_xlabel(x, fontsize=9, color="#333333")
    ax.set_ylabel(y, fontsize=9, color="#333333")
    ax.tick_params(labelsize=8.5, colors="#444444", length=3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#999999")
    ax.grid(axis="y", color="#e6e8eb", linewidth=0.7)
    ax.set_axisbelow(True)


def legend_above(ax: Axes, columns: int = 2, title: str | None = None) -> None:
    """A legend above the axes, where it hides no data."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=columns,
        title=title,
        title_fontsize=8.5,
        alignment="left",
        fontsize=8.5,
        frameon=False,
        borderaxespad=0.2,
        handletextpad=0.5,
        columnspacing=1.4,
    )


def half_widths(estimates: Sequence[Estimate]) -> NDArray[np.float64]:
    """Half-widths of the 95 % intervals, shape (2, n); 0 where there is none."""
    below = [row.estimate - row.low for row in estimates]
    above = [row.high - row.estimate for row in estimates]
    return np.nan_to_num(np.array([below, above]))


def logarithmic(ax: Axes, *names: str) -> None:
    """Logarithmic axes over a factor of ten at least, with ticks that do not touch."""
    for name in names:
        getattr(ax, f"set_{name}scale")("log")
        low, high = getattr(ax, f"get_{name}lim")()
        wider = max(np.sqrt(10.0 * low / high), 1.0)
        getattr(ax, f"set_{name}lim")(low / wider, high * wider)
        axis = getattr(ax, f"{name}axis")
        axis.set_minor_formatter(NullFormatter())
        if high * wider**2 / low < _DECADES:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def by_decades(
    ax: Axes, simulated: Sequence[tuple[float, float | None, str]], predicted: Iterable[float]
) -> str:
    """Make the vertical axis logarithmic where an even one would show the largest values alone.

    Parameters
    ----------
    ax : Axes
        With all that is drawn.
    simulated : sequence of (place, estimate, colour)
        Zeros are marked at the lower edge.
    predicted : iterable of float
        Those far below all that was simulated are left out.

    Returns
    -------
    str
        What the marks mean, where there are some.
    """
    estimates = np.array([value for _, value, _ in simulated], dtype=float)  # None is nan
    if not spans_decades([*estimates, *predicted]):
        return ""
    logarithmic(ax, "y")
    if (estimates > 0.0).any():
        least = float(estimates[estimates > 0.0].min()) / _UNSEEN
        ax.set_ylim(bottom=max(ax.get_ylim()[0], least))
    zeros = [(place, colour) for place, value, colour in simulated if value == 0.0]
    at_the_edge: Any = {"transform": ax.get_xaxis_transform(), "clip_on": False}
    for place, colour in zeros:
        ax.plot(place, 0.0, "v", color=colour, **at_the_edge)
    return "▼: 0 in the simulation" if zeros else ""


def ink_on(colour: Any) -> str:
    """White, or nearly black: what is read more easily on a colour of a cell."""
    shares = np.array(to_rgb(colour))
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ (0.2126, 0.7152, 0.0722))
    return "white" if luminance < _MIDDLE else _INK


def integers(ax: Axes) -> None:
    """Ticks of the horizontal axis at whole numbers."""
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))


def places_of_many(number: int) -> NDArray[np.int64]:
    """Of many places from 0 on some hundreds, close to one another at the beginning."""
    return np.unique(np.geomspace(1, number, _MANY).astype(np.int64)) - 1


def as_slide(figure: Figure) -> Figure:
    """The figure, changed in place, in the shape of a slide: 16 to 9, no text below 12 points.

    It becomes as large as what is in it needs, and 8 by 4.5 inches at least.
    """
    width, height = _LARGER * figure.get_size_inches()
    height = max(height, width * _SLIDE[1] / _SLIDE[0], _SLIDE[1])
    figure.set_size_inches(height * _SLIDE[0] / _SLIDE[1], height)
    figure.set_layout_engine("constrained", w_pad=_MARGIN, h_pad=_MARGIN)
    for text in figure.findobj(Text):
        text.set_fontsize(max(_LARGER * float(text.get_fontsize()), _SLIDE_TEXT))
    for ax in figure.findobj(Axes):  # those within others are not in figure.axes
        ax.tick_params(labelsize=_SLIDE_TEXT)
    for line in figure.findobj(Line2D):
        line.set_linewidth(_LARGER * line.get_linewidth())
        line.set_markersize(_LARGER * line.get_markersize())
    return figure


def svg_text(ax: Axes, name: str) -> str:
    """The figure of `ax` as an `<svg>` element; `name` makes its ids unique on a page.

    The same figure gives the same text.
    """
    figure = ax.figure
    assert isinstance(figure, Figure)
    stream = io.StringIO()
    nothing: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "crawlsim"}
    with mpl.rc_context(style), warnings.catch_warnings():
        for harmless in ("Glyph .* missing", "constrained_layout not applied"):
            warnings.filterwarnings("ignore", message=harmless)
        figure.savefig(stream, format="svg", dpi=_RESOLUTION, transparent=True, metadata=nothing)
    text = stream.getvalue()
    element = text[text.index("<svg") :].strip()
    # Of equal images matplotlib calls each the same, and needs the name of none.
    element = re.sub(r'(<image\b[^>]*?) id="[^"]*"', r"\1", element)
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\1{name}-", element)
