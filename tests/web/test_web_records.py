"""Records on the page: read from every format, hostile or not, and saved again."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import RECORDS, ROOT
from web_client import Answer, ask

from fukayomi import read_record
from fukayomi.shogi import START_SFEN, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, RecordError, Termination, Variation
from fukayomi.web import WebServer, records
from fukayomi.web.answers import Refused
from fukayomi.web.records import MOST_GAMES, RecordTree, read_games, record_tree

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202egnihsif\x1b[31m\x00\u2066\ud800"
SAMPLES = sorted(path for path in RECORDS.iterdir() if path.suffix in (".csa", ".kif", ".ki2", ".jkf", ".usi"))
BRANCHED = """手合割：平手
先手：甲
後手：乙
手数----指手---------消費時間--
*はじめに
   1 ７六歩(77)   ( 0:03/00:00:03)
*角道
   2 ３四歩(33)   ( 0:05/00:00:05)
   3 ２六歩(27)   ( 0:01/00:00:04)
   4 投了

変化：3手
   3 ２二角成(88)
*交換
   4 同　銀(31)

変化：2手
   2 ８四歩(83)
"""


def parse(server: WebServer, data: bytes, name: str = "game.kif") -> Answer:
    return ask(server, "POST", f"/api/records?name={name}", data)


def tree(record: Record) -> dict[str, Any]:
    return json.loads(json.dumps(record_tree(record)))


def restored(record: Record) -> Record:
    return RecordTree.model_validate(tree(record)).record()


def test_record_with_variations_comments_and_clocks(server: WebServer) -> None:
    [game] = parse(server, BRANCHED.encode()).json["games"]
    assert (game["names"], game["comment"], game["end"], game["winner"]) == (["甲", "乙"], "はじめに", "resign", "b")
    nodes = {node["id"]: node for node in game["nodes"]}
    assert [nodes[id]["usi"] for id in game["main"]] == [None, "7g7f", "3c3d", "2g2f"]
    first = nodes[game["main"][1]]
    assert first == {
        "id": 1, "parent": 0, "ply": 1, "usi": "7g7f", "japanese": "☗７六歩", "english": "P-7f", "comment": "角道",
        "time_ms": 3000, "cp": None, "mate": None,
        "sfen": "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2",
    }  # fmt: skip
    children = [node["usi"] for node in game["nodes"] if node["parent"] == game["main"][2]]
    assert children == ["2g2f", "8h2b+"]
    [exchange] = [node for node in game["nodes"] if node["usi"] == "8h2b+"]
    assert exchange["comment"] == "交換"
    assert [node["japanese"] for node in game["nodes"] if node["parent"] == exchange["id"]] == ["☖同銀"]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_sample_is_shown_or_refused_with_a_reason(server: WebServer, path: Path) -> None:
    answer = parse(server, path.read_bytes(), "sample")
    try:
        record = read_record(path)
    except RecordError:
        assert answer.json.get("error") or answer.json["problems"]
    else:
        game = answer.json["games"][0]
        nodes = {node["id"]: node for node in game["nodes"]}
        assert [nodes[id]["usi"] for id in game["main"][1:]] == record.usi_moves()


def test_several_games_and_damaged_ones(server: WebServer) -> None:
    lines = b"startpos moves 7g7f\nstartpos moves 7g7e\nstartpos moves 2g2f\n"
    found = parse(server, lines).json
    assert [game["nodes"][1]["usi"] for game in found["games"]] == ["7g7f", "2g2f"]
    assert ["7g7e" in problem for problem in found["problems"]] == [True]
    found = parse(server, b"startpos moves 7g7f\n" * (MOST_GAMES + 3)).json
    assert (len(found["games"]), found["left_out"]) == (MOST_GAMES, 3)


@pytest.mark.parametrize(
    "data", [b"", b"\x00\xff\xfe", b"{}", b"{", b"[" * 100_000, b'{"positions": 1}', b"PK\x03\x04", b"7g7f"]
)
def test_what_is_no_record_is_refused(server: WebServer, data: bytes) -> None:
    answer = parse(server, data)
    assert answer.status == 400
    assert answer.error


def test_hostile_text_loses_what_controls_the_screen(server: WebServer) -> None:
    record = Record(black_name=HOSTILE, event=HOSTILE, headers={HOSTILE: HOSTILE}, comment=HOSTILE, name=HOSTILE)
    record.moves = [RecordedMove(Move.from_usi("7g7f"), comment=HOSTILE + "\n" + HOSTILE)]
    game = tree(record)
    texts = [
        game["names"][0],
        game["header"]["event"],
        game["comment"],
        game["name"],
        *list(game["header"])[1:],
        game["nodes"][1]["comment"],
    ]
    for text in texts:
        assert "<script>" in text  # text it is, and the page shows it as text
        assert not {"\u202e", "\x1b", "\x00", "\u2066", "\ud800"} & set(text)
    kif = f"手合割：平手\n先手：{HOSTILE}\n   1 ７六歩(77)\n*{HOSTILE}\n".replace("\x00", "").encode(errors="replace")
    answer = parse(server, kif, "%E2%80%AE%3Cb%3E")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert not {"\u202e", "\x1b"} & set(answer.body.decode())


@pytest.mark.parametrize("kind", ["kif", "csa", "jkf", "usi"])
def test_record_is_saved_and_read_again(server: WebServer, kind: str) -> None:
    [game] = parse(server, BRANCHED.encode()).json["games"]
    answer = ask(server, "POST", "/api/save", {"record": game, "format": kind})
    assert answer.status == 200, answer.body
    assert answer.headers["content-disposition"].startswith('attachment; filename="')
    assert f".{kind}" in answer.headers["content-disposition"]
    again = read_record(answer.body)
    assert again.usi_moves() == ["7g7f", "3c3d", "2g2f"]
    if kind != "usi":
        assert (again.black_name, again.termination, again.moves[0].comment) == ("甲", Termination.RESIGN, "角道")
        assert [played.time_ms for played in again.moves] == [3000, 5000, 1000]
    if kind in ("kif", "jkf"):
        lines = {variation.ply: [played.move.usi() for played in variation.moves] for variation in again.variations}
        assert lines == {3: ["8h2b+", "3a2b"], 2: ["8c8d"]}
        assert tree(again)["nodes"] == game["nodes"]


def test_branches_of_branches_are_saved(server: WebServer) -> None:
    nodes = [
        {"id": 0}, {"id": 1, "parent": 0, "usi": "7g7f"}, {"id": 2, "parent": 1, "usi": "3c3d"},
        {"id": 3, "parent": 1, "usi": "8c8d", "comment": "居飛車"}, {"id": 4, "parent": 3, "usi": "2g2f"},
        {"id": 5, "parent": 3, "usi": "6g6f"}, {"id": 6, "parent": 5, "usi": "8d8e"},
    ]  # fmt: skip
    answer = ask(server, "POST", "/api/save", {"record": {"nodes": nodes, "main": [0, 1, 2]}, "format": "kif"})
    again = record_tree(read_record(answer.body))
    by_id = {node["id"]: node for node in again["nodes"]}
    edges = {(by_id[node["parent"]]["usi"], node["usi"]) for node in again["nodes"] if node["parent"] is not None}
    branches = {("7g7f", "3c3d"), ("7g7f", "8c8d"), ("8c8d", "2g2f"), ("8c8d", "6g6f"), ("6g6f", "8d8e")}
    assert edges == {(None, "7g7f"), *branches}
    assert [node["comment"] for node in again["nodes"] if node["usi"] == "8c8d"] == ["居飛車"]


@pytest.mark.parametrize(
    "damage",
    [
        {"start": "x"}, {"main": [0, 2]}, {"main": [1]}, {"main": [0, 99]},
        {"nodes": [{"id": 0}, {"id": 0}]}, {"nodes": [{"id": 1, "parent": 7, "usi": "7g7f"}]},
        {"nodes": [{"id": 0}, {"id": 1, "parent": 0, "usi": "7g7e"}]}, {"nodes": [{"id": 0}, {"id": 1, "parent": 0}]},
        {"nodes": [{"id": 0}, {"id": 1, "parent": 0, "usi": "7g7f"}, {"id": 2, "parent": 1, "usi": "7g7f"}]},
        {"names": ["x" * 201, ""]}, {"end": "explosion"}, {"nodes": [{"id": 0, "comment": "x" * 20_001}]},
        {"nodes": [{"id": n} for n in range(20_002)]},
    ],
)  # fmt: skip
def test_damaged_trees_are_refused(server: WebServer, damage: dict) -> None:
    answer = ask(server, "POST", "/api/save", {"record": damage, "format": "kif"})
    assert answer.status == 400
    assert answer.error


def test_trees_that_go_in_circles_are_cut() -> None:
    loop = [{"id": 0}, {"id": 1, "parent": 2, "usi": "7g7f"}, {"id": 2, "parent": 1, "usi": "3c3d"}]
    assert RecordTree.model_validate({"nodes": loop}).record().usi_moves() == []
    shuffle = ["5i5h", "5a5b", "5h5i", "5b5a"]
    circle = [{"id": n, "parent": (n - 1) % 4, "usi": shuffle[(n - 1) % 4]} for n in range(4)]
    with pytest.raises(Refused, match="a game has at most 2000 moves"):
        RecordTree.model_validate({"nodes": circle, "main": [0]}).record()


def test_a_tree_with_a_branch_at_every_move_of_a_long_variation_keeps_its_moves() -> None:
    nodes = [{"id": 0}, {"id": 9, "parent": 0, "usi": "7g7f"}]
    shuffle = ["5i5h", "5a5b", "5h5i", "5b5a"]
    for n in range(1500):
        nodes.append({"id": 10 + n, "parent": 9 + n if n else 0, "usi": shuffle[n % 4]})
        nodes.append({"id": 10_000 + n, "parent": 10 + n, "usi": "9g9f" if n % 2 else "9c9d"})
    record = RecordTree.model_validate({"nodes": nodes, "main": [0, 9]}).record()
    assert len(record.moves) + sum(len(line.moves) for line in record.variations) == len(nodes) - 1
    assert sorted_lines(tree(record)) == sorted_lines(tree(read_record(record.kif().encode())))
    assert len(tree(record)["nodes"]) == len(nodes)


def test_record_of_too_many_moves_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_NODES", 2)
    with pytest.raises(Refused, match="more than 2 moves"):
        read_games(b"startpos moves 7g7f 3c3d 2g2f", "game")


def test_game_that_cannot_be_saved_is_not_opened() -> None:
    shuffle = "5i5h 5a5b 5h5i 5b5a"
    assert len(read_games(f"startpos moves {' '.join([shuffle] * 500)}".encode(), "game")["games"][0]["main"]) == 2001
    with pytest.raises(Refused, match="game: a game has at most 2000 moves"):
        read_games(f"startpos moves {' '.join([shuffle] * 501)}".encode(), "game")


def test_ending_that_a_format_cannot_express_does_not_hold_the_moves_back(server: WebServer) -> None:
    record = {"nodes": [{"id": 0}, {"id": 1, "parent": 0, "usi": "7g7f"}], "end": "crash", "winner": "b"}
    for kind in ("kif", "csa", "jkf", "usi"):
        answer = ask(server, "POST", "/api/save", {"record": record, "format": kind})
        assert answer.status == 200
        assert read_record(answer.body).usi_moves() == ["7g7f"]


def test_name_of_a_saved_file_cannot_leave_its_folder_or_header(server: WebServer) -> None:
    record = {"names": ["../../etc/passwd\r\nX: y", '"; rm']}
    answer = ask(server, "POST", "/api/save", {"record": record, "format": "usi"})
    assert answer.status == 200
    assert "x" not in answer.headers
    name = answer.headers["content-disposition"]
    assert "/" not in name.replace("''", "")
    assert name.count('"') == 2


@st.composite
def records_with_variations(draw: st.DrawFn) -> Record:
    """A game with lines that leave it, comments and times."""
    position = Position()
    record = Record(initial_sfen=START_SFEN)

    def line(plies: int) -> list[RecordedMove]:
        moves: list[RecordedMove] = []
        for _ in range(plies):
            legal = position.legal_moves
            move = legal[draw(st.integers(0, len(legal) - 1))]
            moves.append(RecordedMove(move, comment=draw(st.sampled_from(["", "a", "b\nc"])), time_ms=1000))
            position.push(move)
        return moves

    record.moves = line(draw(st.integers(1, 6)))
    for ply in draw(st.lists(st.integers(1, len(record.moves)), max_size=3)):
        while len(position.moves) >= ply:
            position.pop()
        record.variations.append(Variation(ply, line(draw(st.integers(1, 3)))))
        while len(position.moves) >= ply:
            position.pop()
        for played in record.moves[ply - 1 :]:
            position.push(played.move)
    return record


@settings(max_examples=25)
@given(records_with_variations())
def test_tree_goes_there_and_back(record: Record) -> None:
    first = tree(record)
    assert tree(restored(record))["nodes"] == first["nodes"] or sorted_lines(tree(restored(record))) == sorted_lines(
        first
    )


def sorted_lines(game: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The nodes of a record by the moves that lead to them."""
    paths: dict[int, tuple[str, ...]] = {0: ()}
    for node in game["nodes"][1:]:
        paths[node["id"]] = (*paths[node["parent"]], node["usi"])
    return sorted((paths[node["id"]], node["comment"], node["time_ms"], node["sfen"]) for node in game["nodes"])


