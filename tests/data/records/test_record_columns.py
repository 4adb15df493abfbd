"""Records become the same games and positions, alone or in batches, from columns or from the objects of their moves."""

import numpy as np
import pytest
from places import RECORDS

from fukayomi.data.conditions import Filters
from fukayomi.data.convert.positions import positions_of
from fukayomi.data.formats.games import Targets, game_from_record, make_games, read_played
from fukayomi.data.formats.hcpe3 import Games, join_games
from fukayomi.data.records.copies import NO_SCORE, RecordColumns
from fukayomi.data.records.reading import Dropped
from fukayomi.shogi.formats import read_records, write_kif
from fukayomi.shogi.formats.csa.reader import CsaMoves
from fukayomi.shogi.record import Record

SAMPLES = sorted((RECORDS).glob("*.csa"))
TEXTS = {
    **{path.stem: path.read_text() for path in SAMPLES},
    "handicap": "PI82HI22KA\n-\n-5142OU\n'** 700\n+7776FU\n'** -999999999\n-3132GI\n%TORYO\n",
    "visits": "PI\n+\n+7776FU,'v=0.6,800,7776FU,500,2726FU,300\n-3334FU\n'** 40\n+2726FU,'800,2726FU,9\n-8384FU\n"
    "%TORYO\n",
    "no-moves": "PI\n+\n%HIKIWAKE\n",
    "unscored": "PI\n+\n+7776FU\n-3334FU\n%CHUDAN\n'summary:adjudication:a win:b lose\n",
}
TARGETS = {
    "scores": Targets(),
    "one-hot": Targets(one_hot=True),
    "random": Targets(random_plies=30),
}


def read(name: str) -> Record:
    (record,) = read_records(TEXTS[name].encode(), name=name)
    return record


def looked_at(name: str) -> Record:
    record = read(name)
    assert isinstance(record.moves, CsaMoves)
    assert len(list(record.moves)) == len(record)
    assert record.moves.game is None
    return record


def same(first: Games, second: Games) -> bool:
    columns = (
        "starts",
        "results",
        "plies",
        "hcps",
        "moves",
        "evals",
        "candidates",
        "candidate_moves",
        "candidate_visits",
    )
    return all(
        getattr(first, column).dtype == getattr(second, column).dtype
        and np.array_equal(getattr(first, column), getattr(second, column))
        for column in columns
    )


@pytest.mark.parametrize("name", TEXTS)
def test_columns_are_the_same_before_and_after_a_look(name: str) -> None:
    unseen, seen = RecordColumns.of(read(name)), RecordColumns.of(looked_at(name))
    assert (unseen.game is not None, seen.game is None) == (True, True)
    assert unseen.black_starts == seen.black_starts == (name != "handicap")
    sfen = read(name).initial_sfen
    for column in ("moves", "scores"):
        assert getattr(unseen, column).dtype == getattr(seen, column).dtype
        assert np.array_equal(getattr(unseen, column), getattr(seen, column))
    assert np.array_equal(unseen.hcps(sfen), seen.hcps(sfen))


@pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS.keys())
def test_games_are_the_same_in_whatever_batches(targets: Targets) -> None:
    records = [how(name) for name in TEXTS for how in (read, looked_at)]
    played = [read_played(record, targets) for record in records]
    games = make_games([game for game in played if not isinstance(game, Dropped)], targets)
    alone = [game_from_record(record, targets) for record in records]
    assert same(games, join_games([game for game in alone if not isinstance(game, Dropped)]))
    assert len(games) == len(records)
    assert all(same(join_games([games[2 * i]]), join_games([games[2 * i + 1]])) for i in range(len(TEXTS)))
    assert same(make_games([], targets), join_games([]))


def test_evaluations_and_candidates_are_those_of_the_side_to_move() -> None:
    handicap = game_from_record(read("handicap"))
    assert not isinstance(handicap, Dropped)
    assert handicap.evals.tolist() == [-700, -32767, 0]  # White begins
    assert np.diff(handicap.candidates).tolist() == [1, 1, 0]
    visits = game_from_record(read("visits"))
    assert not isinstance(visits, Dropped)
    assert visits.evals.tolist() == [307, -40, -30000, 0]  # the third has visits without a value, and its side lost
    assert np.diff(visits.candidates).tolist() == [2, 1, 1, 0]
    assert visits.candidate_visits.tolist() == [500, 300, 1, 9]


@pytest.mark.parametrize("name", ["resign", "handicap"])
def test_other_formats_have_the_same_columns(name: str) -> None:
    (kif,) = read_records(write_kif(read(name)).encode())
    ours, theirs = RecordColumns.of(read(name)), RecordColumns.of(kif)
    assert theirs.game is None
    assert ours.moves.tolist() == theirs.moves.tolist()
    assert ours.scores.tolist() == theirs.scores.tolist()
    assert (ours.scores == NO_SCORE).any()


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(
    "filters", [Filters(), Filters(max_eval=100), Filters(mates=False)], ids=["all", "eval", "mates"]
)
def test_positions_are_the_same_before_and_after_a_look(name: str, filters: Filters) -> None:
    unseen, seen = positions_of(read(name), filters), positions_of(looked_at(name), filters)
    if isinstance(unseen, Dropped) or isinstance(seen, Dropped):
        assert unseen == seen
        return
    assert unseen.records.tobytes() == seen.records.tobytes()
    assert unseen.plies.tolist() == seen.plies.tolist()
