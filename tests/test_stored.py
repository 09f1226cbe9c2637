"""Outputs that are stored: what counts as the same."""

from __future__ import annotations

import pytest
from stored import same


@pytest.mark.parametrize(
    ("found", "is_same"),
    [
        ("loss 0.1235 of 40", True),
        ("loss 0.1234 of 40.5", False),
        ("loss 0.1237 of 40", False),
        ("loss 0.1234 of 41", False),
    ],
)
def test_numbers_may_differ_in_the_last_digit_written_and_counts_may_not(
    found: str, is_same: bool
) -> None:
    assert same("loss 0.1234 of 40", found) is is_same


def test_numbers_with_all_their_digits_may_differ_by_rounding() -> None:
    assert same("168910.22402123024", "168910.22402123187")
    assert not same("168910.22402123024", "168910.22402423024")
