"""When a word may be written. Pure functions of counts; knows no model."""
