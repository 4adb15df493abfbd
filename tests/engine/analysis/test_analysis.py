"""The arithmetic of an analysis, computed by hand, and unusual games."""

import pytest
from analysis_answers import Script, answer, first_move

from fukayomi._native import MATE_CP
from fukayomi.engine.analysis.analyser import analyse_positions, analyse_record, assemble
from fukayomi.engine.analysis.game_analysis import Mistake, SearchLimits
from fukayomi.shogi import BLACK, START_SFEN, WHITE, DeclarationRule, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

MATED_IN_ONE = "4k4/9/4G4/9/9/9/9/9/4K4 b G 1"  # G*5b


def record_of(moves: str, sfen: str = START_SFEN, **facts: object) -> Record:
    played = [RecordedMove(Move.from_usi(usi)) for usi in moves.split()]
    return Record(initial_sfen=sfen, moves=played, **facts)  # type: ignore[arg-type]


def test_loss_is_the_win_rate_before_less_the_win_rate_after_for_the_player() -> None:
    search = Script(
        answer((0.60, "2g2f 8c8d")),  # Black to move stands at 60 %
        answer((0.55, "8c8d")),  # White stands at 55 %, so Black at 45 %: 15 % lost
        answer((0.80, "2g2f")),  # Black at 80 %, White at 20 %: 35 % lost
    )
    black, white = analyse_record(record_of("1g1f 9c9d"), search).moves
    assert (black.ply, black.color, black.usi, black.japanese) == (1, BLACK, "1g1f", "☗１六歩")
    assert black.loss == pytest.approx(0.15)
    assert black.mistake is Mistake.DUBIOUS
    assert black.best.japanese == ("☗２六歩", "☖８四歩")
    assert (white.color, white.japanese) == (WHITE, "☖９四歩")
    assert white.loss == pytest.approx(0.35)
    assert white.mistake is Mistake.MISTAKE
    # 756 ln(0.6 / 0.4) = 306.5; 756 ln(0.45 / 0.55) = -151.7; 756 ln(0.8 / 0.2) = 1048.0
    assert [p.score.cp for p in (black.before, black.after, white.after)] == [307, -152, 1048]
    assert (black.loss_cp, white.loss_cp) == (459, 1200)


def test_loss_is_the_best_move_less_the_move_played_in_the_same_search() -> None:
    search = Script(
        answer((0.60, "2g2f 8c8d"), (0.52, "1g1f 8c8d")),
        answer((0.70, "8c8d"), (0.68, "9c9d")),  # White sees itself at 70 %, which says nothing of Black's move
        answer((0.80, "2g2f")),
    )
    black, white = analyse_record(record_of("1g1f 9c9d"), search).moves
    assert black.loss == pytest.approx(0.08)
    assert black.mistake is Mistake.INACCURACY
    assert black.loss_cp == 307 - 61  # 756 ln(0.52 / 0.48) = 60.5
    assert white.loss == pytest.approx(0.02)
    assert black.before.played is not None
    assert black.before.played.japanese == ("☗１六歩", "☖８四歩")


def test_a_proof_after_the_move_outweighs_the_search_before_it() -> None:
    search = Script(answer((0.60, "2g2f"), (0.59, "1g1f")), answer((1.0, "8c8d", 3)))
    (move,) = analyse_record(record_of("1g1f"), search).moves
    assert move.loss == pytest.approx(0.6)
    assert move.is_certain
    assert move.has_allowed_mate


def test_the_preferred_move_loses_nothing_and_no_loss_is_negative() -> None:
    search = Script(answer((0.60, "2g2f")), answer((0.90, "9c9d")), answer((0.30, "7g7f")), answer((0.5, "8d8e")))
    moves = analyse_record(record_of("2g2f 8c8d 1g1f"), search).moves
    assert moves[0].is_best
    assert moves[0].loss == 0  # although White's search finds White better than Black's did
    assert moves[0].loss_cp == 0
    assert not moves[1].is_best
    assert moves[1].loss == pytest.approx(0.2)
    assert moves[2].loss == 0  # 30 % before, 50 % after
    assert moves[2].loss_cp == 0


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (0.0, None), (0.049, None), (0.05, Mistake.INACCURACY), (0.0999, Mistake.INACCURACY), (0.1, Mistake.DUBIOUS),
        (0.2, Mistake.MISTAKE), (0.499, Mistake.MISTAKE), (0.5, Mistake.BLUNDER), (1.0, Mistake.BLUNDER),
    ],
)  # fmt: skip
def test_classes_of_mistakes(loss: float, kind: Mistake | None) -> None:
    assert Mistake.from_loss(loss) is kind


