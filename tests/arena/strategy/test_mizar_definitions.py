"""Definitions in Mizar's form: the same strategies as a plain reading of his program's rules, and errors."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from places import SAMPLES
from plain_mizar import shown

from fukayomi.arena import classify_strategies
from fukayomi.arena.results.sources import read_games
from fukayomi.arena.strategy.definitions import DefinitionError, describe
from fukayomi.arena.strategy.kinds import StrategyKind
from fukayomi.arena.strategy.matcher import Matcher
from fukayomi.arena.strategy.reading import load_definitions
from fukayomi.files.inputs import InputFileError
from fukayomi.shogi import START_SFEN, Move, Position

FILE = SAMPLES / "mizar" / "castle.json"
ENTRIES: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
DEFINITIONS = {definition.name: definition for definition in load_definitions(FILE)}
MATCHER = Matcher(load_definitions(FILE))

EXCHANGES = "2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d P*2c 2d2h 8e8f 8g8f 8b8f"
SIDE_PAWNS = "7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d 8e8f 8g8f 8b8f 2d3d"
MINO = "7g7f 3c3d 6g6f 8c8d 2h6h 7a6b 5i4h 5a4b 4h3h 4b3b 3h2h 1c1d 3i3h"
GAMES: dict[str, tuple[str, dict[str, int]]] = {
    "exchange": ("7g7f 3c3d 8h2b+ 3a2b", {"角換わり": 4}),
    "both rook pawns": (EXCHANGES, {"相掛かり": 14}),
    "side pawn": (SIDE_PAWNS, {"先手横歩": 15}),
    "half and whole mino": (f"{MINO} 9c9d 6i5h", {"先手四間飛車": 5, "先手片美濃囲い": 13, "先手本美濃囲い": 15}),
    "whole mino at once": (
        f"{MINO.removesuffix(' 3i3h')} 6i5h 9c9d 3i3h", {"先手四間飛車": 5, "先手本美濃囲い": 15},
    ),
    "white": ("7g7f 3c3d 2g2f 4c4d 3i4h 8b4b", {"後手四間飛車": 6}),
    "nothing": ("1g1f 9c9d", {}),
}  # fmt: skip


def moves_of(text: str) -> list[Move]:
    return [Move.from_usi(word) for word in text.split()]


def found(matcher: Matcher, moves: list[Move]) -> dict[str, int]:
    classification = matcher.classify(START_SFEN, moves)
    return {tag.label: classification.plies[tag] for tag in classification.tags}


def write(folder: Path, content: object, name: str = "own.json") -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


@pytest.mark.parametrize("case", GAMES)
def test_strategies_are_those_that_the_program_shows(case: str) -> None:
    text, tags = GAMES[case]
    assert found(MATCHER, moves_of(text)) == tags
    assert shown(ENTRIES, moves_of(text)) == tags
    if tags:
        names = [row["strategy"] for row in classify_strategies(text.split(), matcher=MATCHER).rows()]
        assert names == sorted(tags, key=list(DEFINITIONS).index), "in the order of the file"


def test_an_entry_without_noturn_is_each_side_s_and_one_of_a_result_is_none() -> None:
    assert {"先手四間飛車", "後手四間飛車", "角換わり", "先手横歩", "先手飛車先歩交換"} <= DEFINITIONS.keys()
    assert not {"四間飛車", "先手角換わり", "先手先手横歩", "投了"} & DEFINITIONS.keys()
    assert DEFINITIONS["先手飛車先歩交換"].helper
    assert describe(DEFINITIONS["後手四間飛車"]) == ("the move White's rook 8b-4b; up to ply 20",)
    assert len(DEFINITIONS["先手金無双"].when) == 2, "entries of one id are alternatives"


def test_kinds_and_english_names_come_from_ids() -> None:
    kinds = {name: definition.kind for name, definition in DEFINITIONS.items()}
    assert kinds["先手四間飛車"] is kinds["先手横歩"] is StrategyKind.OPENING
    assert kinds["後手船囲い"] is StrategyKind.CASTLE
    assert kinds["先手腰掛け銀"] is StrategyKind.ATTACK
    english = {definition.name: definition.english for definition in DEFINITIONS.values()}
    assert english["角換わり"] == "Kakugawari"
    assert english["後手横歩"] == "White Yokofu"
    assert english["先手本美濃囲い"] == "Black Hon Mino"


def test_an_english_name_of_the_file_is_taken(tmp_path: Path) -> None:
    entry = {"id": "A_B", "name": {"ja_JP": "試し", "en_US": "Trial"}, "pieces": ["P*7f"], "tesuu_max": 9}
    assert [one.english for one in load_definitions(write(tmp_path, [entry]))] == ["Black Trial", "White Trial"]
    (one,) = load_definitions(write(tmp_path, [entry | {"noturn": True}]))
    assert one.english == "Trial"


def test_both_sides_can_enter(tmp_path: Path) -> None:
    """相入玉, in a game whose kings walk."""
    position = Position.from_sfen("9/4K4/9/9/9/9/9/4k4/9 b - 1")
    for move in ("5b5c", "5h5g"):
        position.push_usi(move)
    classification = MATCHER.classify(position.start_sfen(), position.moves)
    assert [tag.label for tag in classification.tags] == ["先手入玉", "後手入玉", "相入玉"]


def test_without_tags_disable_both_names_are_shown(tmp_path: Path) -> None:
    entries = [{key: value for key, value in entry.items() if key != "tags_disable"} for entry in ENTRIES]
    matcher = Matcher(load_definitions(write(tmp_path, entries)))
    assert found(matcher, moves_of(SIDE_PAWNS)) == {"相掛かり": 14, "先手横歩": 15}


def random_moves(data: st.DataObject, plies: int) -> list[Move]:
    position = Position()
    for _ in range(plies):
        moves = position.legal_moves
        captures = [move for move in moves if position.piece_on(move.to_square) is not None]
        moves = captures if captures and data.draw(st.booleans()) else moves
        if not moves:
            break
        position.push(moves[data.draw(st.integers(0, len(moves) - 1))])
    return position.moves


SQUARES = st.builds(str.__add__, st.sampled_from("5678"), st.sampled_from("defgh"))
PIECES = st.sampled_from(["_", *"PLNSGBRKplnsgbrk", "+P", "+b"])
CONDITIONS = {
    "pieces": st.lists(st.builds("{}*{}".format, PIECES, SQUARES), max_size=2),
    "capture": st.lists(st.sampled_from("Pp"), max_size=1),
    "hand": st.lists(st.sampled_from("PpBb"), max_size=1),
    "hand_exclude": st.lists(st.sampled_from("PpBbKk"), min_size=1, max_size=2),
    "tesuu_min": st.integers(0, 12),
}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_entries_are_found_as_a_plain_reading_finds_them(data: st.DataObject) -> None:
    entries: list[dict[str, Any]] = []
    for number in range(8):
        entry = data.draw(st.fixed_dictionaries({}, optional=CONDITIONS))
        if not any(entry.get(key) for key in CONDITIONS if key != "tesuu_min"):
            entry["pieces"] = ["P*7f"]
        head = {"id": f"T{number}", "name": {"ja_JP": f"試し{number}"}, "tesuu_max": data.draw(st.integers(12, 40))}
        if number > 3:
            entry["tags_required"] = [f"T{data.draw(st.integers(0, number - 1))}"]
        entries.append(head | entry)
    moves = random_moves(data, 30)
    with TemporaryDirectory() as folder:
        matcher = Matcher(load_definitions(write(Path(folder), entries)))
    assert found(matcher, moves) == shown(entries, moves)


def test_real_games_agree_with_a_plain_reading(shared_data: Path) -> None:
    games = list(read_games([shared_data / "games-wcsc28"]))[::3]
    tags = 0
    for game in games:
        assert game.initial_sfen == START_SFEN
        plain = shown(ENTRIES, game.moves or [])
        assert found(MATCHER, list(game.moves or ())) == plain
        tags += len(plain)
    assert tags > 40


def test_the_content_tells_the_form(tmp_path: Path) -> None:
    names = list(DEFINITIONS)
    as_yaml = write(tmp_path, yaml.safe_dump(ENTRIES, allow_unicode=True), "castle.yaml")
    assert [one.name for one in load_definitions(as_yaml)] == names
    marked = write(tmp_path, "\ufeff\t" + json.dumps(ENTRIES, indent="\t"), "castle.txt")
    assert [one.name for one in load_definitions(marked)] == names
    own = [{"name": "初手", "english": "First", "kind": "opening", "when": {"pieces": ["P7f"], "max_ply": 1}}]
    assert [one.name for one in load_definitions(write(tmp_path, own))] == ["初手"]
    flow = "[{name: 初手, english: First, kind: opening, when: {pieces: [P7f], max_ply: 1}}]"
    assert [one.name for one in load_definitions(write(tmp_path, flow))] == ["初手"]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "square": ({"pieces": ["K*8h", "G*7z"]}, r"pieces.1: 'G\*7z' is not a piece on a square: K\*8h"),
    "own notation": ({"pieces": ["K8h"]}, "pieces.0: 'K8h' is not a piece on a square"),
    "promoted gold": ({"pieces": ["+G*8h"]}, "pieces.0: "),
    "number": ({"pieces": [88]}, "pieces.0: Input should be a text"),
    "no list": ({"pieces": "K*8h"}, "pieces: "),
    "move": ({"moves": ["R2h6h"]}, r"moves.0: 'R2h6h' is not a move with its piece: R\*2h6h"),
    "drop": ({"moves": ["B**4e"]}, "moves.0: "),
    "hand": ({"hand": ["X"]}, "hand.0: 'X' is not a piece in hand"),
    "king in hand": ({"hand": ["K"]}, "a king is never in hand"),
    "capture": ({"capture": ["+p"]}, r"capture.0: '\+p' is not a piece in hand"),
    "nothing": ({"pieces": []}, "no condition; give pieces"),
    "window": ({"tesuu_min": 9, "tesuu_max": 8}, "tesuu_min 9 is above tesuu_max 8"),
    "negative": ({"tesuu_max": -1}, "tesuu_max: .*not -1"),
    "no end": ({"tesuu_max": None}, "tesuu_max: "),
    "key": ({"piece": ["K*8h"]}, "piece: unknown key"),
    "name": ({"name": "試し"}, "name: "),
    "empty name": ({"name": {"ja_JP": ""}}, "name.ja_JP: "),
    "no Japanese name": ({"name": {}}, "name.ja_JP is missing"),
    "required": ({"tags_required": ["NONE"]}, "tags_required: no strategy has the id 'SENTE_NONE'"),
    "excluded": ({"tags_exclude": ["SENTE_TRIAL"]}, "tags_exclude: no strategy has the id 'SENTE_SENTE_TRIAL'"),
    "disabled": ({"tags_disable": ["NONE"], "noturn": True}, "tags_disable: no strategy has the id 'NONE'"),
    "ending": ({"tags_required": ["END"]}, "tags_required: no strategy has the id"),
}  # fmt: skip
TRIAL = {"id": "TRIAL", "name": {"ja_JP": "試し"}, "pieces": ["S*7g"], "tesuu_max": 64}
END = {"id": "END", "name": {"ja_JP": "投了"}, "special": "TORYO", "tesuu_max": 9, "noturn": True}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_names_file_entry_and_key(case: str, tmp_path: Path) -> None:
    changed, message = WRONG[case]
    file = write(tmp_path, [END, TRIAL | changed])
    with pytest.raises(DefinitionError, match=message) as error:
        load_definitions(file)
    assert str(error.value).startswith(f"{file}: entry 2 (TRIAL): ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([TRIAL, 5], "entry 2: "),
        ([TRIAL, {"name": {"ja_JP": "x"}}], "entry 2: id is missing"),
        ([{"id": 7}], "entry 1: "),
        ([TRIAL, TRIAL | {"id": "OTHER"}], r"entry 2 \(OTHER\): name: entry 1 \(TRIAL\) is called 先手試し as well"),
        ([TRIAL | {"tags_disable": ["TRIAL"]}], "先手試し: hides: a cycle: 先手試し -> 先手試し"),
        ({"id": "A"}, "expected a list of definitions"),
        ([], "expected a list of definitions"),
    ],
    ids=["number", "no id", "id", "one name", "circle", "no list", "empty"],
)
def test_a_list_that_is_wrong(entries: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=message):
        load_definitions(write(tmp_path, entries))


def test_a_cut_file_is_said_to_be_cut_and_where(tmp_path: Path) -> None:
    text = FILE.read_text(encoding="utf-8")
    for end in range(1, len(text) - 2, 97):
        file = write(tmp_path, text[:end])
        with pytest.raises(
            DefinitionError, match=r"own.json: invalid JSON: .* at line \d+ column \d+; mend that place"
        ):
            load_definitions(file)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, FILE.stat().st_size - 1), st.binary(min_size=1, max_size=4))
def test_no_bytes_crash(place: int, put: bytes) -> None:
    data = FILE.read_bytes()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "castle.json"
        file.write_bytes(data[:place] + put + data[place + len(put) :])
        try:
            load_definitions(file)
        except DefinitionError as error:
            assert str(error).startswith(str(file))  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("text", ["[" * 100_000, '[{"id": ' * 50_000, "- " * 50_000, "a: {" * 50_000])
def test_what_is_nested_too_deeply(text: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"own.json: invalid (JSON|YAML): "):
        load_definitions(write(tmp_path, text))


def test_a_file_that_is_no_file_of_definitions_by_its_size(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="larger than 4 MiB"):
        load_definitions(write(tmp_path, " " * (5 << 20)))


def test_many_strategies_that_hide_each_other_take_no_time_without_end(tmp_path: Path) -> None:
    entries = [
        {"id": f"T{number}", "name": {"ja_JP": f"試し{number}"}, "pieces": ["P*7f"], "tesuu_max": 9}
        | {"tags_disable": [f"T{other}" for other in range(max(0, number - 3), number)]}
        for number in range(500)
    ]
    tags = found(Matcher(load_definitions(write(tmp_path, entries))), moves_of("7g7f"))
    assert tags == {"先手試し499": 1}
