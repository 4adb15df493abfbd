"""KIF that we write: nothing that was read is lost, in both encodings."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import HANDICAPS
from rsshogi.record import Record as LibraryRecord

from fukayomi.shogi import START_SFEN, Move, Position
from fukayomi.shogi.formats import Format, read_records, write_csa, write_kif
from fukayomi.shogi.formats.writer import encode_record
from fukayomi.shogi.record import Record, RecordedMove, RecordError, Result, Termination, Variation

KIF = """#KIF version=2.0 encoding=UTF-8
開始日時：2026/01/03 21:37:56
終了日時：2026/01/03 23:00:00
棋戦：試験対局
戦型：角換わり
場所：東京
持ち時間：各３時間
表題：名人戦
備考：夕休前\\n再開
備考：封じ手
TC：60
手合割：平手
先手：羽生
後手：谷川
手数----指手---------消費時間--
*開始前
*
*続き
   1 ７六歩(77)   ( 0:01/00:00:01)
*
*一手目
*
   2 ３四歩(33)   ( 1:02/00:01:02)
**評価値=80
   3 ２二角成(88) (61:03/01:01:04)+
   4 同　銀(31)   ( 0:04/00:01:06)
   5 ４五角打
   6 中断
まで5手で中断

変化：3手
*別の手
   3 ２六歩(27)   ( 0:01/00:00:02)+
*好手

変化：3手
   3 ６六歩(67)