def test_sides_are_summed_up() -> None:
    rates = [(0.6, "2g2f"), (0.55, "9c9d"), (0.4, "7g7f"), (0.65, "3c3d"), (0.9, "1f1e")]
    analysis = analyse_record(record_of("1g1f 9c9d 7g7f 8c8d"), Script(*(answer(rate) for rate in rates)))
    black, white = analysis.side(BLACK), analysis.side(WHITE)
    # Black: 60 -> 45 % by 1g1f, then the preferred 7g7f; White: the preferred 9c9d, then 65 -> 10 %.
    assert (black.moves, white.moves) == (2, 2)
    assert black.average_loss == pytest.approx(0.15 / 2)
    assert white.average_loss == pytest.approx(0.55 / 2)
    assert (black.agreement, white.agreement) == (0.5, 0.5)
    assert black.mistakes == {
        Mistake.INACCURACY: 0, Mistake.DUBIOUS: 1, Mistake.MISTAKE: 0, Mistake.BLUNDER: 0
    }  # fmt: skip
    assert white.mistakes[Mistake.BLUNDER] == 1
    assert [move.ply for move in analysis.mistakes()] == [4, 1]
    assert analysis.turning_point() is analysis.moves[3]


def test_no_turning_point_where_nobody_is_ahead_or_none_was_behind_by_a_mistake() -> None:
    even = analyse_record(record_of("2g2f 8c8d"), first_move)
    assert even.turning_point() is None
    drift = [(0.5, "2g2f"), (0.54, "9c9d"), (0.44, "7g7f"), (0.96, "3c3d")]  # four, two, then 40 % lost below one half
    analysis = analyse_record(record_of("1g1f 8c8d 9g9f"), Script(*(answer(rate) for rate in drift)))
    assert analysis.turning_point() is None


def test_mates_seen_from_black() -> None:
    search = Script(answer((1.0, "2g2f", 5)), answer((1.0, "9c9d", 3)), answer((0.2, "7g7f")))
    black, white = analyse_record(record_of("1g1f 8c8d"), search).moves
    assert black.before.score.mate == 5
    assert (black.after.score.mate, black.after.score.cp, black.after.score.winrate) == (-3, -MATE_CP, 0.0)
    assert black.has_missed_mate
    assert black.has_allowed_mate
    assert black.loss == 1
    assert black.loss_cp == 6000  # from +3000 to -3000, where scores are cut
    assert white.has_missed_mate
    assert not white.has_allowed_mate
    assert white.loss == pytest.approx(0.2)


def test_being_mated_keeps_its_sign() -> None:
    (move,) = analyse_record(record_of("2g2f"), Script(answer((0.0, "2g2f", -4)), answer((1.0, "8c8d", 3)))).moves
    assert (move.before.score.mate, move.before.score.cp, move.before.score.winrate) == (-4, -MATE_CP, 0.0)
    assert move.loss == 0
    assert not move.has_allowed_mate


def test_a_game_that_ends_in_mate_needs_no_search_there() -> None:
    search = Script(answer((1.0, "G*5b", 1)))
    (move,) = analyse_record(record_of("G*5b", MATED_IN_ONE, termination=Termination.RESIGN), search).moves
    assert len(search.asked) == 1
    assert (move.after.score.mate, move.after.score.winrate, move.after.lines) == (0, 1.0, ())
    assert move.loss == 0


def test_repetition_is_a_draw() -> None:
    cycle = "2h3h 8b7b 3h2h 7b8b "
    record = record_of(cycle * 3, termination=Termination.REPETITION, result=Result.DRAW)
    analysis = analyse_record(record, first_move)
    assert analysis.positions[-1].score.winrate == 0.5
    assert analysis.positions[-1].score.cp == 0
    assert analysis.positions[-1].lines == ()
    assert analysis.positions[-2].lines != ()
    assert "千日手" in analysis.result


def test_perpetual_check_loses_for_the_side_that_checks() -> None:
    sfen = "8k/9/9/9/9/9/9/R8/4K4 b - 1"
    record = record_of("9h1h 1a2a 1h2h 2a1a " + "2h1h 1a2a 1h2h 2a1a " * 3, sfen)
    final = analyse_record(record, first_move).positions[-1]
    assert final.lines == ()
    assert final.score.winrate == 0.0  # Black gave check every time


