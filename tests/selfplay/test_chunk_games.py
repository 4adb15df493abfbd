"""Games of chunks one by one."""

from pathlib import Path

import pytest
import selfplay_chunks

from fukayomi.data.formats.hcpe import ResultFlag
from fukayomi.data.formats.hcpe3 import Hcpe3Error, join_games
from fukayomi.selfplay.chunk import list_games, read_game
from fukayomi.shogi import Color, Position
from fukayomi.shogi.record import Result, Termination

MATE = "sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


def chunk_of(folder: Path, *games) -> Path:
    path = folder / "w1-000001.hcpe3"
    path.write_bytes(join_games(games).write())
    return path


def test_lines_say_how_games_ended(tmp_path: Path) -> None:
    game = selfplay_chunks.game
    found = list_games(
        chunk_of(
            tmp_path,
            game("7g7f 3c3d", 1),
            game("G*5b", 1, MATE.removeprefix("sfen "), opponent=2),
            game("7g7f", ResultFlag.MAX_PLIES),
            game("7g7f 3c3d", ResultFlag.REPETITION),
            game("7g7f", 2 | ResultFlag.REPETITION, opponent=1),
            game("7g7f", 2 | ResultFlag.DECLARATION),
        )
    )
    assert [line.termination for line in found] == [
        Termination.RESIGN, Termination.MATE, Termination.MAX_PLIES, Termination.REPETITION,
        Termination.PERPETUAL_CHECK, Termination.DECLARATION,
    ]  # fmt: skip
    assert [line.result for line in found] == [*[Result.BLACK_WIN] * 2, *[Result.DRAW] * 2, *[Result.WHITE_WIN] * 2]
    assert [line.opponent for line in found] == [None, Color.WHITE, None, None, Color.BLACK, None]
    assert [line.plies for line in found] == [2, 1, 1, 2, 1, 1]


def test_a_game_is_a_record_with_scores_from_blacks_side(tmp_path: Path) -> None:
    start = Position.from_usi("startpos moves 7g7f").sfen()
    games = [selfplay_chunks.game("7g7f", 0), selfplay_chunks.game("3c3d 2g2f 8c8d", 2, start, evals={0: 30, 2: -70})]
    path = chunk_of(tmp_path, *games)
    record = read_game(path, list_games(path)[1])
    assert (record.name, record.usi_moves()) == ("w1-000001 #2", ["3c3d", "2g2f", "8c8d"])
    assert record.initial_sfen.split()[:3] == start.split()[:3], "hcp has no number of the ply"
    assert [played.score_cp for played in record.moves] == [-30, None, 70]
    assert (record.result, record.termination) == (Result.WHITE_WIN, Termination.RESIGN)


def test_damaged_games_are_left_out(tmp_path: Path) -> None:
    path = chunk_of(tmp_path, *[selfplay_chunks.game("7g7f 3c3d", 1)] * 3)
    size = path.stat().st_size // 3
    data = bytearray(path.read_bytes())
    data[size + 36 : size + 38] = b"\xff\xff"  # the first move of the second game
    path.write_bytes(data)
    lines = list_games(path)
    assert [line.place for line in lines] == [(0, 0), (2 * size, 2)]
    assert read_game(path, lines[1]).usi_moves() == ["7g7f", "3c3d"]
    path.write_bytes(bytes(data[:size]))
    with pytest.raises(Hcpe3Error, match="ends before this game"):
        read_game(path, lines[1])