**評価値=-20
"""


def read(text: str) -> Record:
    (record,) = read_records(text.encode(), name="game.kif")
    return record


def test_what_was_read_is_written() -> None:
    text = write_kif(read(KIF))
    assert sorted(text.split("\n")) == sorted(KIF.split("\n"))
    assert write_kif(read(text)) == text


def test_other_programs_read_it() -> None:
    library = LibraryRecord.from_kif_str(write_kif(read(KIF)))
    assert [entry.move.to_usi() for entry in library.moves] == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]
    assert library.moves[2].time_ms == 3_663_000


def test_scores_mates_and_lines_of_other_formats() -> None:
    record = read("PI\n+\n+7776FU\n'** 40 -3334FU\n-3334FU\n'** -100000\n%TORYO\n")
    record.moves[1].mate = -7
    again = read(write_kif(record))
    assert [played.score_cp for played in again.moves] == [40, -100_000]
    assert [played.mate for played in again.moves] == [None, -7]
    assert again.moves[0].pv == "-3334FU"
    assert write_kif(again) == write_kif(record)


def test_expected_lines_have_the_marks_of_records() -> None:
    record = Record(moves=[RecordedMove(Move.from_usi("7g7f"), score_cp=1, pv="☖３四歩☗２六歩")])
    assert "**読み筋=△３四歩▲２六歩\n" in write_kif(record)


def test_time_limits_of_csa() -> None:
    record = Record(time_limit="00:15+60")
    assert "持ち時間：15分+60秒\n" in write_kif(record)
    assert read(write_csa(read(write_kif(record)))).time_limit == "00:15+60"


@pytest.mark.parametrize("turn", "bw")
@pytest.mark.parametrize(
    ("termination", "wins", "line", "closing"),
    [
        (Termination.RESIGN, False, "投了", "{other}の勝ち"),
        (Termination.MATE, False, "詰み", "詰"),
        (Termination.TIME_UP, False, "切れ負け", "時間切れにより{other}の勝ち"),
        (Termination.DECLARATION, True, "入玉勝ち", "{mover}の入玉勝ち"),
        (Termination.ILLEGAL_MOVE, False, "反則負け", "{mover}の反則負け"),
        (Termination.ILLEGAL_MOVE, True, "反則勝ち", "{mover}の反則勝ち"),
        (Termination.CRASH, False, "反則負け", "{mover}の反則負け"),
        (Termination.REPETITION, None, "千日手", "千日手"),
        (Termination.IMPASSE, None, "持将棋", "持将棋"),
        (Termination.MAX_PLIES, None, "最大手数", "最大手数"),
        (Termination.INTERRUPTED, None, "中断", "中断"),
        (Termination.ADJUDICATION, True, "中断", "{mover}の勝ち"),
        (Termination.OTHER, True, "中断", "{mover}の勝ち"),
        (Termination.OTHER, False, "中断", "{other}の勝ち"),
    ],
)
def test_ends(turn: str, termination: Termination, *, wins: bool | None, line: str, closing: str) -> None:
    record = Record(initial_sfen=START_SFEN.replace(" b ", f" {turn} "), termination=termination)
    names = {"b": ("先手", "後手"), "w": ("後手", "先手")}[turn]
    if wins is None:
        record.result = Result.UNKNOWN if termination is Termination.INTERRUPTED else Result.DRAW
    else:
        record.result = Result.BLACK_WIN if wins == (turn == "b") else Result.WHITE_WIN
    text = write_kif(record)
    plain = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("*終局："))
    assert plain.endswith(f"   1 {line}\nまで0手で{closing.format(mover=names[0], other=names[1])}\n")
    assert read(text).result is record.result


@pytest.mark.parametrize("termination", [Termination.RESIGN, Termination.MATE, Termination.TIME_UP])
def test_the_side_stands_before_the_word_of_the_one_that_is_not_to_move(termination: Termination) -> None:
    text = write_kif(Record(termination=termination, result=Result.BLACK_WIN))  # though Black is to move
    assert "   1 後手" in text
    assert (read(text).termination, read(text).result) == (termination, Result.BLACK_WIN)


@pytest.mark.parametrize(
    ("text", "line", "read_back"),
    [
        ("2g2e", "２五歩(27)", "2g2e"),
        ("+2725FU", "２五歩(27)", "2g2e"),
        ("8h3d", "同　角(88)", "8h3d"),
        ("+8834UM", "同　角成(88)", "8h3d+"),
        ("P*5e", "５五歩打", "P*5e"),
        ("+0055FU", "５五歩打", "P*5e"),
        ("5e5d", "", ""),
        ("win", "", ""),
        ("2g2f", "", ""),  # a legal move, after all
        ("\n   3 ２六歩(27)\n", "", ""),
    ],
)
def test_an_illegal_move_that_ended_the_game(text: str, line: str, read_back: str) -> None:
    record = read(KIF)
    record = Record(moves=list(record.moves)[:2], termination=Termination.ILLEGAL_MOVE, result=Result.WHITE_WIN)
    record.illegal_move = text
    written = write_kif(record)
    assert f"   3 {line}\n   4 反則勝ち\nまで3手で後手の反則勝ち\n" in written if line else "\n*反則手：" in written
    again = read(written)
    assert (len(again), again.termination, again.result) == (2, Termination.ILLEGAL_MOVE, Result.WHITE_WIN)
    assert again.illegal_move == read_back


def test_lines_within_texts_cannot_forge_the_record() -> None:
    forged = "a\n   1 ７六歩(77)\r\n変化：1手\x0b\x85\u2028まで1手で中断\0"
    record = Record(
        black_name=forged, event=forged, headers={"備考": forged, "1 ７六歩": "x", "手合割": "角落ち", "*": "y"}
    )
    record.comment = forged
    record.moves.append(RecordedMove(Move.from_usi("2g2f"), comment=forged, pv=forged))
    again = read(write_kif(record))
    assert again.usi_moves() == ["2g2f"]
    assert (again.initial_sfen, again.variations, list(again.headers)) == (START_SFEN, [], ["備考"])
    assert again.black_name.startswith("a 1") or again.black_name.startswith("a    1")


def test_shift_jis_names_the_character_that_it_lacks() -> None:
    record = read(KIF)
    record.white_name = "谷川〜−"  # other code points than those of CP932, but the same letters
    text = encode_record(record, Format.KIF, "shift_jis").decode("cp932")
    assert "後手：谷川～－\n" in text
    assert text.startswith("#KIF version=2.0 encoding=Shift_JIS\n")
    record.moves[1].comment = "♔"
    with pytest.raises(RecordError, match=r"line 24: shift_jis has no character '♔' \(WHITE CHESS KING\), in '\*♔'"):
        encode_record(record, Format.KIF, "shift_jis")
    assert "*♔\n".encode() in encode_record(record, Format.KIF)
    with pytest.raises(ValueError, match="encoding 'latin-1' is not one of utf-8, shift_jis"):
        write_kif(record, encoding="latin-1")


def test_variations_must_have_a_place() -> None:
    record = Record(variations=[Variation(3, [RecordedMove(Move.from_usi("7g7f"))])])
    with pytest.raises(RecordError, match="a variation at ply 3 of a game of 0 plies"):
        write_kif(record)


def random_line(rng: random.Random, position: Position, plies: int) -> list[RecordedMove]:
    """Moves played at random from a position, which is left as it was."""
    played: list[RecordedMove] = []
    while len(played) < plies and position.legal_move_count:
        moves = position.legal_moves
        move = moves[rng.randrange(len(moves))]
        position.push(move)
        time_ms = rng.choice([None, 1000 * rng.randrange(10_000)])
        comment = rng.choice(["", "", "好手", "\n空行\n\n", "*評価値=12\n", "変化：3手", "   4 投了"])
        played.append(RecordedMove(move, time_ms=time_ms, comment=comment, score_cp=12 if "12" in comment else None))
    for _ in played:
        position.pop()
    return played


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["utf-8", "shift_jis"]))
def test_random_games_come_back(seed: int, encoding: str) -> None:
    rng = random.Random(seed)
    sfen = rng.choice(list(HANDICAPS.values()))
    position = Position.from_sfen(sfen)
    record = Record("game.kif", sfen, random_line(rng, position, rng.randrange(200)), black_name="羽生", white_name="b")
    record.comment = rng.choice(["", "開始前\n\n*", "\n"])
    record.headers = {"表題": "竜王戦", "TC": "60", "備考": ""}
    record.termination = Termination.INTERRUPTED
    plies = sorted((rng.randrange(1, len(record) + 2) for _ in range(rng.randrange(4))), reverse=True)
    for ply in plies:
        start = Position.from_sfen(sfen)
        for played in list(record.moves)[: ply - 1]:
            start.push(played.move)
        if line := random_line(rng, start, rng.randrange(1, 30)):
            record.variations.append(Variation(ply, line, rng.choice(["", "別の手"])))
    data = encode_record(record, Format.KIF, encoding)
    (again,) = read_records(data, name="game.kif")
    assert again == replace(record, moves=again.moves)
    assert list(again.moves) == list(record.moves)
