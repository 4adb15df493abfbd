"""Every kind of damage is found and named; what the rules and the settings allow is accepted."""

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from canary_games import relabelled
from hypothesis import given, settings
from hypothesis import strategies as st
from selfplay_chunks import SETTINGS, deliver, details, game, new_store, random_games

from fukayomi import _native
from fukayomi.data.formats.hcpe3 import Game, join_games
from fukayomi.loop.ingest.validation import RejectedError, rules_of, validate_chunk
from fukayomi.selfplay.chunk import ResultCounts, sidecar_of, write_chunk
from fukayomi.shogi import Color, DeclarationRule, Move, Position, Repetition

BLACK, WHITE = 1, 2
REPETITION, DECLARATION, MAX_PLIES = 4, 8, 16
MATE_IN_ONE = "8k/9/8P/9/9/9/9/9/K8 b G 1"
PERPETUAL = ("1i1a+ 9a9b 1a1b 9b9a 1b1a", "k8/9/9/9/9/9/9/9/K7R b - 1")
ENTERED = "K+R+R+B+B4/GGGGSS3/9/9/9/9/9/9/8k w 2P 1"
ROOKS = "2h3h 8b7b 3h2h 7b8b"


def checked(found: Game | Sequence[Game], **changes: Any) -> tuple[list[str], list[tuple[int, int, str]]]:
    """How games end, and their faults."""
    games = join_games([found] if isinstance(found, Game) else found)
    decoded = _native.decode_hcpe3(bytes_of(games.write()), True)
    assert decoded.damages == []
    check = _native.check_selfplay(decoded, rules_of(SETTINGS | changes))
    return [_native.EndReason(end).name for end in check.ends.tolist()], check.faults


def bytes_of(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8)


@pytest.mark.parametrize(
    ("found", "end"),
    [
        (game("G*1b", BLACK, MATE_IN_ONE), "MATE"),
        (game("G*1b", BLACK, MATE_IN_ONE, opponent=1), "MATE"),
        (game(ROOKS, REPETITION), "REPETITION"),
        (game(PERPETUAL[0], WHITE | REPETITION, PERPETUAL[1]), "REPETITION"),
        (game("1i1h", BLACK | DECLARATION, ENTERED), "DECLARATION"),
        (game("7g7f 3c3d", WHITE, evals={1: 4002}), "RESIGNATION"),
        (game("7g7f 3c3d", BLACK, evals={1: -4002}), "RESIGNATION"),
        (game("7g7f 3c3d", WHITE, evals={1: 5000}, opponent=2), "RESIGNATION"),
        (game("7g7f 3c3d", BLACK, opponent=2), "RESIGNATION"),
        (game("7g7f", BLACK, evals={0: 30_000}, targets={0: [("7g7f", 200)]}), "RESIGNATION"),
    ],
)
def test_each_way_to_end_is_derived(found: Game, end: str) -> None:
    assert checked(found) == ([end], [])


def test_a_game_ends_at_the_maximum_of_plies() -> None:
    found = game("7g7f 3c3d 2g2f 8c8d", MAX_PLIES)
    assert checked(found, max_move=4) == (["MAX_PLIES"], [])
    [(number, ply, reason)] = checked(found, max_move=3)[1]
    assert (number, ply, reason) == (0, -1, "4 moves; the settings allow 0 to 3")
    [(_, _, reason)] = checked(found, max_move=5)[1]
    assert reason == "flagged as stopped at the maximum of plies, which is 5, after 4"
    assert checked(found, max_move=4, min_move=5)[1] == [(0, -1, "4 moves; the settings allow 5 to 4")]


MATE_AFTER_A_CYCLE = ("1i1a+ 9a9b 1a1b 9b9a 1b1a 9a9b G*9c", "k8/9/9/P8/9/9/9/9/K7R b G 1")


def test_a_mate_that_was_found_may_repeat_positions() -> None:
    moves, start = MATE_AFTER_A_CYCLE
    evals = {ply: 30_000 if ply % 2 == 0 else -30_000 for ply in range(7)}
    assert checked(game(moves, BLACK, start, evals=evals)) == (["MATE"], [])
    for spoiled in ({5: -29_999}, {6: 100}):
        found = game(moves, BLACK, start, evals=evals | spoiled)
        assert checked(found)[1] == [(0, 5, "the position before this move is a repetition, but the game goes on")]
    goes_on = game(moves.removesuffix(" G*9c"), BLACK, start, evals=evals)
    assert checked(goes_on)[1] == [(0, 5, "the position before this move is a repetition, but the game goes on")]


