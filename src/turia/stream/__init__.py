"""The arithmetic of streams: actions, offsets, delays, history, traces. Imports no other room."""
