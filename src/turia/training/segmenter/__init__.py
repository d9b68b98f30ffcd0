"""Teaching the segmenter. Needs torch."""
