"""The index of training positions in hcpe3 files: in any order, what comes out is what a plain replay gives."""

import itertools
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp
from pathlib import Path

import numpy as np
import pytest
from game_samples import one_hot_game, random_games
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from places import RECORDS

from fukayomi import _native
from fukayomi.data.formats.games import game_from_record
from fukayomi.data.formats.hcpe3 import Game, Games, join_games
from fukayomi.shogi import BLACK, Move, Position, Repetition
from fukayomi.shogi.formats import scan_records

SCALE = 600.0


@dataclass
class Sample:
    """A training position as a plain reader finds it."""

    planes: tuple[bytes, bytes]
    label: int
    result: float
    value: float
    policy: dict[int, float]


def plain_samples(data: bytes, temperature: float = 1.0) -> Iterator[Sample]:
    """The training positions of an hcpe3 file, in its order."""
    at = 0
    while at < len(data):
        position = _native.position_from_hcp(data[at : at + 32])
        moves, result = struct.unpack_from("<HB", data, at + 32)
        at += 36
        for _ in range(moves):
            raw, evaluation, count = struct.unpack_from("<HhH", data, at)
            pairs = list(struct.iter_unpack("<HH", data[at + 6 : at + 6 + 4 * count]))
            at += 6 + 4 * count
            sample = plain_sample(position, raw, evaluation, pairs, result & 3, temperature) if count else None
            position.push(Move.from_raw(raw))
            repeats = position.first_recurrence(16) in (Repetition.DRAW, Repetition.SUPERIOR, Repetition.INFERIOR)
            if sample is not None and not repeats:
                yield sample


def plain_sample(
    position: Position, played: int, evaluation: int, pairs: list[tuple[int, int]], result: int, temperature: float
) -> Sample:
    most = max(visits for _, visits in pairs)
    best = [raw for raw, visits in pairs if visits == most]
    labels = {raw: _native.policy_label(position.turn, Move.from_raw(raw)) for raw, _ in pairs}
    label = labels[played if played in best else best[0]]
    if len(pairs) == 1 or temperature == 0:
        policy = {label: 1.0}
    else:
        weights = {labels[raw]: (visits / most) ** (1 / temperature) for raw, visits in pairs if visits}
        policy = {label: weight / sum(weights.values()) for label, weight in weights.items()}
    planes = tuple(part.tobytes() for part in _native.encode_position(position))
    won = 0.5 if result == 0 else float((result == 1) == (position.turn == BLACK))
    return Sample((planes[0], planes[1]), label, won, 1 / (1 + exp(-evaluation / SCALE)), policy)


def index_of(*files: bytes, read_at_once: int = 1 << 20) -> _native.GameIndex:
    index = _native.GameIndex()
    for number, data in enumerate(files):
        index.add_file(np.frombuffer(data, np.uint8), f"{number}.hcpe3")
        while index.read_on(read_at_once):
            pass
    return index


def decode(
    index: _native.GameIndex, numbers: NDArray[np.int64], temperature: float = 1.0, files: int = 1
) -> list[Sample]:
    n = len(numbers)
    planes1, planes2 = np.empty((n, 628), np.uint8), np.empty((n, 8), np.uint8)
    labels, results, values = np.empty(n, np.uint16), np.empty(n, np.float32), np.empty(n, np.float32)
    places, weights = index.decode(
        numbers, planes1, planes2, labels, results, values, temperature, np.full(files, SCALE)
    )
    policies: list[dict[int, float]] = [{} for _ in range(n)]
    for place, weight in zip(places.tolist(), weights.tolist(), strict=True):
        row, label = divmod(place, 2187)
        policies[row][label] = weight
    return [
        Sample((planes1[i].tobytes(), planes2[i].tobytes()), int(labels[i]), float(results[i]), float(values[i]), p)
        for i, p in enumerate(policies)
    ]


def assert_equal(found: list[Sample], expected: list[Sample]) -> None:
    assert len(found) == len(expected)
    for mine, plain in zip(found, expected, strict=True):
        assert (mine.planes, mine.label, mine.result) == (plain.planes, plain.label, plain.result)
        assert mine.value == pytest.approx(plain.value, abs=1e-6)
        assert mine.policy.keys() == plain.policy.keys()
        assert mine.policy == pytest.approx(plain.policy, abs=1e-6)


def with_candidates(game: Game, rng: random.Random) -> Game:
    """The same moves, each with up to 40 legal candidates and any visits."""
    position = _native.position_from_hcp(game.start)
    counts, moves, visits = [0], [], []
    for raw in game.moves.tolist():
        chosen = rng.sample(position.legal_moves, min(rng.choice([0, 1, 1, 3, 40]), position.legal_move_count))
        moves += [move.raw for move in chosen]
        visits += [rng.choice([0, 7, rng.randrange(65_536)]) for _ in chosen]
        if len(chosen) > 1:
            visits[-1] = max(visits[-1], 1)
        counts.append(len(moves))
        position.push(Move.from_raw(raw))
    return Game(
        game.start, game.result_byte, game.opponent, game.hcps, game.moves, game.evals,
        np.array(counts, np.uint64), np.array(moves, np.uint16), np.array(visits, np.uint16),
    )  # fmt: skip


