"""Labels and layers of games that repeat positions agree with the table of repetitions (docs/usi-options.md)."""

from pathlib import Path

import pytest
from labelling_runs import read
from repetition_games import CYCLE

from fukayomi import _native
from fukayomi.data import Games
from fukayomi.engine import Network
from fukayomi.engine.control import Control, Limits
from fukayomi.engine.evaluators.protocol import hash_evaluator
from fukayomi.engine.search import Searcher, SearchResult
from fukayomi.engine.settings import UsiSettings
from fukayomi.learning import LabelSettings, ReanalysisSettings, label_positions, reanalyze
from fukayomi.learning.layers import layer_path
from fukayomi.shogi import Move

NODES = 400


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game whose last move would bring the start position for the fourth time, labelled."""
    folder = tmp_path_factory.mktemp("repetition")
    (folder / "game.usi").write_text(f"startpos moves{3 * CYCLE}\n", encoding="utf-8")
    with Network(hash_evaluator(8), cache_mb=0) as network:
        settings = LabelSettings(nodes=NODES, plies="all")
        label_positions(folder / "game.usi", folder / "game.hcpe3", network, settings, workers=1)
    return folder / "game.hcpe3"


def check_as_without_past(games: Games, nodes: int) -> None:
    """Check the labels of a game against searches with the engine's defaults.

    Before the last move no position has a past that counts; the last move draws, with that past.
    """
    starts = games.candidates.tolist()
    assert len(games.moves) == 12
    with Searcher(
        [hash_evaluator(8)], UsiSettings().search_params(), memory_mb=16, reuse=False, batch_visits=0
    ) as searcher:

        def alone(ply: int) -> SearchResult:
            position = _native.position_from_hcp(games.hcps[ply].tobytes())
            return searcher.search(position, Control(Limits(nodes=nodes)))

        for ply in range(12):
            first, end = starts[ply], starts[ply + 1]
            found = dict(
                zip(games.candidate_moves[first:end].tolist(), games.candidate_visits[first:end].tolist(), strict=True)
            )
            expected = alone(ply)
            visits = {line.move.raw: line.visits for line in expected.lines if line.visits}
            assert abs(int(games.evals[ply])) < 2000, "no proof"
            if ply == 11:
                assert found != visits, "7b8b is a draw here"
                assert Move.from_usi("7b8b").raw in found
            else:
                best = expected.lines[0]
                assert games.evals[ply] == best.cp
                assert found[best.move.raw] == best.visits


def test_labels(labelled: Path) -> None:
    check_as_without_past(read(labelled), NODES)


def test_layers_of_reanalysis(labelled: Path) -> None:
    with Network(hash_evaluator(8), cache_mb=0) as network:
        reanalyze(labelled, network, ReanalysisSettings(nodes=NODES, share=1.0), layer="new", workers=1)
    check_as_without_past(read(layer_path(labelled, "new")), NODES)
