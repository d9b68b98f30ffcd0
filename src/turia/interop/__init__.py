"""The old address of the SimulEval agent, which scripts of release 0.1 name. Everything else is in `formats`."""
