"""Settings: a table of options is a class, and files, command lines, help and errors follow from it.

    class WindowSettings(Settings):
        start: Annotated[int, Field(ge=1)] = 250_000
        \"\"\"Positions up to which the window has all there are.\"\"\"

    settings = build(WindowSettings, read(WindowSettings, Path("window.toml")), {"start": 1000})

The string beneath a field is its help on the command line (`fukayomi.cli.common.options.options_of`). What a file or a
command line gives are plain values, a layer; later layers win over earlier ones.
"""

from fukayomi.settings.folder import SettingsFile
from fukayomi.settings.layers import FromFile, build, in_folder, merged, read
from fukayomi.settings.model import Settings, SettingsError, differences, plain
from fukayomi.settings.problems import first_problem, problems
from fukayomi.settings.toml import read_toml, toml_text

__all__ = [
    "FromFile",
    "Settings",
    "SettingsError",
    "SettingsFile",
    "build",
    "differences",
    "first_problem",
    "in_folder",
    "merged",
    "plain",
    "problems",
    "read",
    "read_toml",
    "toml_text",
]