def useful(games: Games) -> Games:
    """Without games of several candidates and no visits, which are refused."""
    return join_games([with_candidates(game, random.Random(number)) for number, game in enumerate(games)])


@pytest.fixture(scope="module")
def real_games() -> Games:
    """Real games, with made-up candidates; one ends in a repetition."""
    games: list[Game] = []
    for path in sorted(RECORDS.glob("*.csa")):
        for record in scan_records(path.read_bytes(), name=path.name):
            assert not isinstance(record, Exception)
            game = game_from_record(record)
            assert isinstance(game, Game)
            games.append(with_candidates(game, random.Random(len(games))))
    return join_games(games)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 3.0])
def test_any_order_gives_what_a_plain_replay_gives(real_games: Games, temperature: float) -> None:
    data = real_games.write()
    expected = list(plain_samples(data, temperature))
    assert len(expected) > 300
    index = index_of(data)
    assert len(index) == len(expected)
    order = np.random.default_rng(3).permutation(len(expected))
    assert_equal(decode(index, order, temperature), [expected[i] for i in order])


def test_positions_moves_and_evaluations_are_found(real_games: Games) -> None:
    data = real_games.write()
    index = index_of(data)
    expected = list(plain_samples(data))
    played = {
        (hcp.tobytes(), move, evaluation)
        for hcp, move, evaluation in zip(
            real_games.hcps, real_games.moves.tolist(), real_games.evals.tolist(), strict=True
        )
    }
    for number in np.random.default_rng(5).permutation(len(index)).tolist():
        hcp, move, evaluation = index.find(number)
        assert (hcp, move, evaluation) in played
        planes = _native.encode_position(_native.position_from_hcp(hcp))
        assert tuple(part.tobytes() for part in planes) == expected[number].planes
        assert 1 / (1 + exp(-evaluation / SCALE)) == pytest.approx(expected[number].value)


def test_random_games_and_any_size_of_reading() -> None:
    data = useful(random_games(40, seed=5, most_moves=50)).write()
    expected = list(plain_samples(data))
    for size in (1, 300, 1 << 20):
        index = index_of(data, read_at_once=size)
        assert_equal(decode(index, np.arange(len(index))), expected)


def test_files_are_numbered_one_after_the_other() -> None:
    files = [useful(random_games(5, seed=seed)).write() for seed in (1, 2, 3)]
    expected = [sample for data in files for sample in plain_samples(data)]
    assert_equal(decode(index_of(*files), np.arange(len(expected)), files=3), expected)


@dataclass
class Continuation:
    """How a game goes on after a training position, as a plain reader finds it."""

    reply: int
    plies_left: int
    values: list[float]


def plain_continuations(games: Games, horizons: tuple[float, ...]) -> Iterator[Continuation]:
    """Of the training positions of games, in their order."""
    for game in games:
        position = _native.position_from_hcp(game.start)
        counts = np.diff(game.candidates.astype(int)).tolist()
        moves = [Move.from_raw(raw) for raw in game.moves.tolist()]
        for ply, move in enumerate(moves):
            turn = position.turn
            position.push(move)
            repeats = position.first_recurrence(16) in (Repetition.DRAW, Repetition.SUPERIOR, Repetition.INFERIOR)
            if counts[ply] == 0 or repeats:
                continue
            if len(moves) == 1:
                yield Continuation(-1, 0, [float("nan")] * len(horizons))
                continue
            reply = -1
            if ply + 1 < len(moves):
                direction = _native.policy_label(position.turn, moves[ply + 1]) // 81
                to = int(moves[ply + 1].to_square)
                reply = direction * 81 + (to if turn == BLACK else 80 - to)
            result = game.result_byte & 3
            won = 0.5 if result == 0 else float((result == 1) == (turn == BLACK))
            searched = [
                1 / (1 + exp(-evaluation * (-1) ** later / SCALE)) if count else None
                for later, (evaluation, count) in enumerate(zip(game.evals[ply:].tolist(), counts[ply:], strict=True))
            ]
            known = list(itertools.accumulate(searched, lambda before, value: before if value is None else value))
            values: list[float] = []
            for m in horizons:
                weights = [(1 - 1 / m) ** k / m for k in range(len(known))]
                mean = sum(weight * value for weight, value in zip(weights, known, strict=True))
                values.append(mean + (1 - sum(weights)) * won)
            yield Continuation(reply, len(moves) - ply, values)


