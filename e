crawlsim: optimal-thresholds
activation.optimal = "threshold"
has no exact answer: obsolescence timers have 1000000 phases; at most 4096 are solved
Command exited with non-zero status 2
1.80s 88056kB
