"""Where sessions live: what a store promises, and the two that keep it."""