def test_declarations_are_by_the_rule_of_the_settings() -> None:
    found = game("1i1h", BLACK | DECLARATION, ENTERED)  # 28 points
    assert checked(found, declaration_rule="points_27") == (["DECLARATION"], [])
    for rule in ("points_24", "none"):
        assert "cannot declare a win" in checked(found, declaration_rule=rule)[1][0][2]
    tried = game("5c5b 1i2i", BLACK | DECLARATION, "9/9/4K4/9/9/9/9/9/8k b - 1")
    assert checked(tried, declaration_rule="try") == (["DECLARATION"], [])
    assert "cannot declare a win" in checked(tried, declaration_rule="points_27")[1][0][2]


@pytest.mark.parametrize(
    ("found", "ply", "reason"),
    [
        (game("G*1b", WHITE, MATE_IN_ONE), -1, "the last move mates makes it a win for Black, but the result is"),
        (game("G*1b", BLACK | DECLARATION, MATE_IN_ONE), -1, "the last move mates, but the flags say otherwise"),
        (game(ROOKS, BLACK | REPETITION), -1, "the repetition at the end makes it a draw, but the result is a win"),
        (game(ROOKS, 0), -1, "a draw without a repetition or the maximum of plies"),
        (game(ROOKS + " 7g7f", WHITE, evals={4: -9000}), 4, "the position before this move is a repetition, but the g"),
        (game("7g7f 3c3d", REPETITION), -1, "flagged as a repetition, but the last position does not repeat"),
        (game(PERPETUAL[0], REPETITION, PERPETUAL[1]), -1, "makes it a win for White, but the result is a draw"),
        (game(PERPETUAL[0], BLACK | REPETITION, PERPETUAL[1]), -1, "makes it a win for White, but the result is a win"),
        (game("7g7f", WHITE | DECLARATION), -1, "flagged as a declaration, but the side to move cannot declare a win"),
        (game("1i1h", WHITE | DECLARATION, ENTERED), -1, "the declaration makes it a win for Black"),
        (game("7g7f", REPETITION | MAX_PLIES), -1, "flagged with several reasons for its end"),
        (game("7g7f 3c3d", WHITE, evals={1: 3999}), 1, "the game ends with the evaluation 3999, too small"),
        (game("7g7f 3c3d", BLACK, evals={1: 4100}), 1, "the evaluation 4100 makes it a win for White, but the result"),
        (game("7g7f 3c3d", WHITE, evals={0: -9000}, opponent=2), 1, "the game ends with the evaluation 0, too small"),
        (game("7g7f", WHITE, opponent=1), -1, None),
        (game("7g7f", BLACK, opponent=1), 0, "the game ends with the evaluation 0, too small"),
        (game("", BLACK), -1, "a resignation without an evaluation"),
        (game("7g7f", BLACK, evals={0: 30_001}), 0, "evaluation 30001 is beyond that of a mate"),
        (game("7g7f", BLACK, evals={0: -32_768}), 0, "evaluation -32768 is beyond that of a mate"),
        (game("7g7f", BLACK, targets={0: [("2g2f", 9)]}), 0, "the move played is not a candidate"),
        (game("7g7f", BLACK, targets={0: [("7g7f", 9), ("7g7f", 9)]}), 0, "is among the candidates more than once"),
        (game("7g7f", BLACK, targets={0: [("7g7f", 0)]}), 0, "candidates without a single visit"),
        (game("7g7f", BLACK, targets={0: [("7g7f", 200), ("2g2f", 6)]}), 0, "206 visits; the settings allow 205"),
        (game("7g7f", BLACK, targets={0: [("7g7f", 9)]}, opponent=1), 0, "candidates for a move of another program"),
        (game("7g7f", BLACK, opponent=3), -1, "opponent 3 is not 0, 1 or 2"),
    ],
)  # fmt: skip
def test_each_fault_is_named(found: Game, ply: int, reason: str | None) -> None:
    good = game("G*1b", BLACK, MATE_IN_ONE)
    ends, faults = checked([good, found])
    if reason is None:
        assert (ends, faults) == (["MATE", "RESIGNATION"], [])
        return
    assert ends == ["MATE", "NONE"]
    [(number, at, said)] = faults
    assert (number, at) == (1, ply)
    assert reason in said


