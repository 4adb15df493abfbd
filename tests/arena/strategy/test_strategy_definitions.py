"""Definitions: the built-in ones, and errors in custom files."""

from pathlib import Path

import pytest

from fukayomi.arena.strategy.definitions import DefinitionError, Placed, Played
from fukayomi.arena.strategy.kinds import StrategyKind
from fukayomi.arena.strategy.matcher import Matcher
from fukayomi.arena.strategy.reading import load_definitions
from fukayomi.shogi import START_SFEN, Move

PROMISED = """角換わり 相掛かり 横歩 矢倉 雁木 二枚銀雁木 一手損角換わり 右玉 早繰り銀 腰掛け銀 棒銀 中飛車 四間飛車
三間飛車 向かい飛車 相振り飛車 石田流 ゴキゲン中飛車 藤井システム 船囲い 片美濃囲い 美濃囲い 高美濃 銀冠 穴熊 居飛車穴熊
振り飛車穴熊 左美濃 矢倉囲い 金矢倉 カニ囲い 中住まい"""


def test_the_promised_strategies_are_there() -> None:
    names = {definition.name for definition in load_definitions()}
    assert set(PROMISED.split()) <= names


def test_names_differ_in_english_as_well() -> None:
    english = [definition.english for definition in load_definitions()]
    assert len(set(english)) == len(english)
    assert all(name.isascii() for name in english)


def test_every_kind_is_used() -> None:
    assert {definition.kind for definition in load_definitions()} == set(StrategyKind)


def test_a_piece_on_a_square_and_its_mirror() -> None:
    assert Placed.from_text("S7g").mirrored() == Placed.from_text("s3c")
    assert Placed.from_text("_5e").mirrored() == Placed.from_text("_5e")
    assert Played.from_text("B8h2b+").mirrored().raw == Move.from_usi("2b8h+").raw
    assert Played.from_text("B*4e").mirrored().raw == Move.from_usi("B*6e").raw


def write(folder: Path, text: str) -> Path:
    file = folder / "own.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_definition_of_ones_own(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        """
- name: 端歩突き
  english: Edge Pawn
  kind: attack
  when:
    - {pieces: [P9f], max_ply: 10}
    - {pieces: [P1f], max_ply: 10}
""",
    )
    found = Matcher(load_definitions(file)).classify(START_SFEN, [Move.from_usi("1g1f"), Move.from_usi("1c1d")])
    assert [tag.label for tag in found.tags] == ["先手端歩突き", "後手端歩突き"]
    assert [tag.english for tag in found.tags] == ["Black Edge Pawn", "White Edge Pawn"]


WRONG = {
    "square": ("when: {pieces: [S7x], max_ply: 9}", "試し: when.0.pieces.0: .*'S7x' is not a piece on a square"),
    "piece": ("when: {pieces: [X7g], max_ply: 9}", "試し: when.0.pieces.0: .*'X7g'"),
    "number": ("when: {pieces: [77], max_ply: 9}", "試し: when.0.pieces.0: .*string"),
    "group": ("when: {any: [[S7g, S6]], max_ply: 9}", "試し: when.0.any.0.1: .*'S6'"),
    "move": ("when: {moves: [2h6h], max_ply: 9}", "試し: when.0.moves.0: .*'2h6h' is not a move with its piece"),
    "opponent's move": ("when: {moves: [r2h6h], max_ply: 9}", "試し: when.0.moves.0: .*'r2h6h'"),
    "hand": ("when: {hand: [K], max_ply: 9}", "試し: when.0.hand.0: .*'K' is not a piece in hand"),
    "capture": ("when: {captures: [b], max_ply: 9}", "試し: when.0: .*capital letters"),
    "no window": ("when: {pieces: [S7g]}", "試し: when.0.max_ply is missing"),
    "window": ("when: {pieces: [S7g], min_ply: 9, max_ply: 8}", "試し: when.0: .*min_ply 9 is above max_ply 8"),
    "nothing": ("when: {none: [S7g], max_ply: 9}", "試し: when.0: .*no condition that a move could complete"),
    "no shape": ("when: []", "試し: when: .*at least 1 item"),
    "key": ("when: {piece: [S7g], max_ply: 9}", "試し: when.0.(piece|max_ply): "),
    "misspelt": ("whn: {pieces: [S7g], max_ply: 9}", "試し: (when is missing|whn: )"),
    "tag": ("when: {requires: [誤り], max_ply: 9}", "試し: when: no definition named '誤り'"),
    "hidden": ("hides: [誤り]\n  when: {pieces: [S7g], max_ply: 9}", "試し: hides: no definition named '誤り'"),
    "circle": ("hides: [試し]\n  when: {pieces: [S7g], max_ply: 9}", "試し: hides: a cycle: 試し -> 試し"),
    "kind": ("kind: game\n  when: {pieces: [S7g], max_ply: 9}", "試し: kind: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_names_definition_and_key(case: str, tmp_path: Path) -> None:
    line, message = WRONG[case]
    kind = "" if line.startswith("kind") else "\n  kind: castle"
    file = write(tmp_path, f"- name: 試し\n  english: Trial{kind}\n  {line}\n")
    with pytest.raises(DefinitionError, match=message) as error:
        load_definitions(file)
    assert str(file) in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- [", "invalid YAML"),
        ("name: x", "a list of definitions"),
        ("", "a list"),
        ("- 5", "definition 1: "),
        ("\0", "invalid YAML"),
    ],
    ids=["syntax", "mapping", "empty", "number", "control"],
)
def test_a_file_that_holds_no_definitions(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=message):
        load_definitions(write(tmp_path, text))


def test_two_of_one_name(tmp_path: Path) -> None:
    one = "- {name: 試し, english: Trial, kind: castle, when: {pieces: [S7g], max_ply: 9}}\n"
    with pytest.raises(DefinitionError, match="試し: name: defined twice"):
        load_definitions(write(tmp_path, one + one))
