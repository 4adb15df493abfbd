// A position in 256 bits, as HuffmanCodedPos (hcp; Apery, dlshogi, cshogi) or as packed sfen (psfen; YaneuraOu). No ply,
// no past. packed_code.hpp says what both look like.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "shogi/board.hpp"

namespace fukayomi {

constexpr std::size_t HCP_BYTES = 32;
using Hcp = std::array<std::uint8_t, HCP_BYTES>;
using HcpView = std::span<const std::uint8_t, HCP_BYTES>;

// A board as sets of squares, one for each piece, without the keys and the checkers that a Position keeps.
struct PieceSets {
    std::array<Bitboard, 32> pieces;  // by Piece: type + 16 * colour
    std::array<Hand, 2> hands;
    Color turn = BLACK;  // the side to move, whoever sees the sets
    const Bitboard& of(Color c, PieceType t) const { return pieces[make_piece(c, t)]; }
};

// Throws ParseError(PACKED) for a position that has no hcp: a king is missing, or there are too many pieces.
Hcp encode_hcp(const Board& pos);

// Throws ParseError(PACKED). The decoded position has ply 1. It accepts exactly what encode_hcp writes: the two kings
// and the 38 other pieces, on the board, in a hand or set aside (a handicap), in their order.
Board decode_hcp(HcpView bytes);

// The code alone: throws as decode_hcp does, but does not ask whether the rules allow the position. The board comes as
// `viewer` sees it: for WHITE it is rotated, and BLACK in the result means White.
PieceSets read_hcp(HcpView bytes, Color viewer);
inline Color hcp_turn(HcpView bytes) { return static_cast<Color>(bytes[0] & 1); }

// The same in YaneuraOu's code.
Hcp encode_psfen(const Board& pos);
Board decode_psfen(HcpView bytes);

}  // namespace fukayomi
