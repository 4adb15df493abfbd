"""Start positions from games: the position after the last move, or after a number of moves."""

import json
from functools import partial
from pathlib import Path
from typing import Literal

import command_runs
import numpy as np
import pytest
from game_samples import random_games
from places import RECORDS

from fukayomi import _native
from fukayomi.data.convert.convert import NothingConvertedError, Plies, convert_data
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.games import record_from_game
from fukayomi.data.records.reading import Drop
from fukayomi.errors import InvalidValueError
from fukayomi.selfplay.openings import OpeningSet
from fukayomi.shogi import Position
from fukayomi.shogi.formats import read_records

run = partial(command_runs.run, "data")
LINES = (
    "startpos moves 7g7f 3c3d 2g2f",
    "position startpos moves 2g2f 3c3d 7g7f",
    "startpos",
    "sfen 4k4/9/9/9/9/9/9/9/4K4 w G 1 moves 5a5b resign",
)


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def after(line: str, ply: int | None) -> bytes:
    """The position of a line by the rules, without the code under test."""
    whole = Position.from_usi(line.removeprefix("position ").removesuffix(" resign"))
    position = Position.from_sfen(whole.start_sfen())
    for move in whole.moves[:ply]:
        position.push(move)
    return _native.encode_hcp(position)


@pytest.mark.parametrize(("plies", "ply"), [("last", None), (0, 0), (1, 1), (2, 2), (3, 3)])
def test_lines_give_the_positions_that_their_moves_lead_to(tmp_path: Path, plies: Plies, ply: int | None) -> None:
    found = convert_data(write_lines(tmp_path / "lines.sfen", *LINES), tmp_path / "start.hcp", plies=plies)
    lengths = (3, 3, 0, 1)
    expected = [after(line, ply) for line, length in zip(LINES, lengths, strict=True) if ply is None or ply <= length]
    assert (tmp_path / "start.hcp").read_bytes() == b"".join(expected)
    assert (found.written, found.different) == (len(expected), len(set(expected)))
    assert found.dropped[Drop.PLIES] == len(LINES) - len(expected)
    assert len(OpeningSet.read(tmp_path / "start.hcp")) == len(expected)


@pytest.mark.parametrize("name", ["taya36_2020-11-06.sfen", "records2016_10818.sfen"])
def test_published_openings_end_where_their_lines_do(tmp_path: Path, shared_data: Path, name: str) -> None:
    lines = (shared_data / "openings" / name).read_text().splitlines()
    found = convert_data(shared_data / "openings" / name, tmp_path / "start.hcp", plies="last")
    expected = [_native.encode_hcp(Position.from_usi(line)) for line in lines]
    assert (tmp_path / "start.hcp").read_bytes() == b"".join(expected)
    assert found.different == len(set(expected)) == {1957: 1473, 10_831: 10_831}[len(lines)]


@pytest.mark.parametrize("plies", ["last", 0, 7, 30])
def test_records_and_hcpe3_of_the_same_games_give_the_same(tmp_path: Path, plies: int | Literal["last"]) -> None:
    games = random_games(60, seed=5)
    with DataWriter(tmp_path / "a.hcpe3") as writer:
        writer.append(games)
    lines = [record_from_game(game).usi() for game in games]
    expected = [
        after(line, None if plies == "last" else plies)
        for game, line in zip(games, lines, strict=True)
        if plies == "last" or plies <= len(game)
    ]
    for source in (tmp_path / "a.hcpe3", write_lines(tmp_path / "a.usi", *lines)):
        found = convert_data(source, tmp_path / "start.hcp", plies=plies)
        assert (tmp_path / "start.hcp").read_bytes() == b"".join(expected)
        assert found.dropped[Drop.PLIES] == len(games) - len(expected)


