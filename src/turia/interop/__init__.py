"""Other people's conventions, one file each."""
