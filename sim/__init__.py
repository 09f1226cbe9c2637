"""What happens: discrete-event simulation of a scenario, and estimates with honest errors.

A part of crawlsim.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sim.companions import require

__all__ = ["Precision", "RareLosses", "controlled", "rare_losses", "run", "run_to_precision"]

require("scenarios")

if TYPE_CHECKING:
    from sim.estimates.controls import controlled
    from sim.replicate import Precision, run, run_to_precision
    from sim.splitting import RareLosses, rare_losses

_HOMES = {
    "Precision": "sim.replicate",
    "RareLosses": "sim.splitting",
    "controlled": "sim.estimates",
    "rare_losses": "sim.splitting",
    "run": "sim.replicate",
    "run_to_precision": "sim.replicate",
}


def __getattr__(name: str) -> object:
    """Load an engine when one is asked for: commands that need none start without."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