def test_example_game_is_shown(server: WebServer) -> None:
    data = (ROOT / "examples" / "game.csa").read_bytes()
    [game] = parse(server, data, "game.csa").json["games"]
    assert len(game["main"]) == len(read_record(data)) + 1


def test_variation_of_a_variation_is_there_once(server: WebServer) -> None:
    text = BRANCHED.replace("\n変化：2手", "\n変化：4手\n   4 ５四歩(53)\n*中央\n   5 １一馬(22)\n\n変化：2手")
    [game] = parse(server, text.encode()).json["games"]
    moves = [node["usi"] for node in game["nodes"]]
    assert sorted(moves[1:]) == sorted(["7g7f", "3c3d", "2g2f", "8h2b+", "3a2b", "5c5d", "2b1a", "8c8d"])
    assert [node["comment"] for node in game["nodes"]].count("交換") == 1
    for kind in ("kif", "jkf"):
        answer = ask(server, "POST", "/api/save", {"record": game, "format": kind})
        again = read_record(answer.body)
        assert sum(len(line.moves) for line in again.variations) == 5
        assert sorted_lines(tree(again)) == sorted_lines(game)


def test_end_with_its_word_comment_and_time_is_shown_and_saved(server: WebServer) -> None:
    text = BRANCHED.partition("   4 投了")[0] + "   4 封じ手   ( 0:07/00:00:12)\n*明日\n"
    [game] = parse(server, text.encode()).json["games"]
    assert (game["end"], game["end_word"], game["end_comment"], game["end_time_ms"]) == (
        "other",
        "封じ手",
        "明日",
        7000,
    )
    for kind in ("kif", "jkf", "csa"):
        again = read_record(ask(server, "POST", "/api/save", {"record": game, "format": kind}).body)
        assert (again.termination, again.ending_word, again.ending_comment) == (Termination.OTHER, "封じ手", "明日")
        assert again.ending_time_ms == 7000


