"""Words in, translated words out. No clock, socket or thread in here, and no torch; only `translator` opens files."""