def test_visits_are_those_that_the_settings_allow() -> None:
    found = game("7g7f", BLACK, evals={0: 9000}, targets={0: [("7g7f", 60_000), ("2g2f", 5_536)]})
    assert rules_of(SETTINGS).most_visits == 205  # one for a move played that has no visits of its own
    assert rules_of(SETTINGS | {"extension": 0.0}).most_visits == 105
    assert rules_of(SETTINGS | {"extension": 0.0, "leaves": 4}).most_visits == 117
    assert "65536 visits" in checked(found)[1][0][2]
    assert checked(found, root_rule="Gumbel")[1] == []


@pytest.fixture
def store(tmp_path: Path) -> Path:
    new_store(tmp_path)
    return tmp_path


def rejected(store: Path, name: str = "w1-000001") -> RejectedError:
    with pytest.raises(RejectedError) as error:
        validate_chunk(store / "games" / f"{name}.hcpe3")
    return error.value


def test_a_valid_chunk_tells_its_numbers(store: Path) -> None:
    games = random_games(40)
    deliver(store, games)
    chunk = validate_chunk(store / "games" / "w1-000001.hcpe3")
    assert len(set(chunk.keys.tolist())) == 40
    assert chunk.results == chunk.info.results
    assert chunk.statistics.games == 40
    assert chunk.statistics.length.total == games.lengths()[games.results % 4 > 0].sum()
    assert sum(chunk.statistics.first_moves.values()) == 40
    assert chunk.results.black_wins + chunk.results.white_wins + chunk.results.draws == 40


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("games", 9, "the sidecar says games 9, but there are 8"),
        ("plies", 9, "the sidecar says plies 9, but there are "),
        ("positions", 9, "the sidecar says positions 9, but there are "),
        ("results", ResultCounts(black_wins=8), "the sidecar says results 8 wins of Black, 0 of White, 0 draws; 0 m"),
    ],
)
def test_the_sidecar_must_fit_the_games(store: Path, field: str, value: object, reason: str) -> None:
    deliver(store, random_games(8), **{field: value})
    assert str(rejected(store)).startswith(f"w1-000001.hcpe3: {reason}")


@pytest.mark.parametrize(
    ("settings", "changes", "reason"),
    [
        ({}, {"numbers": 7}, "8 games of 7 numbers"),
        ({"chunk_games": 9}, {"numbers": 10}, "10 numbers of games, but a chunk has at most 9 (chunk_games)"),
        ({}, {"wrong_resignations": (2, 3)}, "3 wrong resignations in 2 games played out, of 8 numbers"),
        (
            {},
            {"numbers": 9, "wrong_resignations": (10, 0)},
            "0 wrong resignations in 10 games played out, of 9 numbers",
        ),
        ({"play_out": 0}, {"wrong_resignations": (1, 0)}, "1 game played out, but the settings allow none"),
        ({"threshold": 1}, {"wrong_resignations": (1, 0)}, "1 game played out, but the settings allow none"),
        ({"play_out": 0, "soft_playouts": 5, "chunk_games": 9}, {"numbers": 9, "wrong_resignations": (9, 9)}, ""),
    ],
)
def test_counts_of_games_that_are_not_there_must_be_possible(
    tmp_path: Path, settings: dict[str, object], changes: dict[str, object], reason: str
) -> None:
    new_store(tmp_path / "run", SETTINGS | settings)
    deliver(tmp_path / "run", random_games(8), settings=SETTINGS | settings, **changes)
    if reason:
        assert str(rejected(tmp_path / "run")) == f"w1-000001.hcpe3: the sidecar says {reason}"
    else:
        validate_chunk(tmp_path / "run" / "games" / "w1-000001.hcpe3")


