"""From weights to a model folder. Needs the train extra."""
