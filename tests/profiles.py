"""How many examples hypothesis tries: few by day, many by night."""

import os

from hypothesis import settings

PROFILES = {"brief": 7, "day": 20, "all": 100, "night": 300}
"""In per cent of what a test asks for: by what `make test` runs as plain Python, by its others, by
`make test-all` and by `make test-nightly`."""


def register() -> None:
    """Let `--hypothesis-profile` choose one; without it, it is the day's.

    An example that loads a library, or shares the machine, is no error: there is no deadline. By
    night the examples are new each time; before, they are the same but for constants that
    hypothesis takes from the modules at hand.
    """
    for name, share in PROFILES.items():
        same = name != "night"
        settings.register_profile(name, deadline=None, max_examples=share, derandomize=same)
    settings.load_profile("day")


def examples(asked: int) -> int:
    """The number of examples by this profile, of which 100 are those that the test asks for."""
    return _share_of(asked, settings.default.max_examples)


def systems(asked: int) -> int:
    """The same for systems, each of which may have to be compiled: that takes half a minute.

    Compiled, no ring tries more of them than `make test`, but by night others each time.
    """
    share = settings.default.max_examples
    compiles = os.environ.get("NUMBA_DISABLE_JIT") != "1"
    return _share_of(asked, min(share, PROFILES["day"]) if compiles else share)


def _share_of(asked: int, per_cent: int) -> int:
    return max(asked * per_cent // 100, min(asked, 5))
