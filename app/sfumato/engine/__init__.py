"""The scientific engine: no Qt, no files, no clocks, no globals."""