def test_illegal_move_is_shown_and_saved(server: WebServer) -> None:
    text = BRANCHED.partition("   4 投了")[0] + "   4 ５六角(22)   ( 0:07/00:00:12)\n   5 反則勝ち\n"
    [game] = parse(server, text.encode()).json["games"]
    assert game["illegal"] == {"move": "2b5f", "japanese": "☖５六角", "by": "w", "time_ms": 7000}
    assert (len(game["main"]), game["end"], game["winner"]) == (4, "illegal_move", "b")
    for kind in ("kif", "jkf", "csa"):
        again = read_record(ask(server, "POST", "/api/save", {"record": game, "format": kind}).body)
        assert (again.illegal_move, again.illegal_move_time_ms) == ("-2256KA" if kind == "csa" else "2b5f", 7000)
        assert tree(again)["illegal"]["japanese"] == "☖５六角"
    record = Record(termination=Termination.ILLEGAL_MOVE, illegal_move=HOSTILE)
    assert tree(record)["illegal"]["japanese"] == ""
    assert not {"\u202e", "\x1b"} & set(tree(record)["illegal"]["move"])
    assert restored(record).illegal_move


def test_bookmarks_are_kept(server: WebServer) -> None:
    text = (
        BRANCHED.replace("*はじめに\n", "*はじめに\n&始\n")
        .replace("*角道\n", "*角道\n&一\n")
        .replace("変化：2手\n", "変化：2手\n&二\n")
    )
    [game] = parse(server, text.encode()).json["games"]
    marks = {node["usi"]: node["bookmark"] for node in game["nodes"] if "bookmark" in node}
    assert marks == {None: "始", "7g7f": "一", "8c8d": "二"}
    again = read_record(ask(server, "POST", "/api/save", {"record": game, "format": "kif"}).body)
    assert (again.bookmark, again.moves[0].bookmark, again.variations[-1].moves[0].bookmark) == ("始", "一", "二")


