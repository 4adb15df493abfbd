"""What each piece is worth to a network: the values, and pictures of them."""
