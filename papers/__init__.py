"""The papers of crawlsim: each formula, table cell, figure and claim, and what became of it.

One CSV file per paper says what is printed, what is right, and which command shows it; one module
per paper computes it. The commands of `papers.cli` come to the command line as those of any package
do; nothing else of crawlsim needs this one.
"""
