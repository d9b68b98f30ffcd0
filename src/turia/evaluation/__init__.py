"""Scores of streams: latency, re-segmentation, quality, reports, plots. Imports `stream` alone."""
