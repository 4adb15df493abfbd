"""Files: written whole or not at all, temporary names that survive no kill, and room on disks."""
