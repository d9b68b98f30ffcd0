"""Training text: filters, windows, shards on disk, batches. Needs the train extra."""
