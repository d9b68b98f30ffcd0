"""Measuring: sweeps over test sets, and benchmarks of speed."""
