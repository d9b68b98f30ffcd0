"""Where sentences end in a stream of words."""