def test_declaration_wins_for_the_side_to_move() -> None:
    record = record_of("2g2f 8c8d 7g7f", termination=Termination.DECLARATION, result=Result.WHITE_WIN)
    final = analyse_record(record, first_move).positions[-1]
    assert (final.score.winrate, final.lines) == (0.0, ())


def test_a_declaration_that_was_open_is_the_best_move() -> None:
    sfen = "K+R+R+B+B4/PPPPPPPPP/9/9/9/9/9/9/8k b 2G2S9P 1"
    assert Position.from_sfen(sfen).can_declare_win(DeclarationRule.POINTS_27)
    move = analyse_record(record_of("G*5e", sfen), Script(answer((0.1, "1i1h")))).moves[0]
    assert move.best.usi == ("win",)
    assert move.best.japanese == ("☗宣言勝ち",)
    assert move.loss == pytest.approx(0.1)


def test_an_illegal_move_ends_the_game_and_the_legal_moves_are_judged() -> None:
    record = record_of(
        "2g2f 8c8d",
        termination=Termination.ILLEGAL_MOVE,
        result=Result.WHITE_WIN,
        illegal_move="+0055FU\x1b[31m",
    )
    analysis = analyse_record(record, first_move)
    assert len(analysis.moves) == 2
    assert analysis.result == "2手で後手の勝ち（反則：+0055FU [31m） White wins, illegal move"


def test_a_handicap_start_begins_with_white() -> None:
    sfen = "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    analysis = analyse_record(record_of("4a3b 2g2f", sfen), first_move)
    assert [move.color for move in analysis.moves] == [WHITE, BLACK]
    assert analysis.moves[0].japanese == "☖３二金"


@pytest.mark.parametrize("moves", ["", "2g2f"])
def test_records_of_no_move_or_one(moves: str) -> None:
    analysis = analyse_record(record_of(moves), first_move)
    assert len(analysis.moves) == len(moves.split())
    assert len(analysis.positions) == len(moves.split()) + 1
    assert analysis.side(WHITE).moves == 0
    assert analysis.side(WHITE).average_loss == 0
    assert analysis.is_complete


def test_a_range_searches_only_what_it_needs() -> None:
    record = record_of("7g7f 3c3d 2g2f 8c8d 2f2e")
    search = Script(answer((0.5, "6g6f")), answer((0.5, "4c4d")), answer((0.5, "2f2e")))
    analysis = assemble(record, analyse_positions(record, search, 3, 4))
    assert [move.ply for move in analysis.moves] == [3, 4]
    assert [move.usi for move in analysis.moves] == ["2g2f", "8c8d"]
    assert [sfen.split()[-1] for sfen in search.asked] == ["3", "4", "5"]
    assert not analysis.is_complete


def test_lines_say_same_for_the_square_of_the_move_before() -> None:
    lines = ("7g7f", "3c3d", "8h2b+ 3a2b", "3a2b 7i8h")
    search = Script(*(answer((0.5, line)) for line in lines))
    analysis = analyse_record(record_of("7g7f 3c3d 8h2b+"), search)
    assert analysis.positions[2].lines[0].japanese == ("☗２二角成", "☖同銀")
    assert analysis.positions[3].lines[0].japanese == ("☖同銀", "☗８八銀")


def test_all_candidates_are_kept() -> None:
    search = Script(answer((0.6, "7g7f 3c3d"), (0.55, "2g2f 8c8d")), answer((0.4, "3c3d")))
    lines = analyse_record(record_of("2g2f"), search, limits=SearchLimits(nodes=1, multipv=2)).positions[0].lines
    assert [line.usi for line in lines] == [("7g7f", "3c3d"), ("2g2f", "8c8d")]
    assert lines[1].score.winrate == pytest.approx(0.55)


def test_the_records_own_scores_are_kept() -> None:
    record = record_of("2g2f 8c8d")
    record.moves[0].score_cp = 73
    record.moves[1].mate = -5
    assert [move.recorded_cp for move in analyse_record(record, first_move).moves] == [73, -MATE_CP]


def test_names_cannot_steer_a_terminal() -> None:
    record = record_of("2g2f", black_name="a\x1b]0;b\x07\u202ec", white_name="  名人\n")
    analysis = analyse_record(record, first_move)
    assert analysis.black == "a ]0;b  c"
    assert analysis.white == "名人"
