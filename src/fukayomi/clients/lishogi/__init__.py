"""The API of lishogi for bots: a bot for any USI engine."""
