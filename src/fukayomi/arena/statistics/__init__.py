"""Statistics of match results. They know no shogi."""
