"""The live page: lessons in which a formula and a simulation are watched side by side.

`lesson` reads what a lesson is; `sides` says what is simulated and what the formula is evaluated
for; `always_valid` is the band that may be watched; `live` simulates, replication by replication;
`server` answers the page, which lies in `page`.
"""
