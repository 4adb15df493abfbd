"""Leaves of searches as training data: what they are, and that a run goes on with the same ones."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import leaf_run
import numpy as np
import pytest
from command_runs import run, run_json
from leaf_run import PART, SHORT, collect
from listeners import Calling
from odd_evaluators import Failing
from patience import until

from fukayomi._native import MAX_MOVES, centipawns, encode_hcp, position_from_hcp
from fukayomi.data import Games, check_data
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe3 import join_games, read_hcpe3
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import hash_evaluator, uniform_evaluator
from fukayomi.engine.network import Network
from fukayomi.files.disk import DiskError
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.learning.labelling.settings import Plies
from fukayomi.selfplay import LeafError, LeafSettings, collect_leaves
from fukayomi.shogi import Move, Position

ENDGAMES = [
    "4k4/9/4P4/9/9/9/9/9/4K4 b 2G2S2N2L9P2r2b2g2s2n2l8p 1",
    "4k4/9/4P4/9/9/9/9/9/4K4 b 2G2S2N2L8P2r2b2g2s2n2l9p 1",
]


def content(out: Path) -> bytes:
    """The parts, one after the other."""
    return b"".join(path.read_bytes() for path in sorted(out.glob("*.hcpe3")))


def games_of(out: Path) -> Games:
    return join_games([game for path in sorted(out.glob("*.hcpe3")) for games in read_hcpe3(path) for game in games])


def keys_of(games: Games) -> list[bytes]:
    return [row.tobytes() for row in games.starts]


def assert_labels(games: Games, network: Network, *, within: float, useful: bool = False) -> None:
    """The labels are what a network says of all legal moves, or of the useful ones; `within`: error of shares."""
    positions = [position_from_hcp(key) for key in keys_of(games)]
    evaluation = network.evaluate(positions)
    assert games.evals.tolist() == pytest.approx([centipawns(float(each)) for each in evaluation.winrates], abs=1)
    starts = games.candidates.astype(int)
    for index, (position, policy) in enumerate(zip(positions, evaluation.policies, strict=True)):
        moves = set(position.useful_moves if useful else position.legal_moves)
        total = sum(policy[move] for move in moves)
        shares = {move: policy[move] / total for move in moves}
        own = slice(starts[index], starts[index + 1])
        kept = [Move.from_raw(raw) for raw in games.candidate_moves[own].tolist()]
        visits = games.candidate_visits[own].astype(float)
        assert [shares[move] for move in kept] == pytest.approx(visits / 65535, rel=within, abs=1e-5)
        assert {move for move, share in shares.items() if share > (1 + within) / 512} <= set(kept)
        assert all(shares[move] > (1 - within) / 512 for move in kept)
        assert shares[Move.from_raw(int(games.moves[index]))] == pytest.approx(max(shares.values()), rel=within)


def test_each_position_comes_once_with_what_the_network_says(tmp_path: Path) -> None:
    found = collect(tmp_path, 600)
    games = games_of(tmp_path)
    assert found.finished
    assert found.positions == found.new == len(games) == len(set(keys_of(games)))
    assert 600 <= found.positions < 600 + SHORT.most_leaves
    assert found.evaluated >= found.positions
    assert games.lengths().tolist() == [1] * len(games)
    assert set(games.results.tolist()) == {0}
    assert list(found.parts) == sorted(tmp_path.glob("*.hcpe3"))
    assert check_data(tmp_path).errors == 0
    with Network("<hash>") as network:
        assert_labels(games, network, within=0.02, useful=True)


def test_the_seed_decides_and_neither_batches_nor_threads(tmp_path: Path) -> None:
    collect(tmp_path / "a", 900)
    collect(tmp_path / "b", 900, batch_size=7)
    collect(tmp_path / "other", 900, seed=6)
    with Network([hash_evaluator(8), hash_evaluator(8)]) as network:
        collect_leaves(tmp_path / "threads", network, 900, settings=SHORT, seed=5)
    assert content(tmp_path / "a") == content(tmp_path / "b") == content(tmp_path / "threads")
    assert content(tmp_path / "a") != content(tmp_path / "other")


def test_more_positions_go_on_after_the_end(tmp_path: Path) -> None:
    first = collect(tmp_path / "a", 500)
    before = content(tmp_path / "a")
    second = collect(tmp_path / "a", 1300)
    assert second.new == second.positions - first.positions
    assert content(tmp_path / "a").startswith(before)
    third = collect(tmp_path / "a", 1000)  # there are more already
    assert (third.new, third.positions, third.finished, third.evaluated) == (0, second.positions, True, 0)
    collect(tmp_path / "b", 1300)
    assert content(tmp_path / "a") == content(tmp_path / "b")


SEARCHED = LeafSettings(nodes=60, plies=6, searched=8)


def test_searched_positions_have_the_visits_of_their_search(tmp_path: Path) -> None:
    found = collect(tmp_path, 300, SEARCHED)
    games = games_of(tmp_path)
    assert found.finished
    assert 300 <= found.positions == len(games) == len(set(keys_of(games))) < 300 + SEARCHED.most_leaves
    assert found.evaluated > 3 * found.positions
    assert check_data(tmp_path).errors == 0
    starts = games.candidates.astype(int)
    counts: list[int] = []
    for index, position in enumerate(map(position_from_hcp, keys_of(games))):
        own = slice(starts[index], starts[index + 1])
        moves = [Move.from_raw(raw) for raw in games.candidate_moves[own].tolist()]
        visits = games.candidate_visits[own].astype(int)
        assert set(moves) <= set(position.useful_moves)
        assert visits[moves.index(Move.from_raw(int(games.moves[index])))] == visits.max()
        assert visits.sum() == pytest.approx(65535, abs=len(moves))
        shares = visits / 65535
        whole = [n for n in range(1, SEARCHED.nodes + 1) if np.allclose(shares * n, np.round(shares * n), atol=0.01)]
        counts.append(whole[0])  # it fails where the shares are not those of visits
    assert np.median(counts) >= SEARCHED.searched - 1  # the visits but for the first, where none is proven to lose


def test_searched_positions_come_again_from_the_seed_and_after_more_are_asked_for(tmp_path: Path) -> None:
    collect(tmp_path / "a", 200, SEARCHED)
    first = content(tmp_path / "a")
    collect(tmp_path / "a", 500, SEARCHED)
    collect(tmp_path / "b", 500, SEARCHED, batch_size=7)
    with Network([hash_evaluator(8), hash_evaluator(8)]) as network:
        collect_leaves(tmp_path / "threads", network, 500, settings=SEARCHED, seed=5)
    assert content(tmp_path / "a") == content(tmp_path / "b") == content(tmp_path / "threads")
    assert content(tmp_path / "a").startswith(first)
    for other in (SHORT, LeafSettings(nodes=60, plies=6), LeafSettings(nodes=60, plies=6, searched=9)):
        with pytest.raises(LeafError, match=r"has leaves of another run .*searched"):
            collect(tmp_path / "a", 500, other)


def test_what_has_few_visits_or_another_teacher_is_not_searched(tmp_path: Path) -> None:
    for visits in (1, 201):
        with pytest.raises(LeafError, match=f"searched must be from 2 to the nodes of a search, 16, not {visits}"):
            LeafSettings(searched=visits)
    out = tmp_path / "out"
    with Network("<hash>") as network, pytest.raises(LeafError, match="give either searched or a teacher"):
        collect_leaves(out, network, 100, settings=SEARCHED, teacher=network)
    options = ("leaves", "-o", out, "--positions", 100, "--network", "<hash>", "--nodes", 60, "--searched", 8)
    code, _, said = run(*options, "--teacher", "<uniform>")
    assert (code, "give either searched or a teacher" in said) == (1, True)
    assert not out.exists()
    assert run_json(*options)["positions"] == len(games_of(out)) >= 100


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_the_same_call_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    def stop(stage: str, done: int, _: int | None) -> None:
        if stage == "leaves" and done >= 600:
            os.kill(os.getpid(), number)

    found = collect(tmp_path / "a", 2000, listener=Calling(stop))
    assert (found.finished, found.stopped_by) == (False, number)
    assert 600 <= found.positions == len(games_of(tmp_path / "a"))
    assert collect(tmp_path / "a", 2000).finished
    collect(tmp_path / "b", 2000)
    assert content(tmp_path / "a") == content(tmp_path / "b")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_a_killed_run_goes_on_with_the_same_leaves(tmp_path: Path) -> None:
    positions, out = 10_000, tmp_path / "killed"
    for parts in (2, 5):
        with subprocess.Popen([sys.executable, leaf_run.__file__, str(out), str(positions)]) as process:
            until(lambda parts=parts: process.poll() is not None or len(list(out.glob("*.hcpe3"))) >= parts)
            process.kill()
        assert process.returncode == -signal.SIGKILL
    before = len(games_of(out))
    assert PART <= before < positions
    found = collect(out, positions)
    assert (found.finished, found.new) == (True, found.positions - before)
    collect(tmp_path / "whole", positions)
    assert content(out) == content(tmp_path / "whole")
    assert len(set(keys_of(games_of(out)))) == found.positions
    assert sorted(path.name for path in out.iterdir() if path.suffix != ".hcpe3") == [".leaves.json", "leaves.lock"]


def test_a_teacher_labels_the_same_positions(tmp_path: Path) -> None:
    collect(tmp_path / "own", 700)
    with Network("<hash>") as network, Network(hash_evaluator(6, seed=3)) as teacher:
        found = collect_leaves(tmp_path / "taught", network, 700, settings=SHORT, seed=5, teacher=teacher)
        assert_labels(games_of(tmp_path / "taught"), teacher, within=0.005)
    assert keys_of(games_of(tmp_path / "taught")) == keys_of(games_of(tmp_path / "own"))
    assert found.finished
    assert check_data(tmp_path / "taught").errors == 0


def test_an_ensemble_as_teacher(tmp_path: Path) -> None:
    with (
        Network("<uniform>") as network,
        Network([hash_evaluator(8, seed=1), uniform_evaluator(8)], weights=[1, 1]) as teacher,
    ):
        collect_leaves(tmp_path, network, 200, settings=SHORT, teacher=teacher)
        assert_labels(games_of(tmp_path), teacher, within=0.005)


@pytest.mark.parametrize(
    ("begin", "roots"),
    [
        (Plies.ALL, ["startpos", "startpos moves 7g7f"]),
        (Plies.LAST, ["startpos moves 7g7f 3c3d", "startpos moves 2g2f"]),
        (None, [f"sfen {sfen}" for sfen in ENDGAMES]),
    ],
)
def test_games_begin_at_positions_of_files(tmp_path: Path, begin: Plies | None, roots: list[str]) -> None:
    starts = tmp_path / "starts.sfen"
    lines = ["startpos moves 7g7f 3c3d", "startpos moves 2g2f", "startpos moves 7g7f 3c3d"]
    starts.write_text("".join(f"{line}\n" for line in (lines if begin else [*roots, roots[0]])), "utf-8")
    settings, out = LeafSettings(nodes=1, plies=1), tmp_path / "out"
    # It asks for more positions than there are: each root, and one after it where no mate was found.
    with Network("<hash>") as network, pytest.raises(LeafError, match="no position that is not among the"):
        collect_leaves(out, network, 10_000, [starts], settings, begin=begin or Plies.ALL)
    expected: dict[bytes, set[bytes]] = {}
    for text in roots:
        position = Position.from_usi(text)
        children = expected[encode_hcp(position)] = set[bytes]()
        for move in position.legal_moves:
            position.push(move)
            children.add(encode_hcp(position))
            position.pop()
    found = set(keys_of(games_of(out)))
    assert expected.keys() <= found
    assert found - expected.keys() <= set[bytes]().union(*expected.values())


def test_folders_of_other_runs_are_refused(tmp_path: Path) -> None:
    collect(tmp_path, 900)
    with pytest.raises(LeafError, match=r"has leaves of another run \(different: seed\)"):
        collect(tmp_path, 900, seed=1)
    with Network("<uniform>") as network, pytest.raises(LeafError, match=r"different: network, nodes, plies"):
        collect_leaves(tmp_path, network, 900, seed=5)
    with FolderLock(tmp_path, "leaves.lock"), pytest.raises(LockedError):
        collect(tmp_path, 900)
    for text, problem in (("[]", "different: everything"), ("{", "is damaged")):
        (tmp_path / ".leaves.json").write_text(text, "utf-8")
        with pytest.raises(LeafError, match=problem):
            collect(tmp_path, 900)
    (tmp_path / ".leaves.json").unlink()
    with pytest.raises(LeafError, match=r"has leaves, but not \.leaves\.json"):
        collect(tmp_path, 900)


def test_missing_and_damaged_parts_are_refused(tmp_path: Path) -> None:
    first, *_, last = collect(tmp_path, 1500).parts
    whole = last.read_bytes()
    for data, problem in (
        (whole[:-1], "is damaged: at offset"),
        (whole + whole[:80], "is damaged|come twice"),
        (b"", "is damaged: it is empty"),
    ):
        last.write_bytes(data)
        with pytest.raises(DataFileError, match=problem):
            collect(tmp_path, 1500)
    last.write_bytes(first.read_bytes())
    with pytest.raises(DataFileError, match=f"{last.name} has positions that come twice"):
        collect(tmp_path, 1500)
    last.write_bytes(whole)
    first.rename(first.with_suffix(".kept"))
    with pytest.raises(LeafError, match="the part with game 0 is missing before leaves-"):
        collect(tmp_path, 1500)
    first.with_suffix(".kept").rename(first)
    last.unlink()  # the last one is made again
    collect(tmp_path, 1500)
    assert last.read_bytes() == whole


def test_what_cannot_be_a_run_says_why(tmp_path: Path) -> None:
    for settings in ({"nodes": 0}, {"plies": 513}, {"temperature": -1.0}, {"temperature": math.nan}, {"searched": -1}):
        with pytest.raises(LeafError, match=f"{next(iter(settings))}: Input should be"):
            LeafSettings(**settings)
    with pytest.raises(LeafError, match="positions is 0"):
        collect(tmp_path / "out", 0)
    with pytest.raises(LeafError, match="seed is -1"):
        collect(tmp_path / "out", 10, seed=-1)
    with pytest.raises(DiskError, match=r"are needed, and .* are free .*ask for fewer positions"):
        collect(tmp_path / "out", 10**14)
    assert collect(tmp_path / "out", 10, seed=1).finished  # what was refused claims nothing
    mated = tmp_path / "mated.sfen"
    mated.write_text("sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w 2r2b3g4s4n4l17p 1\n", "utf-8")
    with (
        Network("<hash>") as network,
        pytest.raises(LeafError, match=r"mated\.sfen: there is no position where a game"),
    ):
        collect_leaves(tmp_path / "out", network, 10, [mated])
    with Network("<hash>") as network, pytest.raises(ValueError, match=r"none\.sfen"):
        collect_leaves(tmp_path / "out", network, 10, [tmp_path / "none.sfen"])


def test_a_network_that_fails_ends_it_and_keeps_the_parts(tmp_path: Path) -> None:
    with Network(Failing(60)) as network, pytest.raises(EvaluatorError, match="the device caught fire"):
        collect_leaves(tmp_path, network, 100_000, settings=SHORT, part_positions=PART)
    assert check_data(tmp_path).errors == 0


def test_the_command_counts_and_labels_can_follow(tmp_path: Path) -> None:
    out, labels = tmp_path / "leaves", tmp_path / "labels.hcpe3"
    options = ("--network", "<hash>", "--nodes", 20, "--plies", 4, "--seed", 2, "--teacher", "<uniform>")
    document = run_json("leaves", "-o", out, "--positions", 300, *options)
    games = games_of(out)
    assert document["positions"] == document["new"] == len(games) >= 300
    assert (document["finished"], document["files"]) == (True, [str(path) for path in sorted(out.glob("*.hcpe3"))])
    assert set(games.evals.tolist()) == {0}  # the teacher's
    code, printed, said = run("leaves", "-o", out, "--positions", 300, *options)
    assert (code, said) == (0, "")
    assert f"{len(games)} positions in 1 file; made before" in printed
    code, _, said = run("leaves", "-o", out, "--positions", 300, *options[:-2])
    assert (code, "different: teacher" in said) == (1, True)

    found = run_json("label", *sorted(out.glob("*.hcpe3")), "-o", labels, "--network", "<hash>", "--nodes", 12)
    assert found["labels"] + found["unlabelled"] == len(games)
    searched = join_games([game for part in read_hcpe3(labels) for game in part])
    assert keys_of(searched) == [key for key in keys_of(games) if key in set(keys_of(searched))]
    visits = np.add.reduceat(searched.candidate_visits.astype(int), searched.candidates[:-1].astype(int))
    assert np.median(visits) >= 11
    assert json.loads((out / ".leaves.json").read_text("utf-8"))["nodes"] == 20
    assert int(searched.candidate_counts().max()) <= MAX_MOVES
