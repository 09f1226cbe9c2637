"""Probability vectors, generators, batch processes: checks whose messages name the row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scenarios.base import Matrix
from scenarios.errors import refused
from scenarios.text import counted

TOLERANCE = 1e-9
"""Sums may be off by this much, relative to one or to the largest rate of the row."""


def check_probabilities(key: str, values: Sequence[float]) -> None:
    """Refuse what is not a probability vector (entries >= 0, sum one to 1e-9)."""
    for index, value in enumerate(values):
        if value < 0:
            raise refused("must be >= 0", key=f"{key}[{index}]", value=value)
    total = math.fsum(values)
    if not values or abs(total - 1) > TOLERANCE:
        raise refused(f"must sum to 1; the sum is {total!r}", key=key, value=values)


def check_length(key: str, given: Sequence[object], needed: int, one_per: str) -> None:
    """Refuse a list that has not one entry for each of what it is about."""
    if len(given) != needed:
        allowed = f"has {counted(len(given), 'entry')}; must have {needed}, one per {one_per}"
        raise refused(allowed, key=key, value=given)


def check_square(key: str, matrix: Matrix, order: int) -> None:
    """Refuse what is not an `order` x `order` matrix."""
    for row, entries in enumerate(matrix):
        if len(entries) != order:
            allowed = f"row {row} has {counted(len(entries), 'entry')}; each row must have {order}"
            raise refused(allowed, key=key, value=matrix)
    if len(matrix) != order or not order:
        allowed = f"has {counted(len(matrix), 'row')}; must have {max(order, 1)}"
        raise refused(allowed, key=key, value=matrix)


def _check_off_diagonal(key: str, matrix: Matrix) -> None:
    for row, entries in enumerate(matrix):
        for column, rate in enumerate(entries):
            if row != column and rate < 0:
                raise refused(
                    f"row {row}: rates off the diagonal must be >= 0",
                    key=f"{key}[{row}][{column}]",
                    value=rate,
                )


def _slack(*rows: Sequence[float]) -> float:
    return TOLERANCE * max(abs(rate) for row in rows for rate in row)


def check_subgenerator(key: str, matrix: Matrix) -> None:
    """Refuse what is not a sub-generator: no row may sum to more than 0."""
    _check_rates(key, matrix, float, "must be <= 0")


def check_generator(key: str, matrix: Matrix) -> None:
    """Refuse what is not a generator: every row must sum to 0."""
    _check_rates(key, matrix, abs, "must sum to 0")


def _check_rates(key: str, matrix: Matrix, amiss: Callable[[float], float], rule: str) -> None:
    check_square(key, matrix, len(matrix))
    _check_off_diagonal(key, matrix)
    for row, entries in enumerate(matrix):
        total = math.fsum(entries)
        if amiss(total) > _slack(entries):
            raise refused(f"row {row} sums to {total!r}; {rule}", key=key, value=entries)


def check_batches(key: str, hidden: Matrix, batches: Sequence[tuple[str, Matrix]]) -> None:
    """Refuse D0, D1, … that do not form a BMAP.

    Parameters
    ----------
    key : str
        Key of D0 (`hidden`).
    hidden : Matrix
        D0: rates of phase changes without a delivery, and the negative exit rates.
    batches : sequence of (key, Matrix)
        The matrices of phase changes with deliveries.
    """
    order = len(hidden)
    check_square(key, hidden, order)
    _check_off_diagonal(key, hidden)
    for name, matrix in batches:
        check_square(name, matrix, order)
        _check_non_negative(name, matrix)
    for row in range(order):
        rows = [hidden[row], *(matrix[row] for _, matrix in batches)]
        total = math.fsum(rate for entries in rows for rate in entries)
        if abs(total) > _slack(*rows):
            names = " + ".join([key, *(name for name, _ in batches)])
            allowed = f"row {row} of {names} sums to {total!r}; must sum to 0"
            raise refused(allowed, key=key, value=hidden[row])


def _check_non_negative(key: str, matrix: Matrix) -> None:
    for row, entries in enumerate(matrix):
        for column, rate in enumerate(entries):
            if rate < 0:
                allowed = f"row {row}: rates of deliveries must be >= 0"
                raise refused(allowed, key=f"{key}[{row}][{column}]", value=rate)


def exits(matrix: Matrix) -> set[int]:
    """Rows of a sub-generator that sum to less than 0: the phases that can end at once."""
    return {row for row, entries in enumerate(matrix) if -math.fsum(entries) > _slack(entries)}


def check_every_phase_reaches(key: str, matrix: Matrix, ends: set[int], event: str) -> None:
    """Refuse a matrix with a phase from which `event`, possible in the phases `ends`, is cut off.

    Parameters
    ----------
    key : str
    matrix : Matrix
        Rates of phase changes off the diagonal.
    ends : set of int
        Phases in which the event can happen.
    event : str
        Its name in the message.
    """
    reached = set(ends)
    stuck = set(range(len(matrix))) - ends
    while more := {row for row in stuck if any(matrix[row][column] > 0 for column in reached)}:
        reached |= more
        stuck -= more
    if stuck:
        allowed = f"row {min(stuck)}: from this phase {event} is never reached"
        raise refused(allowed, key=key, value=matrix[min(stuck)])
