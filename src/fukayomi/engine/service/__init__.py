"""The analysis service: queries from programs, many positions at once."""
