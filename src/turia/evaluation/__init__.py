"""What a stream's trace is worth: latency, re-segmentation, quality, reports, plots. Imports `stream` alone."""
