"""``python -m fukayomi`` is ``fukayomi``."""

from fukayomi.cli.main import main

main()
