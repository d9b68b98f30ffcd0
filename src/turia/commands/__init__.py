"""The commands of `turia`: their options, and what each does."""
