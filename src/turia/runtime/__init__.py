"""Model folders, and ONNX Runtime, which runs them. No torch in here."""
