"""What the verbs write: counts, order, chance, what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_app import app
from game_samples import random_games
from typer.testing import CliRunner
from verb_runs import as_bytes, make_games, make_inputs

from fukayomi._native import EVAL_SCALE
from fukayomi.data.conditions import FilterConditions
from fukayomi.data.convert.blocks import Inputs, VerbError, game_hashes, open_inputs, read_blocks, seeded_keys
from fukayomi.data.dedup import average
from fukayomi.data.formats.format import DataFileError, map_rows
from fukayomi.data.formats.hcpe import HCPE, read_hcpe, without_flags
from fukayomi.data.formats.hcpe3 import Game, join_games, read_hcpe3
from fukayomi.data.formats.kinds import DataFormat, Unit
from fukayomi.data.formats.psv import PSV
from fukayomi.data.formats.table import as_rows
from fukayomi.data.verbs import filter, fix_eval, merge, sample, shuffle, split
from fukayomi.shogi.formats import read_records, write_csa
from fukayomi.shogi.record import Record, Result


def games_of(path: Path) -> list[Game]:
    return [game for games in read_hcpe3(path) for game in games]


def rows_file(path: Path, count: int) -> Path:
    """Rows that know their number: it is the evaluation."""
    records = np.zeros(count, HCPE)
    records["eval"] = np.arange(count) - 30_000
    records["bestMove16"] = 1
    records["hcp"][:, :4] = np.arange(count, dtype="<u4").view(np.uint8).reshape(-1, 4)
    path.write_bytes(records.tobytes())
    return path


def rows_in(path: Path) -> Inputs:
    """As inputs: their positions are none, which detection would see."""
    return open_inputs([path], DataFormat.HCPE)


def numbers(path: Path) -> list[int]:
    return (read_hcpe(path)["eval"].astype(int) + 30_000).tolist()


def test_a_split_keeps_all_and_games_whole(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "hcpe3", 300, 6)
    a, b = tmp_path / "a.hcpe3", tmp_path / "b.hcpe3"
    summary = split(open_inputs(inputs), [a, b], shares=(3, 1))
    assert summary.read == sum(summary.written.values()) == 500
    assert 0.65 < len(games_of(a)) / 500 < 0.85
    left, right = (set(game_hashes(join_games(games_of(path)))) for path in (a, b))
    assert not left & right  # duplicates too stay on one side
    # A game goes the same way whatever is read with it.
    split(open_inputs(inputs[1:]), [tmp_path / "c.hcpe3", tmp_path / "d.hcpe3"], shares=(3, 1))
    assert set(game_hashes(join_games(games_of(tmp_path / "c.hcpe3")))) <= left
    other = split(open_inputs(inputs), [tmp_path / "e.hcpe3", tmp_path / "f.hcpe3"], shares=(3, 1), seed=1)
    assert list(other.written.values()) != list(summary.written.values())


def test_rows_are_split_in_runs_or_by_position_or_by_number(tmp_path: Path) -> None:
    path = rows_file(tmp_path / "in.hcpe", 5000)
    a, b = tmp_path / "a.hcpe", tmp_path / "b.hcpe"
    split(rows_in(path), [a, b], shares=(1, 1), run=100)
    assert sorted(numbers(a) + numbers(b)) == list(range(5000))
    assert not {number // 100 for number in numbers(a)} & {number // 100 for number in numbers(b)}
    split(rows_in(path), [a, b], every=10, run=1)
    assert numbers(b) == list(range(9, 5000, 10))
    twice = tmp_path / "twice.hcpe"
    twice.write_bytes(path.read_bytes() * 2)
    split(rows_in(twice), [a, b], shares=(1, 1), by=Unit.POSITION)
    assert not set(numbers(a)) & set(numbers(b))
    assert len(numbers(a)) + len(numbers(b)) == 10_000


@pytest.mark.parametrize(
    ("outs", "options", "message"),
    [
        (2, {"shares": (1,)}, "1 share for 2 outputs"),
        (1, {"shares": (1,)}, "two or more outputs"),
        (3, {"every": 5}, "give two outputs"),
        (2, {"shares": (1, 1), "by": "position"}, "a split by position needs rows"),
    ],
    ids=["shares", "one", "every", "position"],
)
def test_splits_that_do_not_fit_are_refused(tmp_path: Path, outs: int, options: dict[str, Any], message: str) -> None:
    inputs = open_inputs(make_inputs(tmp_path, "hcpe3", 6))
    with pytest.raises(VerbError, match=message):
        split(inputs, [tmp_path / f"{number}.hcpe3" for number in range(outs)], **options)


def test_a_sample_is_exact_and_even(tmp_path: Path) -> None:
    path, out = rows_file(tmp_path / "in.hcpe", 100), tmp_path / "out.hcpe"
    inputs, hits, pairs = rows_in(path), np.zeros(100, int), 0
    for seed in range(150):
        summary = sample(inputs, out, 20, seed=seed)
        found = numbers(out)
        assert (summary.read, summary.kept, len(set(found))) == (100, 20, 20)
        assert found == sorted(found)
        hits[found] += 1
        pairs += {10, 11} <= set(found)
    chi2 = ((hits - 30) ** 2 / 24).sum()
    assert 60 < chi2 < 145  # 99 degrees of freedom: 3 of 1000 lie outside on either side
    assert pairs < 150 * 0.1  # neighbours are drawn together as seldom as any two: 4 %
    sample(inputs, out, 20, seed=7)
    keys = seeded_keys(np.arange(100, dtype=np.uint64), 7)
    assert set(numbers(out)) == set(np.argsort(keys)[:20].tolist())


@pytest.mark.parametrize("count", [1, 2, 500, 999, 1000, 5000])
def test_a_sample_of_any_size_has_exactly_this_size(tmp_path: Path, count: int) -> None:
    path, out = rows_file(tmp_path / "in.hcpe", 1000), tmp_path / "out.hcpe"
    assert sample(rows_in(path), out, count, seed=7).kept == min(count, 1000) == len(set(numbers(out)))


def test_positions_are_sampled_out_of_games(tmp_path: Path) -> None:
    path, out = make_inputs(tmp_path, "hcpe3")[0], tmp_path / "out.hcpe"
    found = CliRunner().invoke(app, ["data", "sample", str(path), "-o", str(out), "-n", "50", "--positions", "--json"])
    flagged = as_rows(join_games(games_of(path))).records
    rows = set(map(str, without_flags(flagged).tolist()))
    assert json.loads(found.stdout)["read"] == len(flagged)
    assert flagged["gameResult"].max() > 2
    assert len(read_hcpe(out)) == 50
    average(out, tmp_path / "out.avg")  # refuses hcpe with flags
    assert all(str(row) in rows for row in read_hcpe(out).tolist())
    with pytest.raises(VerbError, match="positions are drawn from hcpe3 games, not from hcpe"):
        sample(out, tmp_path / "again.hcpe", 3, positions=True)


def test_a_shuffle_does_not_depend_on_memory(tmp_path: Path) -> None:
    path = rows_file(tmp_path / "in.hcpe", 20_000)
    orders = []
    for memory in (1 << 30, 300_000, 20_000):
        out = tmp_path / f"{memory}.hcpe"
        shuffle(rows_in(path), out, seed=1, memory=memory)
        orders.append(numbers(out))
    assert orders[0] == orders[1] == orders[2]
    assert sorted(orders[0]) == list(range(20_000))
    assert abs(np.corrcoef(orders[0], np.arange(20_000))[0, 1]) < 0.03
    shuffle(rows_in(path), tmp_path / "other.hcpe", seed=2)
    assert numbers(tmp_path / "other.hcpe") != orders[0]


def test_all_orders_are_equally_likely(tmp_path: Path) -> None:
    path, out = rows_file(tmp_path / "in.hcpe", 50), tmp_path / "out.hcpe"
    shuffle(rows_in(path), out, seed=9)
    assert numbers(out) == np.argsort(seeded_keys(np.arange(50, dtype=np.uint64), 9)).tolist()
    three, orders = rows_in(rows_file(tmp_path / "three.hcpe", 3)), []
    for seed in range(120):
        shuffle(three, out, seed=seed)
        orders.append(tuple(numbers(out)))
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    assert sum((count - 20) ** 2 / 20 for count in counts) < 21  # 5 degrees of freedom: 1 of 1000 lies above


def test_games_and_records_are_shuffled_whole(tmp_path: Path) -> None:
    for suffix in ("hcpe3", "csa"):
        inputs, out = make_inputs(tmp_path, suffix), tmp_path / f"out.{suffix}"
        shuffle(inputs, out, seed=3, memory=60_000)
        before, after = hashes_in(inputs), hashes_in([out])
        assert before != after
        assert sorted(before) == sorted(after)


def hashes_in(paths: list[Path]) -> list[bytes]:
    found: list[bytes] = []
    for block in read_blocks(open_inputs(paths)):
        assert not isinstance(block.content, np.ndarray)
        found += game_hashes(block.content)
    return found


def test_merge_drops_games_that_were_there(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "hcpe3")
    out = tmp_path / "out.hcpe3"
    merge(open_inputs(inputs), out)
    assert out.read_bytes() == inputs[0].read_bytes() + inputs[1].read_bytes()
    summary = merge(open_inputs(inputs), out, unique_games=True)
    everything = game_hashes(join_games(games_of(inputs[0]) + games_of(inputs[1])))
    assert game_hashes(join_games(games_of(out))) == list(dict.fromkeys(everything))
    assert summary.found["duplicates"] == len(everything) - len(set(everything)) >= 10
    with pytest.raises(VerbError, match="have no games"):
        merge(rows_in(rows_file(tmp_path / "rows.hcpe", 5)), tmp_path / "x.hcpe", unique_games=True)


def test_inputs_must_be_of_one_format_and_outputs_named_so(tmp_path: Path) -> None:
    games, rows = make_inputs(tmp_path, "hcpe3")[0], make_inputs(tmp_path, "hcpe")[0]
    with pytest.raises(VerbError, match=r"in0.hcpe is hcpe, .*in0.hcpe3 is hcpe3"):
        open_inputs([games, rows])
    with pytest.raises(VerbError, match=r"name it \*.hcpe"):
        merge(open_inputs([rows]), tmp_path / "out.psv")
    with pytest.raises(VerbError, match="is also an input"):
        merge(open_inputs([rows]), rows)
    with pytest.raises(VerbError, match="its folder is missing"):
        merge(open_inputs([rows]), tmp_path / "none" / "out.hcpe")


@pytest.mark.parametrize("suffix", ["hcpe", "psv"])
def test_rows_that_cannot_be_are_named(tmp_path: Path, suffix: str) -> None:
    path = make_inputs(tmp_path, suffix)[0]
    records = np.array(read_hcpe(path) if suffix == "hcpe" else map_rows(path, PSV))
    records["gameResult" if suffix == "hcpe" else "game_result"][17] = 3
    path.write_bytes(records.tobytes())
    with pytest.raises(DataFileError, match=rf"in0.{suffix}, record 17 \(offset {17 * records.dtype.itemsize}\)"):
        merge(open_inputs([path]), tmp_path / f"out.{suffix}")
    assert not (tmp_path / f"out.{suffix}").exists()


@pytest.mark.parametrize("suffix", ["hcpe", "psv"])
def test_rows_are_filtered(tmp_path: Path, suffix: str) -> None:
    inputs, out = open_inputs(make_inputs(tmp_path, suffix)), tmp_path / f"out.{suffix}"
    games = join_games([game for path in make_inputs(tmp_path, "hcpe3") for game in games_of(path)])
    rows = as_rows(games)
    evals, results = np.abs(rows.records["eval"].astype(int)), rows.records["gameResult"] & 3
    wanted = (evals <= 300) & (evals >= 100) & (results == 1)
    conditions = FilterConditions(results=(Result.BLACK_WIN,), min_eval=100, max_eval=300)
    if suffix == "psv":
        wanted &= (rows.plies >= 3) & (rows.plies <= 9)
        conditions = FilterConditions(results=(Result.BLACK_WIN,), min_eval=100, max_eval=300, min_ply=3, max_ply=9)
    summary = filter(inputs, out, conditions)
    assert summary.written[str(out)] == wanted.sum() > 0
    found = read_hcpe(out)["eval"] if suffix == "hcpe" else map_rows(out, PSV)["score"]
    assert found.tolist() == rows.records["eval"][wanted].tolist()


def test_games_lose_candidates_or_are_dropped(tmp_path: Path) -> None:
    path, out = make_inputs(tmp_path, "hcpe3")[0], tmp_path / "out.hcpe3"
    filter(open_inputs([path]), out, FilterConditions(max_eval=200, min_ply=5, min_plies=8, opponents=(0, 2)))
    kept = games_of(out)
    originals = {game.start + game.moves.tobytes(): game for game in games_of(path)}
    assert 0 < len(kept) < len(originals)
    for game in kept:
        original = originals[game.start + game.moves.tobytes()]
        assert len(game) >= 8
        assert game.opponent in (0, 2)
        good = (np.abs(game.evals.astype(int)) <= 200) & (np.arange(len(game)) >= 4)
        counts = np.diff(original.candidates.astype(int)) * good
        assert np.diff(game.candidates.astype(int)).tolist() == counts.tolist()
        assert counts.any()


def test_records_are_filtered_by_rating(tmp_path: Path) -> None:
    path, out = tmp_path / "in.csa", tmp_path / "out.csa"
    games = [Record(black_name=f"b{n}", black_rating=3000 + n, white_rating=3500.0, result=Result.BLACK_WIN)
             for n in range(10)]  # fmt: skip
    games.append(Record(black_name="none", result=Result.BLACK_WIN))
    path.write_text("/\n".join(write_csa(game) for game in games))
    summary = filter(open_inputs([path]), out, FilterConditions(min_rating=3005))
    assert summary.written[str(out)] == 5
    assert [record.black_name for record in read_records(out.read_bytes(), name="out.csa")] == [
        f"b{n}" for n in range(5, 10)
    ]
    with pytest.raises(VerbError, match="nothing is left"):
        filter(open_inputs([path]), tmp_path / "no.csa", FilterConditions(min_rating=4000))
    assert sorted(item.name for item in tmp_path.iterdir()) == ["in.csa", "out.csa"]


def test_what_files_do_not_tell_cannot_be_asked(tmp_path: Path) -> None:
    inputs = open_inputs(make_inputs(tmp_path, "hcpe"))
    with pytest.raises(VerbError, match="do not hold what min_plies, min_ply needs"):
        filter(inputs, tmp_path / "out.hcpe", FilterConditions(min_ply=3, min_plies=3))
    with pytest.raises(VerbError, match="at least one condition"):
        filter(inputs, tmp_path / "out.hcpe", FilterConditions())


def test_selections_of_games_are_games() -> None:
    games = random_games(20, 9)
    rng = np.random.default_rng(1)
    kept = rng.random(20) < 0.5
    chosen = games.select(kept)
    assert chosen.write() == join_games([game for game, keep in zip(games, kept, strict=True) if keep]).write()
    moves = rng.random(len(games.moves)) < 0.5
    assert games.with_candidates(moves).candidate_counts().tolist() == (games.candidate_counts() * moves).tolist()
    assert games.with_candidates(np.ones(len(games.moves), bool)).write() == games.write()


@pytest.mark.parametrize("suffix", ["hcpe", "psv", "hcpe3"])
def test_evaluations_are_brought_to_one_scale(tmp_path: Path, suffix: str) -> None:
    inputs, out = open_inputs(make_inputs(tmp_path, suffix, 200)), tmp_path / f"out.{suffix}"
    summary = fix_eval(inputs, out)
    assert 50 < summary.found["scale"] < 700
    assert summary.found["error_after"] < summary.found["error_before"]
    again = fix_eval(open_inputs([out]), tmp_path / f"again.{suffix}")
    assert again.found["scale"] == pytest.approx(EVAL_SCALE, rel=0.01)
    fix_eval(inputs, out, scale=EVAL_SCALE)
    assert out.read_bytes() == b"".join(path.read_bytes() for path in inputs.paths)


def test_a_psv_position_that_cannot_be_is_named(tmp_path: Path) -> None:
    path = make_inputs(tmp_path, "psv", 200)[0]
    records = np.array(map_rows(path, PSV))
    records["sfen"][40] = 255
    path.write_bytes(records.tobytes())
    with pytest.raises(DataFileError, match=r"in0.psv, record 40 \(offset 1600\)"):
        fix_eval(open_inputs([path]), tmp_path / "out.psv")


@pytest.mark.parametrize(
    "arguments",
    [
        ["split", "-o", "a.hcpe", "-o", "b.hcpe", "--shares", "1,x"],
        ["split", "-o", "a.hcpe", "-o", "b.hcpe", "--shares", "1,nan"],
        ["split", "-o", "a.hcpe", "-o", "b.hcpe", "--by", "moon"],
        ["split", "-o", "a.hcpe", "-o", "b.hcpe", "--shares", "1,1", "--every", "3"],
        ["filter", "-o", "a.hcpe", "--results", "black,green"],
        ["merge", "-o", "a.hcpe", "--from", "moon"],
    ],
    ids=["number", "nan", "unit", "both", "results", "format"],
)
def test_wrong_options_are_named(tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_inputs(tmp_path, "hcpe", 6)[0]
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, ["data", arguments[0], str(path), *arguments[1:]])
    assert found.exit_code == 2
    assert sorted(item.name for item in tmp_path.iterdir()) == ["in0.hcpe", "in1.hcpe"]


def test_the_commands_say_what_they_did(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "hcpe3")
    run = CliRunner().invoke
    a, b = tmp_path / "a.hcpe3", tmp_path / "b.hcpe3"
    found = run(app, ["data", "split", *map(str, inputs), "-o", str(a), "-o", str(b), "--shares", "9,1"])
    assert found.exit_code == 0
    assert f"{a}: {len(games_of(a))} of 100 games" in found.stdout
    found = run(app, ["data", "fix-eval", str(a), "-o", str(tmp_path / "c.hcpe3"), "--scale", "500", "--json"])
    assert json.loads(found.stdout)["scale"] == 500
    found = run(app, ["data", "filter", str(a), "-o", str(tmp_path / "d.hcpe3"), "--min-plies", "100000"])
    assert found.exit_code == 1
    assert "nothing is left to write" in found.stderr
    found = run(app, ["data", "shuffle", str(tmp_path / "none.hcpe"), "-o", str(tmp_path / "e.hcpe")])
    assert found.exit_code == 1
    assert "none.hcpe" in found.stderr


def test_damaged_records_are_left_out_and_named(tmp_path: Path) -> None:
    path, out = tmp_path / "in.csa", tmp_path / "out.csa"
    text = as_bytes(make_games(3, 1), "csa").decode()
    path.write_text(text + "/\nPI\n+\n+9999FU\n%TORYO\n")
    found = CliRunner().invoke(app, ["data", "merge", str(path), "-o", str(out), "--json"])
    summary = json.loads(found.stdout)
    assert (summary["read"], summary["unreadable"]) == (3, 1)
    assert "in.csa#4" in summary["problems"][0]
