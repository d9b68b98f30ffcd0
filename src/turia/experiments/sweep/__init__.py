"""`turia sweep`: translates test sets in many configurations, scores and draws them. `run` has the order of events."""
