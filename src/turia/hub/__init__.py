"""Models of other people, fetched from the Hugging Face hub or read from a folder, and installed."""
