"""The commands of `fukayomi data`."""
