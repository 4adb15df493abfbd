// Attack sets of single pieces.
//
// Sliders: the occupancy of a line of nine squares becomes nine bits in a row (a file already is one; ranks and diagonals
// are gathered by one multiplication, because squares of a line lie 9, 10 or 8 apart), a table says how far the piece
// reaches on nine squares, and the answer is spread back over the line. No PEXT, no magic search; the tables are 34 KiB.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "shogi/bitboard.hpp"

namespace fukayomi {

namespace detail {

struct Diagonal {
    Bitboard mask;               // the whole diagonal through a square, that square included
    std::uint8_t low_rotation;   // brings its squares on files 1 to 7 to multiples of 10 (or 8)
    std::uint8_t high_rotation;  // brings its square on file 8 to bit 0
};

struct AttackTables {
    AttackTables();
    std::array<std::array<Bitboard, SQUARES>, 2> pawn{}, knight{}, silver{}, gold{};
    std::array<Bitboard, SQUARES> king{};
    std::array<std::array<std::uint16_t, 512>, 9> reach{};  // [own place on the line][occupancy] -> squares reached
    std::array<Bitboard, 512> files{};                      // all squares of the files in the set
    std::array<Diagonal, SQUARES> falling{};                // rank - file is constant: squares lie 10 apart
    std::array<Diagonal, SQUARES> rising{};                 // rank + file is constant: squares lie 8 apart
    std::array<std::array<Bitboard, SQUARES>, SQUARES> between{}, line{};
};
extern const AttackTables ATTACKS;

// Each factor sends bit stride * k to bit 56 + k, for k = 0 to 6, without a carry into bits 56 to 62.
inline constexpr std::uint64_t gather_factor(int stride) {
    std::uint64_t factor = 0;
    for (int k = 0; k < 7; ++k) factor |= 1ULL << (56 + k - stride * k);
    return factor;
}

template <int STRIDE>
inline unsigned gather(std::uint64_t low, std::uint64_t high) {
    constexpr std::uint64_t FACTOR = gather_factor(STRIDE);
    const auto first_seven = static_cast<unsigned>((low * FACTOR) >> 56) & 127U;
    const auto last_two = static_cast<unsigned>(high | (high >> (STRIDE - 1))) & 3U;
    return first_seven | (last_two << 7);
}

template <int STRIDE>
inline Bitboard diagonal_attacks(const Diagonal& d, Square s, Bitboard occupied) {
    const Bitboard on_line = occupied & d.mask;
    const unsigned o = gather<STRIDE>(std::rotr(on_line.low(), d.low_rotation), std::rotr(on_line.high(), d.high_rotation));
    return ATTACKS.files[ATTACKS.reach[static_cast<std::size_t>(file_of(s))][o]] & d.mask;
}

inline unsigned file_occupancy(Square s, Bitboard occupied) {
    const int f = file_of(s);
    return static_cast<unsigned>(f < 7 ? occupied.low() >> (9 * f) : occupied.high() >> (9 * (f - 7))) & 511U;
}

inline Bitboard on_file(Square s, std::uint64_t nine) {
    const int f = file_of(s);
    return f < 7 ? Bitboard(nine << (9 * f), 0) : Bitboard(0, nine << (9 * (f - 7)));
}

inline unsigned file_reach(Square s, Bitboard occupied) {
    return ATTACKS.reach[static_cast<std::size_t>(rank_of(s))][file_occupancy(s, occupied)];
}

}  // namespace detail

inline Bitboard pawn_attacks(Color c, Square s) { return detail::ATTACKS.pawn[c][static_cast<std::size_t>(s)]; }
inline Bitboard knight_attacks(Color c, Square s) { return detail::ATTACKS.knight[c][static_cast<std::size_t>(s)]; }
inline Bitboard silver_attacks(Color c, Square s) { return detail::ATTACKS.silver[c][static_cast<std::size_t>(s)]; }
inline Bitboard gold_attacks(Color c, Square s) { return detail::ATTACKS.gold[c][static_cast<std::size_t>(s)]; }
inline Bitboard king_attacks(Square s) { return detail::ATTACKS.king[static_cast<std::size_t>(s)]; }

// The squares ahead of `s` on its file, as the given side sees it.
inline Bitboard ahead(Color c, Square s) {
    const int r = rank_of(s);
    return detail::on_file(s, c == BLACK ? (1ULL << r) - 1 : 511ULL & ~((2ULL << r) - 1));
}

inline Bitboard lance_attacks(Color c, Square s, Bitboard occupied) {
    return detail::on_file(s, detail::file_reach(s, occupied)) & ahead(c, s);
}

inline Bitboard bishop_attacks(Square s, Bitboard occupied) {
    const auto i = static_cast<std::size_t>(s);
    return detail::diagonal_attacks<10>(detail::ATTACKS.falling[i], s, occupied) |
           detail::diagonal_attacks<8>(detail::ATTACKS.rising[i], s, occupied);
}

inline Bitboard rook_attacks(Square s, Bitboard occupied) {
    const int r = rank_of(s);
    const unsigned o = detail::gather<9>((occupied.low() >> r) & rank_mask(0).low(), (occupied.high() >> r) & 0x201);
    const Bitboard along_rank = detail::ATTACKS.files[detail::ATTACKS.reach[static_cast<std::size_t>(file_of(s))][o]];
    return (along_rank & rank_mask(r)) | detail::on_file(s, detail::file_reach(s, occupied));
}

inline Bitboard horse_attacks(Square s, Bitboard occupied) { return bishop_attacks(s, occupied) | king_attacks(s); }
inline Bitboard dragon_attacks(Square s, Bitboard occupied) { return rook_attacks(s, occupied) | king_attacks(s); }

// Where a slider could attack from (or to) over an empty board, the square itself included.
inline Bitboard bishop_lines(Square s) {
    const auto i = static_cast<std::size_t>(s);
    return detail::ATTACKS.falling[i].mask | detail::ATTACKS.rising[i].mask;
}
inline Bitboard rook_lines(Square s) { return rank_mask(rank_of(s)) | file_mask(file_of(s)); }

inline Bitboard attacks(Color c, PieceType t, Square s, Bitboard occupied) {
    switch (t) {
        case PAWN: return pawn_attacks(c, s);
        case LANCE: return lance_attacks(c, s, occupied);
        case KNIGHT: return knight_attacks(c, s);
        case SILVER: return silver_attacks(c, s);
        case BISHOP: return bishop_attacks(s, occupied);
        case ROOK: return rook_attacks(s, occupied);
        case KING: return king_attacks(s);
        case HORSE: return horse_attacks(s, occupied);
        case DRAGON: return dragon_attacks(s, occupied);
        case NO_PIECE_TYPE: return {};
        default: return gold_attacks(c, s);
    }
}

// Squares strictly between two squares on one line; empty if they share none.
inline Bitboard between(Square a, Square b) { return detail::ATTACKS.between[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]; }
// The whole line through two squares; empty if they share none.
inline Bitboard line(Square a, Square b) { return detail::ATTACKS.line[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]; }

}  // namespace fukayomi
