"""hcpe3: what is written is read, and of a damaged file every whole game and nothing else comes out."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from game_samples import random_game, random_games
from hypothesis import given
from hypothesis import strategies as st

from fukayomi import _native
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.hcpe import ResultFlag
from fukayomi.data.formats.hcpe3 import Game, Games, Hcpe3Error, join_games, read_hcpe3, scan_hcpe3
from fukayomi.shogi import Move, Position
from fukayomi.shogi.record import Result


def write(path: Path, games: Games) -> Path:
    with DataWriter(path) as writer:
        writer.append(games)
    assert writer.count == len(games)
    return path


def key(game: Game) -> tuple[object, ...]:
    arrays = (game.hcps, game.moves, game.evals, game.candidates, game.candidate_moves, game.candidate_visits)
    return (game.start, game.result_byte, game.opponent, *(array.tobytes() for array in arrays))


def scan(path: Path, read_at_once: int = 1 << 20) -> tuple[list[Game], list[Hcpe3Error]]:
    found = list(scan_hcpe3(path, read_at_once=read_at_once))
    games = [game for item in found if isinstance(item, Games) for game in item]
    return games, [item for item in found if isinstance(item, Hcpe3Error)]


def test_the_layout(tmp_path: Path) -> None:
    position = Position()
    start = _native.encode_hcp(position)
    move, other = Move.from_usi("7g7f"), Move.from_usi("2g2f")
    game = Game(
        start, Result.BLACK_WIN | ResultFlag.DECLARATION, 2, np.frombuffer(start, np.uint8).reshape(1, 32),
        np.array([move.raw], np.uint16), np.array([-2], np.int16), np.array([0, 2], np.uint64),
        np.array([move.raw, other.raw], np.uint16), np.array([258, 7], np.uint16),
    )  # fmt: skip
    path = write(tmp_path / "a.hcpe3", join_games([game]))
    raws = [move.raw.to_bytes(2, "little"), other.raw.to_bytes(2, "little")]
    candidates = raws[0] + b"\x02\x01" + raws[1] + b"\x07\x00"
    assert path.read_bytes() == start + bytes([1, 0, 9, 2]) + raws[0] + b"\xfe\xff" + b"\x02\x00" + candidates
    (read,) = next(read_hcpe3(path))
    assert (read.result, read.flags, read.opponent) == (Result.BLACK_WIN, ResultFlag.DECLARATION, 2)
    assert key(read) == key(game)


@pytest.mark.parametrize("read_at_once", [1, 100, 1 << 20])
def test_what_is_written_is_read(tmp_path: Path, read_at_once: int) -> None:
    games = random_games(50)
    path = write(tmp_path / "a.hcpe3", games)
    read, damages = scan(path, read_at_once)
    assert not damages
    assert [key(game) for game in read] == [key(game) for game in games]
    assert join_games(read).write() == path.read_bytes()


def test_columns_know_games_and_plies(tmp_path: Path) -> None:
    (games,) = read_hcpe3(write(tmp_path / "a.hcpe3", random_games(20)))
    assert games.game_of_ply().tolist() == [g for g, game in enumerate(games) for _ in range(len(game))]
    assert games.ply_in_game().tolist() == [ply for game in games for ply in range(len(game))]
    assert games.candidate_counts().sum() == len(games.candidate_moves)
    data = (tmp_path / "a.hcpe3").read_bytes()
    for game, offset in zip(games, games.offsets, strict=True):
        assert data[int(offset) : int(offset) + 32] == game.start


def test_an_empty_file_has_no_games(tmp_path: Path) -> None:
    (tmp_path / "a.hcpe3").write_bytes(b"")
    assert list(read_hcpe3(tmp_path / "a.hcpe3")) == []
    assert len(join_games([])) == 0
    assert join_games([]).write() == b""


def test_the_games_of_another_program(shared_data: Path) -> None:
    path = shared_data / "training-fixtures" / "psv_to_hcpe3_yaneuraou_sample.hcpe3"
    (games,) = read_hcpe3(path)
    assert len(games) == 30
    assert games.write() == path.read_bytes()


def test_a_damaged_game_is_named_and_left_out(shared_data: Path) -> None:
    """This sample has moves in its writer's own encoding, which are not moves of hcpe3."""
    path = shared_data / "training-fixtures" / "psv_to_hcpe3_sample.hcpe3"
    games, damages = scan(path)
    assert (len(games), len(damages)) == (18, 38)
    assert (damages[0].game, damages[0].ply, damages[0].offset, damages[0].size) == (6, 0, 276, 46)
    assert "game 6, move 0 (offset 276): move 10519: illegal move 'L*3f'" in str(damages[0])
    with pytest.raises(Hcpe3Error, match="offset 276"):
        list(read_hcpe3(path))


