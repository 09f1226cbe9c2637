"""Numbers of things and units, in words."""

from __future__ import annotations

from collections.abc import Mapping

_RATES = (
    "change_rate",
    "bias_reduced_rate",
    "naive_rate",
    "update_rate",
    "mean_update_rate",
    "slow_rate",
    "fast_rate",
    "rate_of_speeding_up",
    "rate_of_slowing_down",
    "median_rate",
    "largest_rate",
)
_TIMES = ("mean_gap", "clock_step", "batch_gap", "period")
_OTHERS: Mapping[str, str] = {
    "mean_batch_size": "pages",
    "mean": "as in the file",
    "branch_mean": "as in the file",
}


def counted(number: int, thing: str) -> str:
    """A number of things: "1 page", "3 pages", "1 batch", "2 batches"."""
    if number == 1:
        return f"1 {thing}"
    return f"{number} {thing}{'es' if thing.endswith(('s', 'ch', 'x')) else 's'}"


def unit_of(name: str, time_unit: str) -> str:
    """The unit of a fitted number, empty where it has none.

    Parameters
    ----------
    name : str
        Of a parameter, or of an entry of the summary.
    time_unit : str
        Of the trace.
    """
    if name in _RATES:
        return f"per {time_unit}"
    if name == "pages_per_time":
        return f"pages per {time_unit}"
    return f"{time_unit}s" if name in _TIMES else _OTHERS.get(name, "")
