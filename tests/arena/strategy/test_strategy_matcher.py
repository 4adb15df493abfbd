"""Strategies of games: two examples per definition, both colours, and a matcher without an index as the oracle."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_matcher import classify_plainly, nearest_miss

from fukayomi.arena.results.sources import read_games
from fukayomi.arena.strategy.definitions import Side
from fukayomi.arena.strategy.kinds import StrategyKind
from fukayomi.arena.strategy.matcher import Classification, Matcher, Tag
from fukayomi.arena.strategy.reading import load_definitions
from fukayomi.shogi import START_SFEN, Color, Move, Position

EXAMPLES: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "examples.yaml").read_text(encoding="utf-8")
)
PUBLISHED: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "published.yaml").read_text(encoding="utf-8"))
HEADERS = {  # what a publisher calls a strategy -> what must be among ours
    "矢倉": "相矢倉", "横歩取り": "先手青野流", "角換わり腰掛銀": "角換わり", "角換わりその他": "角換わり",
    "四間飛車": "後手四間飛車", "角交換型振り飛車": "後手ダイレクト向かい飛車", "ゴキゲン中飛車": "後手ゴキゲン中飛車",
}  # fmt: skip
DEFINITIONS = {definition.name: definition for definition in load_definitions()}
MATCHER = Matcher(load_definitions())
SHUFFLE = ["6a6b", "6b6a"] * 40
MIRRORED_START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


def example_moves(example: dict[str, str]) -> list[Move]:
    """The moves of both sides, which Position has found legal."""
    black = example["black"].split()
    white = example["white"].split() if "white" in example else SHUFFLE[: len(black) - 1]
    assert len(white) in (len(black), len(black) - 1)
    position = Position()
    for number, text in enumerate(black):
        position.push_usi(text)
        if number < len(white):
            position.push_usi(white[number])
    return position.moves


def mirror(move: Move) -> Move:
    """The move as the other side would make it."""

    def turned(square: str) -> str:
        return str(10 - int(square[0])) + "abcdefghi"[::-1]["abcdefghi".index(square[1])]

    text = move.usi()
    start = text[:2] if move.is_drop else turned(text[:2])
    return Move.from_usi(start + turned(text[2:4]) + text[4:])


def mirrored(found: Classification) -> dict[Tag, int]:
    return {tag.mirrored: ply for tag, ply in found.plies.items()}


def labels(found: Classification) -> list[str]:
    return [tag.label for tag in found.tags]


def classify(text: str) -> list[str]:
    found = MATCHER.classify(START_SFEN, [Move.from_usi(word) for word in text.split()])
    return [tag.label for tag in found.tags if tag.definition.kind is not StrategyKind.STYLE]


def test_every_definition_has_its_examples() -> None:
    assert EXAMPLES.keys() == DEFINITIONS.keys()


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_a_game_shows_it_and_a_similar_one_does_not(name: str) -> None:
    definition, example = DEFINITIONS[name], EXAMPLES[name]
    tag = Tag(definition, None if definition.side is Side.GAME else Color.BLACK)
    shows, lacks = example_moves(example["shows"]), example_moves(example["lacks"])
    found = MATCHER.classify(START_SFEN, shows)
    assert tag in found.plies
    assert (tag in found.tags) is example.get("shown", True)
    assert tag not in MATCHER.classify(START_SFEN, lacks).plies
    # The same games with the colours changed.
    turned = MATCHER.classify(MIRRORED_START, [mirror(move) for move in shows])
    assert turned.plies == mirrored(found)
    assert {tag.mirrored for tag in turned.tags} == set(found.tags)
    assert tag.mirrored not in MATCHER.classify(MIRRORED_START, [mirror(move) for move in lacks]).plies


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_the_game_without_it_misses_it_by_one_condition(name: str) -> None:
    assert nearest_miss(DEFINITIONS[name], load_definitions(), example_moves(EXAMPLES[name]["lacks"])) == 1


@pytest.mark.parametrize("number", range(len(PUBLISHED)))
def test_published_games_are_called_what_their_header_says(number: int) -> None:
    example = PUBLISHED[number]
    found = MATCHER.classify(START_SFEN, [Move.from_usi(word) for word in example["moves"].split()])
    assert labels(found) == example["tags"]
    assert HEADERS[example["header"]] in labels(found)


@pytest.mark.parametrize("sfen", [START_SFEN, MIRRORED_START], ids=["start", "white begins"])
def test_the_start_shows_nothing(sfen: str) -> None:
    assert MATCHER.classify(sfen, []) == Classification({}, ())


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_the_plain_matcher_agrees_on_the_examples(name: str) -> None:
    for key in ("shows", "lacks"):
        moves = example_moves(EXAMPLES[name][key])
        found = MATCHER.classify(START_SFEN, moves)
        plain = classify_plainly(load_definitions(), START_SFEN, moves)
        assert {(tag.definition.name, tag.color): ply for tag, ply in found.plies.items()} == plain


def random_game(data: st.DataObject, plies: int) -> list[Move]:
    """Any legal moves."""
    position = Position()
    for _ in range(plies):
        moves = position.legal_moves
        if not moves:
            break
        position.push(moves[data.draw(st.integers(0, len(moves) - 1))])
    return position.moves


@given(st.data())
def test_a_mirrored_game_shows_mirrored_tags(data: st.DataObject) -> None:
    moves = random_game(data, data.draw(st.integers(1, 50)))
    found = MATCHER.classify(START_SFEN, moves)
    turned = MATCHER.classify(MIRRORED_START, [mirror(move) for move in moves])
    assert turned.plies == mirrored(found)
    assert {tag.mirrored for tag in turned.tags} == set(found.tags)


@settings(max_examples=12)
@given(st.data())
def test_random_games_agree_with_the_plain_matcher(data: st.DataObject) -> None:
    moves = random_game(data, 8)
    found = MATCHER.classify(START_SFEN, moves)
    plain = classify_plainly(load_definitions(), START_SFEN, moves)
    assert {(tag.definition.name, tag.color): ply for tag, ply in found.plies.items()} == plain


def test_real_games_agree_with_the_plain_matcher(shared_data: Path) -> None:
    games = list(read_games([shared_data / "games-wcsc28"]))[::9]
    for game in games:
        found = MATCHER.classify(game.initial_sfen, game.moves or ())
        plain = classify_plainly(load_definitions(), game.initial_sfen, game.moves or ())
        assert {(tag.definition.name, tag.color): ply for tag, ply in found.plies.items()} == plain


def test_combinations_stand_in_the_order_of_the_definitions() -> None:
    bishop_exchange = "7g7f 8c8d 2g2f 8d8e 8h7g 3c3d 7i6h 4a3b 6i7h 2b7g+ 6h7g 3a2b "
    assert classify(bishop_exchange) == ["角換わり"]
    silvers = "3i3h 7a7b 3g3f 7c7d 3h3g 7b7c 3g4f 7c6d"
    assert classify(bishop_exchange + silvers) == ["角換わり", "先手早繰り銀", "後手早繰り銀"]
    ranging = "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b 5i6h 5a6b 6h7h 6b7b 4i5h 7b8b"
    assert classify(ranging) == ["後手四間飛車", "先手船囲い"]


def test_a_ranging_rook_takes_back_what_static_rooks_are_called() -> None:
    moves = "7g7f 3c3d 2g2f 2b8h+ 7i8h 3a4b"
    assert classify(moves) == ["後手一手損角換わり"]
    assert classify(moves + " 6i7h 4b3c 2f2e 8b2b") == ["後手ダイレクト向かい飛車"]


def test_a_position_within_a_game_shows_what_stands_there() -> None:
    yagura = "ln1g4l/1ks1g4/1ppppsnpp/p4bp2/9/2PPP1P1P/PPSG1P3/1KG1B2R1/LN3S1NL b 2P 41"
    found = MATCHER.classify(yagura, [])
    assert "先手金矢倉" in labels(found)
    assert set(found.plies.values()) == {40}
    # A player has pieces in hand that nobody takes before the fight, so what must come before it is over.
    begun = MATCHER.classify(yagura.replace(" 2P ", " R "), [])
    assert not any(tag.definition.name == "矢倉" for tag in begun.plies)


def test_a_game_is_read_no_further_than_the_last_window() -> None:
    position = Position()
    for _ in range(60):
        for text in ("2h3h", "8b7b", "3h2h", "7b8b"):
            position.push_usi(text)
    moves = position.moves
    assert MATCHER.classify(START_SFEN, [*moves, *(Move.from_usi("5e5d") for _ in range(9))]).tags == ()


def test_five_thousand_games_a_minute(shared_data: Path) -> None:
    games = [game for game in read_games([shared_data / "games-wcsc28"]) if game.moves]
    start = time.process_time()
    for game in games:
        MATCHER.classify(game.initial_sfen, game.moves or ())
    assert len(games) / (time.process_time() - start) > 5000 / 60
