"""Policies: when a word may be written. Also masks (what a row may see) and guards against loops."""
