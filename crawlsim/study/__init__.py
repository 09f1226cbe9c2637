"""A study: one folder with all that a stranger needs to repeat a run, and a report about it.

`inputs` copies what a command reads, `archive` is the record in the folder, `repeating` runs it
again and compares what comes out (`run_and_compare`), `stress` fills in the report, `crate`
describes the folder for archives.
"""