def test_files_must_be_those_of_the_sidecar(store: Path) -> None:
    deliver(store, random_games(3))
    path = store / "games" / "w1-000001.hcpe3"
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    assert "w1-000001.hcpe3: " in str(rejected(store))
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "w1-000001.hcpe3: the checksum (SHA-256) is not the sidecar's" in str(rejected(store))
    sidecar_of(path).write_bytes(b"{}")
    error = rejected(store)
    assert "w1-000001.json: not a sidecar of a chunk: " in str(error)
    assert error.info is None


def test_games_begin_at_the_start_position_unless_there_are_openings(tmp_path: Path) -> None:
    games = join_games([*random_games(2), game("G*1b", BLACK, MATE_IN_ONE)])
    for name, more in (("plain", {}), ("opened", {"openings": [{"sha256": "0", "weight": 1.0}]})):
        new_store(tmp_path / name, SETTINGS | more)
        deliver(tmp_path / name, games, settings=SETTINGS | more)
    validate_chunk(tmp_path / "opened" / "games" / "w1-000001.hcpe3")
    (fault,) = rejected(tmp_path / "plain").faults
    assert (fault.game, fault.offset) == (2, int(games.sizes()[:2].sum()))
    assert fault.reason == "it does not begin at the start position, and the settings have no openings"


def test_a_game_weighs_no_more_than_its_positions(store: Path) -> None:
    games = random_games(3)
    path = store / "games" / "w1-000001.hcpe3"
    said = relabelled(games, details())
    count = int((np.diff(games[0].candidates.astype(int)) > 0).sum())
    weights = np.ones(said.positions, np.float32)
    weights[:count] = [count, *[0] * (count - 1)]
    write_chunk(path, games.write(), said, weights)
    validate_chunk(path)
    sidecar_of(path).unlink()
    weights[0] = 1e30
    write_chunk(path, games.write(), said, weights)
    (fault,) = rejected(store).faults
    assert str(fault) == (
        f"w1-000001.weights.npy, game 0: its {count} positions with targets weigh 1e+30, more than 1 each"
    )


def test_settings_must_be_those_of_self_play(store: Path) -> None:
    deliver(store, random_games(3))
    path = sidecar_of(store / "games" / "w1-000001.hcpe3")
    sidecar = json.loads(path.read_text()) | {"settings": {"playouts": 0}}
    sidecar["settings_sha256"] = hashlib.sha256(b'{"playouts":0}').hexdigest()
    path.write_text(json.dumps(sidecar))
    assert "w1-000001.json: settings.playouts: " in str(rejected(store))


def forge(store: Path, data: bytes, **fields: Any) -> Path:
    """Change the bytes of a chunk and let its sidecar agree, as far as it says anything about bytes."""
    path = store / "games" / "w1-000001.hcpe3"
    path.write_bytes(data)
    sidecar = json.loads(sidecar_of(path).read_text())
    sidecar |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} | fields
    sidecar_of(path).write_text(json.dumps(sidecar))
    return path


def test_an_illegal_move_is_named_with_game_move_and_offset(store: Path) -> None:
    games = random_games(3)
    deliver(store, games)
    data = bytearray(games.write())
    sizes = games.sizes()
    at = int(sizes[0]) + 36
    assert int(games[1].candidates[1]) == 0  # random moves come first
    data[at : at + 2] = struct.pack("<H", Move.from_usi("5i5a").raw)
    forge(store, bytes(data))
    fault = rejected(store).faults[0]
    assert (fault.file, fault.game, fault.ply, fault.offset) == ("w1-000001.hcpe3", 1, 0, int(sizes[0]))
    assert "illegal move" in fault.reason
    assert str(fault).startswith(f"w1-000001.hcpe3, game 1, move 0 (offset {sizes[0]}): move ")


def test_an_impossible_start_is_named(store: Path) -> None:
    games = random_games(2)
    deliver(store, games)
    forge(store, replace(games, starts=games.starts ^ 255).write())
    fault = rejected(store).faults[0]
    assert (fault.game, fault.ply, fault.offset) == (0, None, 0)
    assert "hcp " in fault.reason


# An oracle that shares nothing with check_selfplay but the rules.


ENDS_GAME = (Repetition.DRAW, Repetition.WIN, Repetition.LOSE)


