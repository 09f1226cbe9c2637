"""The best rule for the robots: families of rules, bounds that they keep, and the search."""
