"""Reading any format, converting it to any other, and writing it."""
