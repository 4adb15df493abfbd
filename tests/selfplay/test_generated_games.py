"""What is in generated games: openings, forks, opponents, weights."""

import math
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from selfplay_runner import HASH, SHORT, HashNetwork, Heard, contents

from fukayomi._native import OUTSIDE, SelfplayPlayer, SelfplayPool, WaitingGame, decode_hcpe3, position_from_hcp
from fukayomi.data import check_data, load_rows, merge
from fukayomi.data.formats.hcpe3 import read_hcpe3
from fukayomi.engine import Network
from fukayomi.loop.ingest import validate_chunk
from fukayomi.selfplay import (
    GameSummary,
    Openings,
    OpeningSet,
    find_chunks,
    generate,
    read_chunk,
)
from fukayomi.selfplay.chunk import read_chunk_info, sidecar_of
from fukayomi.shogi import Position


def test_openings_are_where_games_begin(tmp_path: Path) -> None:
    positions = tuple(Position.from_usi(f"startpos moves {moves}") for moves in ("7g7f", "2g2f 8c8d"))
    openings = Openings([OpeningSet("two", None, positions)])
    generate(SHORT, HASH, tmp_path, games=8, openings=openings)
    data = b"".join(read_chunk(path).data for path in find_chunks(tmp_path))
    games = decode_hcpe3(np.frombuffer(data, np.uint8), True)
    firsts = {int(games.moves[begin]) for begin in games.plies[:-1]}
    assert firsts == {positions[0].moves[0].raw, positions[1].moves[0].raw}
    assert read_chunk_info(sidecar_of(find_chunks(tmp_path)[0])).settings["openings"] == openings.settings


def test_forked_games_begin_like_earlier_ones(tmp_path: Path) -> None:
    settings = SHORT.model_copy(update={"fork": 0.5})
    heard = Heard()
    generate(settings, HASH, tmp_path, games=24, seed=2, listener=heard)
    forked = {game.number for game in heard.games if game.opening_plies}
    assert 4 <= len(forked) <= 14
    assert min(forked) >= 8
    data = {}
    for path in find_chunks(tmp_path):
        chunk = read_chunk(path)
        games = decode_hcpe3(np.frombuffer(chunk.data, np.uint8), True)
        for game, (begin, end) in enumerate(pairwise(games.plies.tolist())):
            data[chunk.info.first_game + game] = games.moves[begin:end].tolist()
        validate_chunk(path)
    for summary in heard.games:
        if summary.opening_plies:
            first = data[summary.number][: summary.opening_plies]
            chunk = 4 * (summary.number // 4 - 2)
            assert any(data[source][: len(first)] == first for source in range(chunk, chunk + 4))
    generate(settings, HASH, tmp_path / "again", games=24, seed=2, parallel=2)
    assert contents(tmp_path) == contents(tmp_path / "again")


def test_a_fork_that_leaves_no_move_is_not_taken(tmp_path: Path) -> None:
    settings = SHORT.model_copy(update={"fork": 1.0, "max_move": 60, "chunk_games": 2})
    generate(settings, HASH, tmp_path, games=4, seed=2)
    heard = Heard()
    generate(settings.model_copy(update={"max_move": 8}), HASH, tmp_path, games=16, seed=2, listener=heard)
    plies = [game.opening_plies for game in heard.games]
    assert len(plies) == 12
    assert max(plies) < 8
    assert 0 in plies


class Outside:
    """A frozen network, or a program that plays its first legal move, is Black in one of two games."""

    def __init__(self) -> None:
        self.networks = [Network(HashNetwork())]
        self.asked = 0
        self.games: list[GameSummary] = []

    @property
    def settings(self) -> dict[str, object]:
        return {"share": 0.5}

    @property
    def has_own_files(self) -> bool:
        return False

    def notes(self) -> list[str]:
        return []

    def players(self, number: int) -> tuple[SelfplayPlayer, SelfplayPlayer]:
        if number % 2 == 0:
            return SelfplayPlayer(), SelfplayPlayer()
        return SelfplayPlayer(OUTSIDE if number % 4 == 1 else 1, teaches=False), SelfplayPlayer()

    def name(self, number: int) -> str:
        return "" if number % 2 == 0 else "program" if number % 4 == 1 else "frozen"

    def think(self, pool: SelfplayPool, game: WaitingGame) -> None:
        self.asked += 1
        threading.Thread(target=lambda: pool.answer(game.index, game.position.legal_moves[0])).start()

    def over(self, game: GameSummary) -> None:
        self.games.append(game)


def test_others_may_play_one_side(tmp_path: Path) -> None:
    opponents = Outside()
    result = generate(SHORT, HASH, tmp_path, games=8, opponents=opponents)
    assert result.finished
    assert opponents.asked >= 8
    assert {game.opponent for game in opponents.games} == {"", "black"}
    assert {name: counts[0] for name, counts in result.progress.opponents.items()} == {"program": 2, "frozen": 2}
    for path in find_chunks(tmp_path):
        validate_chunk(path)


def test_a_folder_of_chunks_is_a_folder_of_data(tmp_path: Path) -> None:
    settings = SHORT.model_copy(update={"surprise": 0.5})
    result = generate(settings, HASH, tmp_path / "games", games=8)
    checked = check_data(tmp_path / "games")
    assert (checked.records, checked.errors, checked.remarks) == (8, 0, 0)
    merge([tmp_path / "games"], tmp_path / "all.hcpe3")
    assert (tmp_path / "all.hcpe3").read_bytes() == b"".join(
        path.read_bytes() for path in find_chunks(tmp_path / "games")
    )
    assert len(load_rows(tmp_path / "all.hcpe3")) == result.progress.positions


@pytest.mark.parametrize("changes", [{}, {"root_rule": "gumbel"}, {"cheap": 0.5, "cheap_playouts": 3}])
def test_surprise_is_the_divergence_from_the_network_s_policy(tmp_path: Path, changes: dict[str, object]) -> None:
    settings = SHORT.model_copy(update={"playouts": 30, "surprise": 0.5, **changes})
    with Network(device="native", precision="fp32", threads=1, batch_size=4) as network:
        generate(settings, network, tmp_path, games=2, reproducible=True)
        (path,) = find_chunks(tmp_path)
        weights = read_chunk(path).weights
        assert weights is not None
        for game in next(iter(read_hcpe3(path))):
            mine, weights = np.split(weights, [np.count_nonzero(np.diff(game.candidates))])
            surprise = [
                divergence(game.candidate_moves[begin:end], game.candidate_visits[begin:end], network, hcp)
                for (begin, end), hcp in zip(pairwise(game.candidates.tolist()), game.hcps, strict=True)
                if begin < end
            ]
            np.testing.assert_allclose(mine, 0.5 + 0.5 * np.array(surprise) / np.mean(surprise), rtol=0.05, atol=0.05)


def divergence(moves: np.ndarray, visits: np.ndarray, network: Network, hcp: np.ndarray) -> float:
    policy = network.evaluate(position_from_hcp(hcp.tobytes())).policies[0]
    chances = {move.raw: chance for move, chance in policy.items()}
    shares = dict(zip(moves.tolist(), visits / visits.sum(), strict=True))
    return sum(share * math.log(share / max(chances[move], 1e-5)) for move, share in shares.items())


def test_weights_are_stored_beside_the_chunk(tmp_path: Path) -> None:
    settings = SHORT.model_copy(update={"surprise": 0.5})
    generate(settings, HASH, tmp_path, games=6, parallel=1)
    for path in find_chunks(tmp_path):
        chunk = read_chunk(path)
        assert chunk.weights is not None
        assert len(chunk.weights) == chunk.info.positions
