"""Tables that are published: generalized ones, and tables of counts."""
