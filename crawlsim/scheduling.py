"""From logs to schedules: the names of `crawlsim.logs` for programs of users."""

from crawlsim.logs.plan import LogRequest, Schedule, schedule_of, schedule_text
from crawlsim.logs.read import ChangeLog, VisitLog, read_logs

__all__ = [
    "Asked",
    "ChangeLog",
    "LogRequest",
    "Schedule",
    "VisitLog",
    "read_logs",
    "schedule_of",
    "schedule_text",
]

Asked = LogRequest
"""Its former name."""
