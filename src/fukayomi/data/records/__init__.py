"""Game records from files, folders and archives: reading them, and their moves as columns."""
