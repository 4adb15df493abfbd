"""AobaZero's records in every form that they have had. The samples are made up, in the forms that these sources tell:

- kobanium/aobazero, issue 47 (2020-11-25): v1.7 puts the value in front of the visits (``v=``); before there was none.
- kobanium/aobazero, issue 52 (2021-03-15): the third line, and what follows %TORYO where a game was resigned.
- kobanium/aobazero, src/autousi/play.cpp (public domain): the lines in front, the order of the fields, no visits for
  the move at which a game is resigned; the total is at least the sum of the visits.
- yssaya/furibisha, src/autousi/play.cpp and src/usi-engine/bona/ysszero.cpp: ``r=``, the network's own value; a letter
  behind each number of visits, the network's own probability in 52 steps; opening moves without a note.
- TadaoYamaoka/DeepLearningShogi, pull request 82 (2024-02-23): AobaZero's games have the newest form since about
  December 2023.
- kobanium/aobazero, learn/yss_dcnn.cpp (public domain): archives are .csa.xz with 10 000 games, a / between two; a game
  that comes to 513 plies is drawn. learn/yss_ki2.cpp: %+ILLEGAL_ACTION is perpetual check by Black, and nothing else.
- kobanium/aobazero, src/common/shogibase.hpp (public domain): the ends; yssaya/komaochi: handicap games.
"""

import lzma
from itertools import pairwise
from pathlib import Path

import pytest

from fukayomi.data.convert.convert import NothingConvertedError, convert_data
from fukayomi.data.formats.games import Targets, evaluation_of, read_visits
from fukayomi.data.formats.hcpe import ResultFlag
from fukayomi.data.formats.hcpe3 import Game, read_hcpe3
from fukayomi.data.formats.kinds import Target
from fukayomi.data.records.reading import Drop
from fukayomi.shogi import Position
from fukayomi.shogi.record import Result

OLDEST = """'w 537 (crc64:0123456789abcdef), autousi 1.2, usi-engine 9
'-p 800 -n -m 30 -w weight_save/w000000000537.txt
PI
+
+2726FU,'800,7776FU,400,2726FU,300,9796FU,99
-8384FU,'799,8384FU,500,3334FU,299
+7776FU,'1,7776FU,1
%TORYO
"""
WITH_VALUES = """'w 2770 (crc64: 123456789abcdef), autousi 1.7, usi-engine 15
'-q -r 0.0 -p 800 -n -m 30 -w weight_save/w000000002770.txt
PI
+
+2726FU,'v=0.517,800,7776FU,400,2726FU,300,9796FU,99
-8384FU,'v=0.480,799,8384FU,500,3334FU,299
%TORYO,'autousi,resign-th=0.230000,v=0.113,800,7776FU,799
"""
WITH_PROBABILITIES = """'w 4900 (crc64:0123456789abcdef), autousi 2.2, usi-engine 32, no-resign
'-q -r 0.0 -p 3200, average_winrate 0.547, sfen 17/9000, moves 2
PI
+
+2726FU
-8384FU
+7776FU,'v=0.517,r=0.500,3200,7776FU,2000m,2625FU,900Z,9796FU,99A
-8485FU,'v=1.000,r=0.999,800,8485FU,800z
%TORYO
"""
HANDICAP = """'w 66 (crc64:0123456789abcdef), autousi 2.0, usi-engine 16
'-q -r 0.0, handicapR 30:100:150:300:700:900:1200
PI82HI22KA
-
-5142OU,'v=0.300,800,5142OU,700,3132GI,99
+7776FU,'v=0.720,800,7776FU,799
%KACHI
"""


def convert(tmp_path: Path, text: str, targets: Targets | None = None) -> list[Game]:
    (tmp_path / "a.csa").write_text(text)
    convert_data([tmp_path / "a.csa"], tmp_path / "a.hcpe3", to=Target.HCPE3, targets=targets or Targets())
    return [game for games in read_hcpe3(tmp_path / "a.hcpe3") for game in games]


def visits_of(game: Game) -> list[list[int]]:
    ends = game.candidates.tolist()
    return [game.candidate_visits[first:last].tolist() for first, last in pairwise(ends)]


def test_the_oldest_games_have_visits_but_no_value(tmp_path: Path) -> None:
    """The result stands for the evaluation, so that it alone is learnt from: 0 would say that all is even."""
    (game,) = convert(tmp_path, OLDEST)
    assert visits_of(game) == [[400, 300, 99], [500, 299], [1]]
    assert game.result is Result.BLACK_WIN
    assert game.evals.tolist() == [30_000, -30_000, 30_000]
    (drawn,) = convert(tmp_path, OLDEST.replace("%TORYO", "%SENNICHITE"))
    assert drawn.evals.tolist() == [0, 0, 0]
    (game,) = convert(tmp_path, OLDEST, Targets(random_plies=30))  # the first move had not the most visits
    assert visits_of(game) == [[], [500, 299], [1]]


def test_later_games_have_values(tmp_path: Path) -> None:
    (game,) = convert(tmp_path, WITH_VALUES)
    assert visits_of(game) == [[400, 300, 99], [500, 299]]  # the note after %TORYO is of no move
    assert game.evals.tolist() == [evaluation_of(0.517), evaluation_of(0.480)]
    assert game.result is Result.WHITE_WIN


def test_a_note_behind_the_end_is_of_no_move(tmp_path: Path) -> None:
    (game,) = convert(tmp_path, "PI\n+\n+2726FU\n%TORYO,'v=0.113,800,8384FU,799\n'800,8384FU,799\n")
    assert visits_of(game) == [[]]


