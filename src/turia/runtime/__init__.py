"""Trained models as ONNX graphs, and the fast way to run them. `export` and `graph` need the train extra."""
