"""What is said of a file that a command does not take: what it is, and which command takes it."""

from pathlib import Path

from fukayomi.data.convert.detect import DataFormat

_ROWS = "fukayomi data convert makes hcpe of them"
_ALONE = "there are no moves, evaluations and results in it"
_CONTENTS = {
    DataFormat.HCP: ("positions alone (hcp)", _ALONE),
    DataFormat.HCPE: ("rows (hcpe)", "fukayomi data average, uniq, shuffle, train and others take them"),
    DataFormat.HCPE2: ("rows whose results have flags (hcpe2)", _ROWS),
    DataFormat.HCPE3: ("searched games (hcpe3)", _ROWS),
    DataFormat.CACHE: ("averaged positions as dlshogi's cache", "fukayomi data check and print read it"),
    DataFormat.AVERAGES: (
        "averaged positions (avg)",
        "fukayomi data average merges such files, data convert makes hcpe of them, train takes them as they are, "
        "data check and print read them",
    ),
    DataFormat.PSV: ("rows (psv)", _ROWS),
    DataFormat.BOOK: ("an opening book (book)", "fukayomi data print reads it"),
    DataFormat.SFEN: ("positions as SFEN lines", f"fukayomi data convert makes hcp of them; {_ALONE}"),
    DataFormat.PLAIN: ("rows as text (plain)", "fukayomi data convert makes hcpe or psv of them"),
    DataFormat.RECORDS: ("game records", "fukayomi data convert makes hcpe3 or hcpe of them"),
}


def refusal(path: Path, kind: DataFormat, taken: str) -> str:
    """The message for a file of a format that is not taken.

    Args:
        path: The file.
        kind: Its format.
        taken: What is taken instead.
    """
    contents, instead = _CONTENTS[kind]
    return f"{path} holds {contents}, and this takes {taken}; {instead}"
