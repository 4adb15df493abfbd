// Board, hands and side to move, and the moves that lead from one to the next.
//
// Trivially copyable and without a past: a Position (position.hpp) adds the moves that led here, history.hpp repetition.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "shogi/bitboard.hpp"
#include "shogi/types.hpp"

namespace fukayomi {

inline constexpr std::string_view START_SFEN = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";

// What undo_move needs and the move does not say.
struct Undo {
    Move move;
    Piece captured = NO_PIECE;
    PieceType moved = NO_PIECE_TYPE;  // before promotion
    std::uint64_t board_key = 0;
    Bitboard checkers;
};

class Board {
  public:
    Board();  // the start position

    // Throws ParseError (errors.hpp), which quotes the text. Any position that the rules allow, handicaps included; a
    // missing ply number, or 0, reads as 1. Kings may be missing only when allow_missing_king (mate problems) is set.
    static Board from_sfen(std::string_view sfen, bool allow_missing_king = false);
    std::string sfen() const;

    Color turn() const { return turn_; }
    int ply() const { return ply_; }
    void set_ply(int ply) { ply_ = ply; }
    Piece piece_on(Square s) const { return board_[static_cast<std::size_t>(s)]; }
    Hand hand(Color c) const { return hands_[c]; }
    Square king(Color c) const { return kings_[c]; }  // NO_SQUARE if it is missing
    Bitboard occupied() const { return colors_[BLACK] | colors_[WHITE]; }
    Bitboard pieces(Color c) const { return colors_[c]; }
    Bitboard pieces(PieceType t) const { return types_[t]; }
    Bitboard pieces(Color c, PieceType t) const { return colors_[c] & types_[t]; }
    Bitboard golds() const {  // everything that moves like a gold
        return types_[GOLD] | types_[PRO_PAWN] | types_[PRO_LANCE] | types_[PRO_KNIGHT] | types_[PRO_SILVER];
    }

    std::uint64_t key() const;                              // Zobrist: board, side to move, both hands
    std::uint64_t board_key() const { return board_key_; }  // board and side to move, without the hands

    // Pieces of `by` that attack `s` over the given occupancy.
    Bitboard attackers(Color by, Square s, Bitboard occupied) const;
    bool is_attacked(Color by, Square s) const { return attackers(by, s, occupied()).any(); }
    Bitboard checkers() const { return checkers_; }
    bool is_check() const { return checkers_.any(); }
    // Pieces of `c` that may not leave the line between their own king and an enemy slider.
    Bitboard pinned(Color c) const;

    bool is_legal(Move m) const;     // any 16 bits may be asked about
    bool gives_check(Move m) const;  // m must be legal
    bool can_declare_win(DeclarationRule rule) const;
    bool can_declare_draw(DeclarationRule rule) const;  // 24 to 30 points under a 24-point rule
    Move try_move() const;  // the king's move to the square where the enemy's king starts; none if it is not legal

    // m must be legal. The undo record is needed only by those who take the move back.
    void do_move(Move m, Undo& undo);
    void do_move(Move m) {
        Undo undo;
        do_move(m, undo);
    }
    void undo_move(const Undo& undo);

    // For decoders: an empty board, then pieces, then finish() which computes keys and checkers and throws ParseError
    // (two pawns of a side on a file, a piece that can never move, the side not to move in check, ...).
    static Board empty();
    void put(Piece p, Square s);
    void set_hand(Color c, PieceType t, int count);
    void set_turn(Color c) { turn_ = c; }
    void finish(bool allow_missing_king = false);

  private:
    int declared_points(bool with_handicap) const;  // of the side to move; -1: it may not declare
    struct Empty {};
    explicit Board(Empty) {}
    void remove(Piece p, Square s);
    void update_checkers();

    std::array<Bitboard, PIECE_TYPES> types_{};
    std::array<Bitboard, 2> colors_{};
    Bitboard checkers_;
    std::array<Piece, SQUARES> board_{};
    std::array<Hand, 2> hands_{};
    std::array<Square, 2> kings_{NO_SQUARE, NO_SQUARE};
    std::uint64_t board_key_ = 0;
    int ply_ = 1;
    Color turn_ = BLACK;
};

}  // namespace fukayomi
