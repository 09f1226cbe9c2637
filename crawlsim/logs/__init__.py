"""Logs of crawlers: read, fitted to scenarios, and turned into schedules.

`read` knows formats and hands on one history; `fit` estimates from it; `plan` shares out visits.
"""
