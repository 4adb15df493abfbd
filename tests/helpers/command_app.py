"""The program with all its commands, for typer's test runner."""

from fukayomi.cli.main import make_app

app = make_app()
