"""Worth of each piece to a network: the values, and pictures of them."""