def follow(
    index: _native.GameIndex, numbers: NDArray[np.int64], horizons: tuple[float, ...] = (6.0, 16.0), files: int = 1
) -> list[Continuation]:
    n = len(numbers)
    replies, plies_left = np.empty(n, np.int32), np.empty(n, np.int32)
    values = np.empty((n, len(horizons)), np.float32)
    index.follow(numbers, replies, plies_left, values, np.array(horizons), np.full(files, SCALE))
    return [Continuation(int(replies[i]), int(plies_left[i]), values[i].tolist()) for i in range(n)]


def assert_continue_equally(found: list[Continuation], expected: list[Continuation]) -> None:
    assert [(each.reply, each.plies_left) for each in found] == [(each.reply, each.plies_left) for each in expected]
    np.testing.assert_allclose(
        [each.values for each in found], [each.values for each in expected], atol=2e-6, equal_nan=True
    )


@pytest.mark.parametrize("horizons", [(6.0, 16.0), (1.0, 2.5, 1e9)])
def test_games_go_on_as_a_plain_replay_says(real_games: Games, horizons: tuple[float, ...]) -> None:
    index = index_of(real_games.write())
    expected = list(plain_continuations(real_games, horizons))
    assert len(index) == len(expected) == index.continued
    order = np.random.default_rng(4).permutation(len(expected))
    assert_continue_equally(follow(index, order, horizons), [expected[i] for i in order])
    assert sum(each.reply < 0 for each in expected) <= len(real_games)
    assert max(each.plies_left for each in expected) > 60


def test_random_games_go_on_and_games_of_one_move_do_not() -> None:
    files = [useful(random_games(60, seed=seed, most_moves=4)) for seed in (3, 4)]
    expected = [each for games in files for each in plain_continuations(games, (6.0, 16.0))]
    index = index_of(*(games.write() for games in files))
    found = follow(index, np.arange(len(index)), files=2)
    assert_continue_equally(found, expected)
    alone = sum(each.plies_left == 0 for each in expected)
    assert alone > 3
    assert index.continued == len(expected) - alone
    policies = [sample.policy for games in files for sample in plain_samples(games.write())]
    assert index.choices >= sum(len(policy) > 1 for policy in policies) > 0


@pytest.mark.parametrize(
    ("moves", "start", "left_out"),
    [
        ("5i5h 5a5b 5h5i 5b5a 2g2f", None, [3]),
        ("5i5h 5a5b 5h5i 5b5a 5i5h 5a5b 5h5i 5b5a", None, [3, 4, 5, 6, 7]),
        ("2h7h 5a5b 7h2h 5b5a", "4k4/9/9/9/9/9/9/7R1/4K4 b - 1", [3]),
        # Check on every move loses; that is learnt from.
        ("5e4e 4a5a 4e5e 5a4a 5e4e", "5k3/9/9/9/4R4/9/9/9/8K b - 1", []),
        # The same board, but Black has a pawn less in hand.
        ("P*6e 6c6e 1i1h 6e6d 1h1i 6d6c", "4k4/9/3r5/9/9/9/9/9/8K b P 1", [5]),
    ],
    ids=["once", "again and again", "handicap", "perpetual check", "fewer in hand"],
)
def test_moves_into_a_repetition_are_no_training_positions(moves: str, start: str | None, left_out: list[int]) -> None:
    game = one_hot_game(moves, start)
    data = join_games([game]).write()
    index = index_of(data)
    kept = [ply for ply in range(len(game)) if ply not in left_out]
    assert index.repetitions == len(left_out)
    assert index.left_out.tolist() == [ply - number for number, ply in enumerate(left_out)]
    played = [_native.policy_label(_native.position_from_hcp(game.hcps[ply].tobytes()).turn,
                                   Move.from_raw(int(game.moves[ply]))) for ply in kept]  # fmt: skip
    found = decode(index, np.arange(len(index)))
    assert [sample.label for sample in found] == played
    assert_equal(found, list(plain_samples(data)))


@settings(max_examples=50)
@given(
    visits=st.lists(st.integers(0, 65_535), min_size=1, max_size=30).filter(any),
    temperature=st.one_of(st.just(0.0), st.floats(0.001, 1000), st.just(float("inf"))),
)
def test_temperature(visits: list[int], temperature: float) -> None:
    raws = [move.raw for move in Position().legal_moves[: len(visits)]]
    visits = visits[: len(raws)]
    if not any(visits):
        visits[0] = 1
    base = one_hot_game("7g7f")
    game = Game(base.start, 1, 0, base.hcps, base.moves, base.evals, np.array([0, len(raws)], np.uint64),
                np.array(raws, np.uint16), np.array(visits, np.uint16))  # fmt: skip
    data = join_games([game]).write()
    (found,) = decode(index_of(data), np.arange(1), temperature)
    assert sum(found.policy.values()) == pytest.approx(1, abs=1e-5)
    assert found.policy[found.label] == max(found.policy.values())
    labels = {raw: _native.policy_label(BLACK, Move.from_raw(raw)) for raw in raws}
    shares = [found.policy.get(labels[raw], 0.0) for raw in raws]
    by_visits = sorted(zip(visits, shares, strict=True))
    assert all(a[1] <= b[1] for a, b in itertools.pairwise(by_visits))  # more visits, no less weight
    assert_equal([found], list(plain_samples(data, temperature)))