def test_what_is_cut_is_named() -> None:
    most = records.LONGEST_TEXT
    long = BRANCHED.replace("はじめに", "長" * (most + 1)).replace("角道", "道" * (most + 5), 1)
    found = read_games(long.replace("   4 投了\n", "   4 投了\n*" + "終" * (most + 1) + "\n").encode(), "game.kif")
    cut = ("ply 1: the comment", "before the first move: the comment", "at the end: the comment")
    assert found["problems"] == [f"game.kif: {what} is cut to {most} characters" for what in cut]
    [game] = found["games"]
    assert (game["comment"], game["end_comment"]) == ("長" * most, "終" * most)
    assert game["nodes"][1]["comment"] == "道" * most
    whole = read_games(BRANCHED.replace("はじめに", "長" * most).encode(), "game.kif")
    assert whole["problems"] == []


def test_comments_that_are_too_long_together_are_named() -> None:
    move, half = Move.from_usi("7g7f"), records.LONGEST_TEXT // 2
    other = Variation(1, [RecordedMove(move, comment="b" * half)])
    record = Record(name="x", moves=[RecordedMove(move, comment="a" * half)], variations=[other])
    problems: list[str] = []
    found = record_tree(record, problems)
    assert found["nodes"][1]["comment"] == "a" * half + "\n" + "b" * (half - 1)
    assert problems == ["x: ply 1: the comment is cut to 20000 characters"]


def test_comments_of_a_move_that_stands_twice_are_not_doubled() -> None:
    move = Move.from_usi
    game = [RecordedMove(move("7g7f"), comment="a"), RecordedMove(move("3c3d"), comment="b")]
    other = [RecordedMove(move("7g7f"), comment="a"), RecordedMove(move("3c3d"), comment="c")]
    found = tree(Record(moves=game, variations=[Variation(1, other)]))
    assert [node["comment"] for node in found["nodes"]] == ["", "a", "b\nc"]
