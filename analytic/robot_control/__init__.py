"""How many robots feed a finite indexing queue (talim2001): a fixed number, and switching."""

from analytic.robot_control.formulas import FORMULAS
from analytic.robot_control.static import (
    static_cost,
    static_loss_rate,
    static_starvation,
)
from analytic.robot_control.switching import best_switching, switching_curves

__all__ = [
    "FORMULAS",
    "best_switching",
    "static_cost",
    "static_loss_rate",
    "static_starvation",
    "switching_curves",
]