def test_evaluations_are_counted_by_outcome() -> None:
    data = useful(random_games(30, seed=9)).write()
    index = index_of(data)
    counts = index.eval_counts
    assert counts.sum() == len(index)
    won = sum(sample.result for sample in plain_samples(data))
    assert (counts * [0, 0.5, 1]).sum() == won


def test_a_file_cut_at_any_byte_is_refused_or_whole() -> None:
    games = useful(random_games(4, seed=2, most_moves=6))
    data = games.write()
    ends = {len(join_games(list(games)[:n]).write()) for n in range(5)}
    for size in range(len(data) + 1):
        if size in ends:
            assert len(index_of(data[:size])) == len(list(plain_samples(data[:size])))
        else:
            with pytest.raises(ValueError, match=r"^0\.hcpe3, game \d(, move \d)? \(offset \d+\): the data end"):
                index_of(data[:size])


def test_damage_names_file_game_move_and_offset() -> None:
    game = one_hot_game("7g7f 3c3d 2g2f")
    data = join_games([game, game]).write()
    size = len(data) // 2
    bad = bytearray(data)
    bad[size + 36 + 10 : size + 36 + 12] = Move.from_usi("3c3e").raw.to_bytes(2, "little")
    with pytest.raises(ValueError, match=rf"^0\.hcpe3, game 1, move 1 \(offset {size}\): move .*illegal move '3c3e'"):
        index_of(bytes(bad))
    raws = [move.raw for move in Position().legal_moves[:2]]
    idle = Game(game.start, 0, 0, game.hcps[:1], game.moves[:1], game.evals[:1], np.array([0, 2], np.uint64),
                np.array(raws, np.uint16), np.zeros(2, np.uint16))  # fmt: skip
    with pytest.raises(ValueError, match=r"game 1, move 0 \(offset \d+\): none of the 2 candidates has visits"):
        index_of(join_games([game, idle]).write())


def test_a_file_that_changes_while_it_is_in_use_never_crashes() -> None:
    """The bytes are not looked at twice, but whatever they become, an answer or an error comes out."""
    rng = random.Random(4)
    data = useful(random_games(6, seed=8, most_moves=40)).write()
    errors = 0
    for _ in range(300):
        changing = np.frombuffer(data, np.uint8).copy()
        index = _native.GameIndex()
        index.add_file(changing, "changing.hcpe3")
        while index.read_on(1 << 20):
            pass
        for _ in range(rng.choice([1, 5, 100])):
            changing[rng.randrange(len(changing))] = rng.randrange(256)
        for number in range(len(index)):
            try:
                index.find(number)
                decode(index, np.array([number]))
                follow(index, np.array([number]))
            except ValueError as error:
                errors += "changing.hcpe3: the file was changed while it was in use" in str(error)
    assert errors > 100


def test_numbers_and_arguments_are_checked() -> None:
    index = index_of(join_games([one_hot_game("7g7f 3c3d")]).write())
    assert len(decode(index, np.arange(0))) == 0
    for number in (-1, 2, 2**62):
        with pytest.raises(IndexError, match=f"number {number} of 2 positions"):
            decode(index, np.array([number]))
        with pytest.raises(IndexError, match=f"number {number} of 2 positions"):
            index.find(number)
    with pytest.raises(ValueError, match="temperature"):
        decode(index, np.arange(2), temperature=-1.0)
    with pytest.raises(ValueError, match="eval_scales must have an entry for each file"):
        decode(index, np.arange(2), files=2)
    with pytest.raises(IndexError, match="number 2 of 2 positions"):
        follow(index, np.array([0, 2]))
    with pytest.raises(ValueError, match="a horizon must be 1 or more"):
        follow(index, np.arange(2), horizons=(6.0, 0.5))
    with pytest.raises(ValueError, match="eval_scales must have an entry for each file"):
        follow(index, np.arange(2), files=2)
    assert not _native.GameIndex().read_on(10)
    assert len(index_of(b"")) == 0


def test_the_games_of_another_program(shared_data: Path) -> None:
    data = (shared_data / "training-fixtures" / "psv_to_hcpe3_yaneuraou_sample.hcpe3").read_bytes()
    assert_equal(decode(index_of(data), np.arange(30)), list(plain_samples(data)))
