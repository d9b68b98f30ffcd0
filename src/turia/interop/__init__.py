"""Commands that use the engine, and other people's conventions: one file each."""
