"""Teaching the model. Needs torch."""
