"""Learned policies: word alignments, chunks, states of a model, and the heads that learn from them."""
