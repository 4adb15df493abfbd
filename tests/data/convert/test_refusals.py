"""A command that meets a format it does not take says what the file is, and which command takes it."""

from pathlib import Path

import pytest
from command_app import app
from format_files import write_all_formats
from typer.testing import CliRunner

from fukayomi.data.convert.reading import read_checked
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.table import detect_data, refusal
from fukayomi.learning import Dataset

ROWS = {DataFormat.HCP, DataFormat.HCPE, DataFormat.HCPE2, DataFormat.PSV}
GAMES = {DataFormat.HCPE3, DataFormat.RECORDS}
ADDED_UP = {DataFormat.AVERAGES, DataFormat.CACHE, DataFormat.BOOK}
VERBS = {
    "split": ("-o", "OUT", "-o", "other.SUFFIX"),
    "sample": ("-o", "OUT", "-n", "5"),
    "shuffle": ("-o", "OUT"),
    "merge": ("-o", "OUT"),
    "stats": (),
}
TAKEN: dict[str, set[DataFormat]] = {
    **dict.fromkeys(VERBS, ROWS | GAMES),
    "filter": ROWS - {DataFormat.HCP} | GAMES,
    "fix-eval": ROWS - {DataFormat.HCP} | {DataFormat.HCPE3},
    "print": ROWS | GAMES | ADDED_UP,
    "check": ROWS | GAMES | ADDED_UP - {DataFormat.BOOK},
    "uniq": {DataFormat.HCPE},
    "average": {DataFormat.HCPE, DataFormat.HCPE2, DataFormat.HCPE3, DataFormat.AVERAGES},
}
ARGUMENTS = VERBS | {
    "filter": ("-o", "OUT", "--results", "black,white"),
    "fix-eval": ("-o", "OUT", "--scale", "600"),
    "print": (),
    "check": (),
    "uniq": ("-o", "out.hcpe"),
    "average": ("-o", "out.avg"),
}
INSTEAD = {
    DataFormat.AVERAGES: "data average merges such files",
    DataFormat.CACHE: "data check and print read it",
    DataFormat.BOOK: "data print reads it",
    DataFormat.SFEN: "data convert makes hcp",
    DataFormat.HCP: "it has no moves",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[DataFormat, Path]:
    return write_all_formats(tmp_path_factory.mktemp("formats"))


def test_every_file_is_what_it_is_called(files: dict[DataFormat, Path]) -> None:
    assert {kind: detect_data(path) for kind, path in files.items()} == {kind: kind for kind in DataFormat}


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_verbs_take_a_format_or_say_who_does(
    verb: str, files: dict[DataFormat, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, path in files.items():
        suffix = {DataFormat.RECORDS: "csa"}.get(kind, str(kind))
        words = [word.replace("OUT", "out.SUFFIX").replace("SUFFIX", suffix) for word in ARGUMENTS[verb]]
        found = CliRunner().invoke(app, ["data", verb, str(path), *words])
        said = " ".join(found.stderr.split())
        if kind in TAKEN[verb]:
            assert "this takes" not in said
            assert found.exit_code == 0 or verb == "check"  # which finds faults in games of random moves
            continue
        assert found.exit_code == 1, kind
        assert f"{path.name} holds" in said.replace(f"{path.parent}/", "")
        assert ", and this takes " in said
        assert "takes  and" not in said
        assert INSTEAD.get(kind, "fukayomi data convert makes") in said
        for name in tmp_path.iterdir():
            assert not name.name.startswith(".")


@pytest.mark.parametrize("kind", sorted(set(DataFormat) - TAKEN["average"] - {DataFormat.PSV}))
def test_training_says_what_it_takes(kind: DataFormat, files: dict[DataFormat, Path]) -> None:
    with pytest.raises(DataFileError, match="and this takes hcpe, hcpe2, hcpe3, psv and avg") as told:
        Dataset(files[kind])
    assert INSTEAD.get(kind, "fukayomi data convert makes") in str(told.value)


@pytest.mark.parametrize("kind", [DataFormat.BOOK, DataFormat.CACHE])
def test_converting_says_what_it_takes(kind: DataFormat, files: dict[DataFormat, Path]) -> None:
    with pytest.raises(DataFileError, match="all formats but books and caches"):
        next(read_checked(files[kind], kind))


def test_every_format_has_a_name() -> None:
    said = {refusal(Path("in"), kind, "nothing") for kind in DataFormat}
    assert len(said) == len(DataFormat)
