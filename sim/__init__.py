"""What happens: discrete-event simulation of a scenario, and estimates with honest errors."""

from sim.replicate import Precision, run, run_to_precision

__all__ = ["Precision", "run", "run_to_precision"]
