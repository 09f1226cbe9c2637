"""From a history to a schedule that a crawler can load.

`schedule_of` makes the schedule, `schedule_text` the file.
"""

from crawlsim.logs.plan.by_signals import schedule_of_signals, with_signals
from crawlsim.logs.plan.byte_budget import ByteBudget
from crawlsim.logs.plan.schedule import LogRequest, Schedule, schedule_of
from crawlsim.logs.plan.writing import schedule_text

__all__ = [
    "ByteBudget",
    "LogRequest",
    "Schedule",
    "schedule_of",
    "schedule_of_signals",
    "schedule_text",
    "with_signals",
]
