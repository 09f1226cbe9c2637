"""From logs to schedules: the names of `crawlsim.logs` for programs of users."""

from crawlsim.logs.plan import (
    ByteBudget,
    LogRequest,
    Schedule,
    schedule_of,
    schedule_of_signals,
    schedule_text,
    with_signals,
)
from crawlsim.logs.read import ChangeLog, SignalLog, VisitLog, read_logs, read_signals

__all__ = [
    "Asked",
    "ByteBudget",
    "ChangeLog",
    "LogRequest",
    "Schedule",
    "SignalLog",
    "VisitLog",
    "read_logs",
    "read_signals",
    "schedule_of",
    "schedule_of_signals",
    "schedule_text",
    "with_signals",
]

Asked = LogRequest
"""Its former name."""
