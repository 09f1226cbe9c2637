"""What happens: discrete-event simulation of a scenario, and estimates with honest errors."""

from sim.estimates.controlled import controlled
from sim.replicate import Precision, run, run_to_precision

__all__ = ["Precision", "controlled", "run", "run_to_precision"]
