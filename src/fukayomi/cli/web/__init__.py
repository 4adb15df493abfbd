"""The command of the page in the browser."""
