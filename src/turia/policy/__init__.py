"""When a word may be written, and what a row may see. Pure functions of counts; knows no model."""
