"""The commands of `turia`: each reads its options and calls one function of a room."""
