"""Every library scenario at its own settings: the verdict of `crawlsim check`."""

from __future__ import annotations

import pytest
from systems import SIMULATED_ONLY

import crawlsim
from scenarios import library_names


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize("name", library_names())
def test_simulation_and_formulas_agree(name: str) -> None:
    """Fixed seeds, one family of comparisons each, of which 1 in 1000 would be a false alarm.

    How small an error each would have seen is what `crawlsim check` says of it.
    """
    expected = "not judged" if name in SIMULATED_ONLY else "agrees"
    assert crawlsim.check(name).verdict == expected