def end_by_the_rules(position: Position, plies: int, most_plies: int) -> set[int]:
    """The result bytes that the last position allows, resignations aside."""
    mover, other = (BLACK, WHITE) if position.turn is Color.BLACK else (WHITE, BLACK)
    if not position.legal_moves:
        return {other}
    allowed: set[int] = set()
    match position.first_recurrence():
        case Repetition.DRAW:
            allowed.add(REPETITION)
        case Repetition.WIN:
            allowed.add(mover | REPETITION)
        case Repetition.LOSE:
            allowed.add(other | REPETITION)
        case _:
            pass
    if position.can_declare_win(DeclarationRule.POINTS_27):
        allowed.add(mover | DECLARATION)
    if plies == most_plies:
        allowed.add(MAX_PLIES)
    return allowed


def is_valid_game(data: bytes, at: int, rules: dict[str, Any]) -> int | None:
    """Where the next game begins if the one here is valid."""
    moves, result, opponent = struct.unpack_from("<HBB", data, at + 32)
    position = _native.position_from_hcp(data[at : at + 32])
    if opponent > 2 or moves > rules["max_move"]:
        return None
    at += 36
    evals: list[tuple[int, Color]] = []
    repeated: list[int] = []
    line = 0  # where the moves begin that have the evaluation of a mate and no candidates
    for ply in range(moves):
        raw, value, count = struct.unpack_from("<HhH", data, at)
        found = struct.unpack_from(f"<{2 * count}H", data, at + 6)
        legal = {move.raw for move in position.legal_moves}
        is_program = opponent == (BLACK if position.turn is Color.BLACK else WHITE)
        if raw not in legal or not set(found[::2]) <= legal or len(set(found[::2])) < count:
            return None
        if count and (raw not in found[::2] or is_program or not 0 < sum(found[1::2]) <= 2 * rules["playouts"] + 5):
            return None
        if abs(value) > 30_000:
            return None
        if ply and position.first_recurrence() in ENDS_GAME:
            repeated.append(ply)
        evals.append((value, position.turn))
        if count or abs(value) != 30_000:
            line = ply + 1
        position.push(Move.from_raw(raw))
        at += 6 + 4 * count
    if repeated and (position.legal_moves or repeated[0] < line):
        return None
    if result in end_by_the_rules(position, moves, rules["max_move"]):
        return at
    if result not in (BLACK, WHITE) or not position.legal_moves:
        return None
    if opponent == 3 - result:
        return at
    if not evals or abs(evals[-1][0]) < 4001:
        return None
    value, mover = evals[-1]
    winner = mover if value > 0 else Color(1 - mover)
    return at if result == (BLACK if winner is Color.BLACK else WHITE) else None


def is_valid(data: bytes) -> bool:
    at: int | None = 0
    try:
        while at is not None and at < len(data):
            at = is_valid_game(data, at, SETTINGS)
    except (struct.error, ValueError):
        return False
    return at == len(data)


MUTATED = random_games(4, seed=7)
# What is legal whatever its value: results, opponents, the last evaluations.
SENSITIVE = [at for end in MUTATED.sizes().cumsum().tolist() for at in range(end - 60, end)]
SENSITIVE += [at + i for at in (0, *MUTATED.sizes().cumsum()[:-1].tolist()) for i in (32, 33, 34, 34, 34, 35)]


@settings(max_examples=150)
@given(data=st.data())
def test_mutated_games_are_accepted_exactly_if_they_are_valid(data: st.DataObject) -> None:
    games = bytearray(MUTATED.write())
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(games) - 1) | st.sampled_from(SENSITIVE))
        games[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del games[data.draw(st.integers(0, len(games))) :]
    decoded = _native.decode_hcpe3(bytes_of(bytes(games)), True)
    faults = decoded.damages or _native.check_selfplay(decoded, rules_of(SETTINGS)).faults
    assert (not faults) == is_valid(bytes(games))


def test_the_oracle_accepts_what_was_not_mutated() -> None:
    assert is_valid(MUTATED.write())
    assert is_valid(random_games(60, seed=3).write())


@settings(max_examples=30)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_rejected(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    store = tmp_path_factory.getbasetemp() / "any"
    if not store.exists():
        new_store(store)
        deliver(store, random_games(1))
    path = forge(store, data)
    with pytest.raises(RejectedError):
        validate_chunk(path)
