"""The machine: files that appear whole, locks, signals, processes, standard input, the screen. Knows no other room."""
