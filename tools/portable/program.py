"""The program of the portable folder: without arguments, as GUIs start it, the USI engine; with arguments the commands.

The engine changes to its own folder, so that names of networks and books that are no full paths mean files there, from
wherever it is started.
"""

import os
import sys
from pathlib import Path

if len(sys.argv) == 1:
    from fukayomi.cli.engine.usi import main

    os.chdir(Path(sys.executable).parent)
else:
    from fukayomi.__main__ import main
main()
