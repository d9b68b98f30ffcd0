"""Words in, translated words out. No clock, socket, thread or file in here, and no torch."""
