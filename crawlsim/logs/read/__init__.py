"""Logs of crawlers, whatever their format, as one history of visits or of changes."""

from crawlsim.logs.read.forms import FORMS
from crawlsim.logs.read.log import ChangeLog, VisitLog
from crawlsim.logs.read.read import read_logs
from crawlsim.logs.read.signals import SignalLog, read_signals

__all__ = ["FORMS", "ChangeLog", "SignalLog", "VisitLog", "read_logs", "read_signals"]
