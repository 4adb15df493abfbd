"""Parts that commands share."""
