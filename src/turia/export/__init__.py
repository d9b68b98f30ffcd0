"""From weights to a model folder. Needs onnx, of the hub or the train extra, and no torch."""
