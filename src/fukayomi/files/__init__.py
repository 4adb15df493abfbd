"""Files and folders: written completely or not at all, locked by one process, with room on the disk."""
