"""What each piece is worth, against values by hand: Network.evaluate of SFENs in which the piece is left out."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi import BLACK, WHITE, Network, PieceType, Position
from fukayomi._native import centipawns
from fukayomi.engine.worth.worth import PieceWorth, WorthComparison, piece_worth, pieces_of, without

SFEN = "lnsgkgsnl/7b1/p1pppp1pp/6pR1/9/1rP6/P2PPPP1P/1BG6/LNS1KGSNL b 2Pp 15"
PINNED = "4k4/9/4s4/9/9/4R4/9/9/4K4 b - 1"  # the silver stands between rook and king


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with Network("<hash>") as network:
        yield network


def black_rate(network: Network, sfen: str) -> float:
    position = Position.from_sfen(sfen)
    rate = float(network.evaluate(position).winrates[0])
    return rate if position.turn == BLACK else 1 - rate


def at(pieces: tuple[PieceWorth, ...], place: str) -> PieceWorth:
    [found] = [each for each in pieces if each.piece.place == place]
    return found


@pytest.mark.parametrize(
    ("place", "without_it", "sign"),
    [
        ("8h", SFEN.replace("/1BG6/", "/2G6/"), 1),
        ("8f", SFEN.replace("/1rP6/", "/2P6/"), -1),
        ("P*", SFEN.replace(" 2Pp ", " p "), 1),
        ("p*", SFEN.replace(" 2Pp ", " 2P "), -1),
    ],
)
@pytest.mark.parametrize("turn", ["b", "w"])
def test_values_are_those_of_reduced_positions(
    network: Network, place: str, without_it: str, sign: int, turn: str
) -> None:
    sfen, without_it = SFEN.replace(" b ", f" {turn} "), without_it.replace(" b ", f" {turn} ")
    worth = piece_worth(Position.from_sfen(sfen), network)
    whole, reduced = black_rate(network, sfen), black_rate(network, without_it)
    found = at(worth.pieces, place)
    assert found.worth_winrate == pytest.approx(sign * (whole - reduced), abs=1e-6)
    assert found.worth_cp == sign * (centipawns(whole) - centipawns(reduced))
    assert (worth.cp, worth.winrate) == (centipawns(whole), pytest.approx(whole))


def test_every_piece_but_the_kings_once_and_hands_by_kind(network: Network) -> None:
    worth = piece_worth(Position.from_sfen(SFEN), network)
    assert sum(each.piece.count for each in worth.pieces) == 38
    assert [each.piece.place for each in worth.pieces][-2:] == ["P*", "p*"]
    assert PieceType.KING not in {each.piece.type for each in worth.pieces}
    assert len(worth.rows()) == len(worth.pieces)


def test_no_value_where_the_position_without_the_piece_is_illegal(network: Network) -> None:
    worth = piece_worth(Position.from_sfen(PINNED), network, together=["5c", "5f"])
    silver = at(worth.pieces, "5c")
    assert (silver.worth_cp, silver.worth_winrate, silver.relative_cp, silver.change_cp) == (None, None, None, None)
    assert at(worth.pieces, "5f").worth_cp is not None
    [both] = worth.together  # without rook and silver the position is legal
    whole = black_rate(network, PINNED)
    bare = black_rate(network, "4k4/9/9/9/9/9/9/9/4K4 b - 1")
    assert both.color == BLACK  # as the two are not of one side
    assert both.worth_cp == centipawns(whole) - centipawns(bare)
    assert (both.sum_cp, both.extra_cp) == (None, None)
    # With White to move the silver may go: it is White who is in check then.
    moved = piece_worth(Position.from_sfen(PINNED.replace(" b ", " w ")), network)
    assert at(moved.pieces, "5c").worth_cp is not None


def test_combinations_of_a_chosen_set(network: Network) -> None:
    worth = piece_worth(Position.from_sfen(SFEN), network, together=["7h", "7i", "P*"])
    assert [tuple(piece.place for piece in each.pieces) for each in worth.together] == [
        ("7h", "7i"), ("7h", "P*"), ("7i", "P*"), ("7h", "7i", "P*"),
    ]  # fmt: skip
    every = worth.together[-1]
    reduced = SFEN.replace("/1BG6/", "/1B7/").replace("/LNS1KGSNL", "/LN2KGSNL").replace(" 2Pp ", " p ")
    assert every.worth_cp == centipawns(black_rate(network, SFEN)) - centipawns(black_rate(network, reduced))
    alone = [at(worth.pieces, place).worth_cp for place in ("7h", "7i", "P*")]
    assert every.sum_cp == sum(cp for cp in alone if cp is not None)
    assert every.extra_cp == every.worth_cp - every.sum_cp
    assert len(worth.combinations().rows()) == 4


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (["5e"], "no piece at '5e'"),
        (["5i"], "no piece at '5i'"),  # the king
        (["r*"], r"no piece at 'r\*'"),
        (["8h", "8h"], "8h is named twice"),
        (["9i", "8i", "7i", "4i", "3i", "2i", "1i"], "7 pieces have 128 combinations: at most 6"),
    ],
)
def test_sets_that_cannot_be(network: Network, places: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        piece_worth(Position.from_sfen(SFEN), network, together=places)


def test_relative_is_the_difference_to_the_average_of_the_kind(network: Network) -> None:
    worth = piece_worth(Position.from_sfen(SFEN), network)
    pawns = [each for each in worth.pieces if each.piece.type == PieceType.PAWN]
    average = sum(each.worth_cp or 0 for each in pawns) / sum(each.piece.count for each in pawns)
    in_hand = at(worth.pieces, "P*")
    assert in_hand.relative_cp == pytest.approx((in_hand.worth_cp or 0) / 2 - average)
    for kind in {each.piece.type for each in worth.pieces}:
        same = [each for each in worth.pieces if each.piece.type == kind]
        assert sum((each.relative_cp or 0) * each.piece.count for each in same) == pytest.approx(0, abs=1e-6)
    lonely = piece_worth(Position.from_sfen(PINNED), network)
    assert at(lonely.pieces, "5f").relative_cp is None


def test_change_since_the_last_ply_follows_the_pieces(network: Network) -> None:
    position = Position.from_usi("startpos moves 7g7f 3c3d")
    before = piece_worth(position, network)
    position.push_usi("8h2b+")
    after = piece_worth(position, network)
    # The bishop is the same piece, promoted on another square; what it took is gone, and is new in hand.
    assert at(after.pieces, "2b").change_cp == (at(after.pieces, "2b").worth_cp or 0) - (
        at(before.pieces, "8h").worth_cp or 0
    )
    assert at(after.pieces, "B*").change_cp is None
    assert at(after.pieces, "5g").change_cp == (at(after.pieces, "5g").worth_cp or 0) - (
        at(before.pieces, "5g").worth_cp or 0
    )
    assert all(each.change_cp is None for each in piece_worth(Position(), network).pieces)


def test_two_positions(network: Network) -> None:
    first = piece_worth(Position.from_usi("startpos moves 7g7f"), network)
    second = piece_worth(Position.from_usi("startpos moves 7g7f 3c3d"), network)
    rows = {row["place"]: row for row in WorthComparison(first, second).rows()}
    assert len(rows) == 37  # the pawn of 3c is on another square
    assert "3c" not in rows
    row = rows["8h"]
    assert row["difference_cp"] == row["second_cp"] - row["first_cp"]
    sizes = [abs(row["difference_cp"]) for row in rows.values()]
    assert sizes == sorted(sizes, reverse=True)


def test_nothing_of_the_position_is_changed(network: Network) -> None:
    position = Position.from_usi("startpos moves 7g7f 3c3d")
    worth = piece_worth(position, network)
    assert position.usi() == "startpos moves 7g7f 3c3d"
    position.push_usi("2g2f")
    assert worth.position.usi() == "startpos moves 7g7f 3c3d"


def test_certain_values_stay_finite() -> None:
    class Certain:
        """Every position is won for the side to move."""

        identity, batch_size, slots = "certain", 16, 1

        def allocate(self, capacity: int):
            from fukayomi.engine.evaluators.protocol import PlaneSlot

            return PlaneSlot.zeros(capacity)

        def run(self, slot, n: int) -> None:
            slot.values[:n] = 1
            slot.logits[:n] = 0

        def close(self) -> None:
            pass

    with Network(Certain()) as network:
        worth = piece_worth(Position(), network)
    assert worth.cp == 12576  # of the highest win rate below 1 that a float32 has
    assert {each.worth_cp for each in worth.pieces} == {0}


@given(st.data())
@settings(max_examples=30)
def test_without_removes_exactly_these_pieces(data: st.DataObject) -> None:
    position = Position()
    for _ in range(data.draw(st.integers(0, 60))):
        moves = position.legal_moves
        if not len(moves):
            break
        position.push(moves[data.draw(st.integers(0, len(moves) - 1))])
    pieces = pieces_of(position)
    taken = data.draw(st.lists(st.sampled_from(pieces), unique=True, max_size=4))
    reduced = without(position, taken)
    if reduced is None:
        return
    assert pieces_of(reduced) == [piece for piece in pieces if piece not in taken]
    assert (reduced.turn, reduced.ply) == (position.turn, position.ply)
    for color in (BLACK, WHITE):
        assert reduced.king_square(color) == position.king_square(color)
