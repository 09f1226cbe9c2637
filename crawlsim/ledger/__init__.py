"""The ledger of the five papers: each formula, table cell, figure and claim, and what became of it.

One CSV file per paper says what is printed, what is right, and which command shows it; one module
per paper computes it.
"""