def test_a_file_cut_at_any_byte_gives_its_whole_games(tmp_path: Path) -> None:
    games = random_games(6, most_moves=8)
    data = games.write()
    ends = [len(join_games(list(games)[:n]).write()) for n in range(len(games) + 1)]
    path = tmp_path / "cut.hcpe3"
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        read, damages = scan(path)
        whole = sum(end <= size for end in ends) - 1
        assert [key(game) for game in read] == [key(game) for game in list(games)[:whole]]
        assert [(damage.game, damage.offset, damage.size) for damage in damages] == (
            [] if size in ends else [(whole, ends[whole], size - ends[whole])]
        )


@given(st.integers(0, 2**32), st.integers(1, 400), st.binary(max_size=80))
def test_games_around_damage_come_out_whole(seed: int, read_at_once: int, junk: bytes) -> None:
    rng = random.Random(seed)
    before, after = random_game(rng), random_game(rng)
    first, second = join_games([before]).write(), join_games([after]).write()
    junk = b"\xff" + junk  # no header begins so
    found = collect(first + junk + second, read_at_once)
    assert [key(game) for game in found[0]] == [key(before), key(after)]
    assert found[1] == [(len(first), len(junk))]


def collect(data: bytes, read_at_once: int) -> tuple[list[Game], list[tuple[int, int]]]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.hcpe3"
        path.write_bytes(data)
        games, damages = scan(path, read_at_once)
    return games, [(damage.offset, damage.size) for damage in damages]


def check_fuzz(count: int, seed: int) -> int:
    """Change bytes of good games: what comes out is whole, legal and covers the file. Returns how many games did."""
    rng = random.Random(seed)
    samples = [random_games(3, seed=n, most_moves=12).write() for n in range(20)]
    survivors = 0
    for _ in range(count):
        data = bytearray(rng.choice(samples))
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(data))
            kind = rng.randrange(3)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at : at + rng.randrange(1, 9)]
            else:
                data[at:at] = rng.randbytes(rng.randrange(1, 9))
            data = data or bytearray(1)
        found = _native.decode_hcpe3(np.frombuffer(bytes(data), np.uint8), True)
        assert found.consumed == len(data)
        left_out = sum(size for _, size, _, _ in found.damages)
        rebuilt = _native.encode_hcpe3(
            found.starts, found.results, found.opponents, found.plies, found.moves, found.evals,
            found.candidates, found.candidate_moves, found.candidate_visits,
        )  # fmt: skip
        assert len(rebuilt) + left_out == len(data)
        survivors += len(found.results)
    return survivors


def test_changed_bytes_never_give_half_a_game() -> None:
    assert check_fuzz(4_000, seed=1) > 1_200


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_changed_bytes_never_give_half_a_game(record_property: Callable[[str, object], None]) -> None:
    check_fuzz(500_000, seed=2)
    record_property("inputs", 500_000)


def test_columns_that_do_not_fit_are_refused() -> None:
    games = random_games(3)
    arguments = [
        games.starts, games.results, games.opponents, games.plies, games.moves, games.evals,
        games.candidates, games.candidate_moves, games.candidate_visits,
    ]  # fmt: skip
    for index in range(len(arguments)):
        changed = list(arguments)
        changed[index] = changed[index][:-1]
        with pytest.raises(ValueError, match=r"differ|lead from 0|fewer than none"):
            _native.encode_hcpe3(*changed)
    backwards = games.plies.copy()
    backwards[1] = len(games.moves) + 5
    arguments[3] = backwards
    with pytest.raises(ValueError, match="plies, row 1: fewer than none"):
        _native.encode_hcpe3(*arguments)
