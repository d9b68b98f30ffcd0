"""A trained run as a model folder or as a checkpoint of Marian, and a checkpoint of Marian as a run."""
