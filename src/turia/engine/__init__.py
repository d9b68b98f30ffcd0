"""The stream itself: words in, translated words out. No clock, socket, thread, file, torch or ONNX Runtime in here."""
