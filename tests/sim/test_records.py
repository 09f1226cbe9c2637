"""Records that kernels change: the same as plain Python as compiled; fields keep their types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scenarios.compiling import compiled
from sim.compiled_engine.building import copied
from sim.compiled_engine.records import record, record_type, records

ITEM = record_type([("number", np.int64), ("time", np.float64), ("known", np.bool_)], align=True)


def advanced(one: Any, row: Any) -> float:
    one.pages += 1
    one.begun = True
    row[1].number = one.pages
    row[1].time += 2.5
    item = row[1]
    item.known = True
    row[0] = item
    row.number[2] = 7
    return float(row.time.sum())


@pytest.mark.parametrize("function", [advanced, compiled(advanced)], ids=["plain", "compiled"])
def test_a_change_is_seen_in_the_record_and_in_its_row(function: Any) -> None:
    one, row = record(pages=3, until=-np.inf, begun=False), records(3, ITEM)
    assert function(one, row) == 5.0
    assert one.item() == (4, -np.inf, True)
    assert row.tolist() == [(4, 2.5, True), (4, 2.5, True), (7, 0.0, False)]


def test_fields_keep_the_types_of_their_first_values() -> None:
    one = record(pages=3, time=0.0, begun=False)
    one.pages, one.time, one.begun = 4.75, 2, 1
    assert [type(each) for each in (one.pages, one.time, one.begun)] == [
        np.int64, np.float64, np.bool_
    ]  # fmt: skip
    assert one.item() == (4, 2.0, True)


def test_a_field_of_all_is_an_attribute() -> None:
    row = records(3, ITEM)
    row.number = [4, 5, 6]
    row.time = np.inf
    assert row[1:].number.tolist() == [5, 6]
    assert type(row.time) is np.ndarray
    assert row.dtype.isalignedstruct


@pytest.mark.parametrize("some", [record(pages=3), records(2, ITEM)], ids=["record", "records"])
def test_there_are_no_other_fields(some: Any) -> None:
    with pytest.raises(AttributeError, match="numbers"):
        some.numbers  # noqa: B018
    with pytest.raises((AttributeError, ValueError), match="numbers"):
        some.numbers = 1


def test_a_copy_is_changed_alone() -> None:
    one, row = record(pages=3), records(2, ITEM)
    other, rows = copied(one), copied(row)
    other.pages, rows[0].number = 4, 9
    assert (one.pages, row[0].number) == (3, 0)
    assert (other.pages, rows[0].number) == (4, 9)
