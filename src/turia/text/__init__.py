"""Words and pieces: normalisation, subwords, reserved symbols, the layout of a window."""
