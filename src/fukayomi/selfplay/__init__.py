"""Games of networks against themselves, and the chunks they are stored in."""
