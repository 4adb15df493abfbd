// Moves that give check, found from the enemy king's side: only squares from which a piece attacks it are looked at.
#pragma once

#include "shogi/attacks.hpp"
#include "shogi/board.hpp"

namespace fukayomi {

constexpr std::array<PieceType, 5> STEPPERS = {PAWN, LANCE, KNIGHT, SILVER, GOLD};  // GOLD: all that move like one

// Where pieces of the side to move attack the enemy king, which must be on the board.
class CheckSquares {
  public:
    explicit CheckSquares(const Board& pos)
        : pos_(pos), us_(pos.turn()), king_(pos.king(~us_)), bishop_(bishop_attacks(king_, pos.occupied())),
          rook_(rook_attacks(king_, pos.occupied())) {}

    // Squares from which our piece of this type attacks the king.
    Bitboard of(PieceType t) const {
        switch (t) {
            case PAWN: return pawn_attacks(~us_, king_);
            case LANCE: return rook_ & ahead(~us_, king_);
            case KNIGHT: return knight_attacks(~us_, king_);
            case SILVER: return silver_attacks(~us_, king_);
            case BISHOP: return bishop_;
            case ROOK: return rook_;
            case KING: return {};
            case HORSE: return bishop_ | king_attacks(king_);
            case DRAGON: return rook_ | king_attacks(king_);
            default: return gold_attacks(~us_, king_);
        }
    }

    // Our pieces from whose squares a move, promoting or not, may attack the king.
    Bitboard movers() const;
    // Our pieces that may attack a square beside the king.
    Bitboard guards() const;
    // Our pieces that alone stand between one of our sliders and the king: off that line they uncover a check.
    Bitboard screens() const;

  private:
    const Board& pos_;
    const Color us_;
    const Square king_;
    const Bitboard bishop_, rook_;
};

// Every legal move that gives check, useless non-promotions included. The enemy king must be on the board.
void generate_checks(const Board& pos, MoveList& moves);

}  // namespace fukayomi