def test_records_give_their_last_positions(tmp_path: Path) -> None:
    file = RECORDS / "resign.csa"
    convert_data(file, tmp_path / "end.sfen", plies="last")
    (record,) = read_records(file.read_bytes())
    position = Position.from_sfen(record.initial_sfen)
    for played in record.moves:
        position.push(played.move)
    assert (tmp_path / "end.sfen").read_text().split()[:3] == position.sfen().split()[:3]


def test_a_position_alone_is_a_game_without_moves(tmp_path: Path) -> None:
    hcp = np.frombuffer(_native.encode_hcp(Position()), np.uint8)
    (tmp_path / "a.hcp").write_bytes(hcp.tobytes() * 2)
    found = convert_data(tmp_path / "a.hcp", tmp_path / "b.hcp", plies="last")
    assert (found.written, found.different) == (2, 1)
    assert convert_data(tmp_path / "a.hcp", tmp_path / "b.hcp", plies=0).written == 2
    with pytest.raises(NothingConvertedError, match="nothing is left to write: no game is that long"):
        convert_data(tmp_path / "a.hcp", tmp_path / "c.hcp", plies=1)


def test_rows_have_no_such_positions(tmp_path: Path) -> None:
    with DataWriter(tmp_path / "rows.hcpe") as writer:
        writer.append(random_games(5))
    message = "rows.hcpe: hcpe holds no games, so it has no positions by plies; records and hcpe3 do"
    for source in (None, "hcpe"):
        with pytest.raises(DataFileError, match=message):
            convert_data(tmp_path / "rows.hcpe", tmp_path / "start.hcp", source=source, plies="last")
    write_lines(tmp_path / "lines.usi", *LINES)
    found = convert_data(tmp_path, tmp_path / "start.hcp", plies="last")
    assert (found.written, len(found.problems)) == (4, 1)
    assert message in found.problems[0]


@pytest.mark.parametrize("plies", [-1, "first"])
def test_what_chooses_no_position_is_refused(tmp_path: Path, plies: Plies) -> None:
    write_lines(tmp_path / "a.usi", *LINES)
    with pytest.raises(InvalidValueError, match="plies must be 0 or more, 'all' or 'last', not"):
        convert_data(tmp_path / "a.usi", tmp_path / "a.hcp", plies=plies)
    with pytest.raises(InvalidValueError, match="only hcp and sfen have positions by plies"):
        convert_data(tmp_path / "a.usi", tmp_path / "a.hcpe3", plies="last")
    assert [path.name for path in tmp_path.iterdir()] == ["a.usi"]


def test_the_command_names_lines_and_counts_equal_positions(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "a.sfen", *LINES[:2], "", "startpos moves 7g7f 7g7f", "nothing", LINES[0])
    code, printed, said = run("convert", lines, "-o", tmp_path / "start.hcp", "--plies", "last")
    assert (code, printed) == (
        0,
        f"skipped, illegal move: 1\nskipped, damaged: 1\nread 3 games; wrote 3 records to {tmp_path / 'start.hcp'} "
        "(1 different)\n",
    )
    assert "a.sfen#3, line 4: ply 2: illegal move '7g7f'" in said
    assert "a.sfen#4, line 5: neither 'startpos moves ...' nor" in said
    code, printed, _ = run("convert", lines, "-o", tmp_path / "start.hcp", "--plies", "3", "--json")
    assert (code, json.loads(printed)["different"]) == (0, 1)
    code, printed, said = run("convert", lines, "-o", tmp_path / "start.hcp", "--plies", "4")
    assert (code, said.splitlines()[-1]) == (1, "error: nothing is left to write: no game is that long")
    assert "skipped, too short: 3\n" in printed
    for text in ("-1", "3.0", "end", "", "9" * 30):
        code, _, said = run("convert", lines, "-o", tmp_path / "b.hcp", "--plies", text)
        assert code == 2
        assert "is not last, all or a number of moves" in " ".join(said.replace("│", " ").split())
    assert not (tmp_path / "b.hcp").exists()