def test_the_newest_games_begin_in_a_set_opening_and_tell_what_the_network_thought(tmp_path: Path) -> None:
    (game,) = convert(tmp_path, WITH_PROBABILITIES)
    assert visits_of(game) == [[], [], [2000, 900, 99], [800]]
    assert game.evals.tolist() == [0, 0, evaluation_of(0.517), 30_000]


def test_handicap_games_begin_with_white(tmp_path: Path) -> None:
    (game,) = convert(tmp_path, HANDICAP)
    assert (game.result, game.flags) == (Result.WHITE_WIN, ResultFlag.DECLARATION)
    assert visits_of(game) == [[700, 99], [799]]
    assert game.evals.tolist() == [evaluation_of(0.300), evaluation_of(0.720)]


def test_an_archive_holds_many_games(tmp_path: Path) -> None:
    path = tmp_path / "arch000000000000.csa.xz"
    path.write_bytes(lzma.compress("/\n".join([OLDEST, WITH_VALUES, WITH_PROBABILITIES, HANDICAP]).encode()))
    found = convert_data([path], tmp_path / "a.hcpe3", to=Target.HCPE3)
    assert (found.games, found.written, found.problems) == (4, 4, [])


PERPETUAL = """P+99OU29HI
P-11OU
P-00AL
+
"""
CHECKS = ["+2919HI", "-1121OU", "+1929HI", "-2111OU"]


def test_perpetual_check_is_called_an_illegal_action(tmp_path: Path) -> None:
    moves = "\n".join(f"{move},'v=0.5,1,{move[1:]},1" for move in CHECKS * 3)
    (game,) = convert(tmp_path, f"{PERPETUAL}{moves}\n%+ILLEGAL_ACTION\n")
    assert (game.result, game.flags) == (Result.WHITE_WIN, ResultFlag.REPETITION)
    for ending in ("%-ILLEGAL_ACTION", "%CHUDAN"):  # the other side, or broken off
        with pytest.raises(NothingConvertedError) as caught:
            convert(tmp_path, f"{PERPETUAL}{moves}\n{ending}\n")
        assert caught.value.conversion.dropped == {Drop.ENDING: 1}


def test_a_game_is_broken_off_at_513_plies(tmp_path: Path) -> None:
    cycle = ["+2838HI", "-8272HI", "+3828HI", "-7282HI"]
    lines = [f"{cycle[ply % 4]},'v=0.5,1,{cycle[ply % 4][1:]},1" for ply in range(513)]
    (game,) = convert(tmp_path, "\n".join(["PI", "+", *lines, "%CHUDAN", ""]))
    assert (len(game), game.result, game.flags) == (513, Result.DRAW, ResultFlag.MAX_PLIES)
    for others in (lines[:512], [line.partition(",")[0] for line in lines]):
        with pytest.raises(NothingConvertedError):
            convert(tmp_path, "\n".join(["PI", "+", *others, "%CHUDAN", ""]), Targets(one_hot=True))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("800,7776FU,799", None),
        ("v=0.545,800,7776FU,799", 0.545),
        ("v=0.545,r=0.5,800,7776FU,799", 0.545),
        ("v=0.545,r=0.5,800,7776FU,799m", 0.545),
    ],
)
def test_the_forms_of_a_note(text: str, value: float | None) -> None:
    found, ((move, visits),) = read_visits(text, Position())
    assert (found, move.usi(), visits) == (value, "7g7f", 799)


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        ("800,7776FU,1,2726FU", "pairs"),
        ("800,7775FU,1", "not legal"),
        ("800,7776KI,1", "no such piece"),
        ("800,7776FU,1,2726FU,-1", "is not a number of visits"),
        ("v=2,1,7776FU,1", "between 0 and 1"),
        ("v=nan,1,7776FU,1", "between 0 and 1"),
        ("v=0.5,1,7776FU", "pairs"),
        ("v=0.5,r=0.5", "pairs"),
        ("v=0.5,1,7775FU,1", "not legal"),
        ("v=0.5,1,7776FU,x", "is not a number of visits"),
        ("v=0.5,1,7776KI,1", "no such piece"),
        ("v=x", "could not convert"),
    ],
)
def test_damaged_notes_are_named(tmp_path: Path, note: str, reason: str) -> None:
    with pytest.raises(NothingConvertedError) as caught:
        convert(tmp_path, f"PI\n+\n+7776FU,'{note}\n%TORYO\n")
    assert "ply 1: visits" in caught.value.conversion.problems[0]
    assert reason in caught.value.conversion.problems[0]


def test_what_merely_looks_like_a_note_is_a_comment(tmp_path: Path) -> None:
    for comment in ("800,7776FU,x", "800 playouts", "8,8", "800,7776FU"):
        (game,) = convert(tmp_path, f"PI\n+\n+7776FU,'{comment}\n%TORYO\n")
        assert visits_of(game) == [[]]


def test_one_hot_does_not_look_at_visits(tmp_path: Path) -> None:
    (game,) = convert(tmp_path, WITH_VALUES, Targets(one_hot=True))
    assert visits_of(game) == [[1], [1]]
    assert game.candidate_moves.tolist() == game.moves.tolist()
    assert game.evals.tolist() == [-30_000, 30_000]  # the record has no score, so the result stands for it


def test_many_visits_are_scaled_down() -> None:
    _, candidates = read_visits("v=0.5,300000,7776FU,200000,2726FU,100000", Position())
    assert [visits for _, visits in candidates] == [65535, 32767]
