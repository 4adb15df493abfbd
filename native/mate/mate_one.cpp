// Mate in one: only checking moves are looked at, and most of them fall to one cheap question: does the king keep a square
// that we do not attack? What passes is played and asked for a legal answer, so the result is exact.
#include "mate/mate_one.hpp"

#include "mate/checks.hpp"
#include "shogi/attacks.hpp"
#include "shogi/movegen.hpp"

namespace fukayomi {

namespace {

class MateInOne {
  public:
    explicit MateInOne(const Board& pos)
        : pos_(pos), us_(pos.turn()), them_(~us_), king_(pos.king(them_)), occupied_(pos.occupied()), squares_(pos) {}

    Move find() {
        if (pos_.is_check()) return answer_check();
        prepare();
        if (drops()) return mate_;
        pinned_ = pos_.pinned(us_);
        return board_moves() || discovered() ? mate_ : Move();
    }

  private:
    // In check there are few moves, so all are tried.
    Move answer_check() {
        MoveList moves;
        generate_legal(pos_, moves);
        for (const Move m : moves)
            if (!(m.is_drop() && m.dropped() == PAWN) && is_mate(m)) return m;
        return Move();
    }

    void prepare() {
        without_king_ = occupied_ ^ Bitboard::of(king_);
        open_ = and_not(king_attacks(king_), pos_.pieces(them_) | attacked_ring());
    }

    // What we attack, as far as the squares beside the king are concerned; the king itself blocks nothing.
    Bitboard attacked_ring() const {
        Bitboard attacked;
        squares_.guards().for_each([&](Square s) { attacked |= attacks(us_, type_of(pos_.piece_on(s)), s, without_king_); });
        return attacked;
    }

    bool is_mate(Move m) {
        Board next = pos_;
        next.do_move(m);
        if (!next.is_check() || has_legal_move(next)) return false;
        mate_ = m;
        return true;
    }

    // A drop takes no guard away, so what the king keeps is exactly what neither we nor the new piece attack; beside the
    // king it must be guarded. From afar it attacks no square beside the king off its own line.
    bool drops() {
        const Hand hand = pos_.hand(us_);
        if (hand.empty()) return false;
        for (const PieceType t : {ROOK, BISHOP, GOLD, SILVER, KNIGHT, LANCE}) {
            if (!hand.has(t)) continue;
            Bitboard squares = and_not(squares_.of(t), occupied_ | open_);
            while (squares.any()) {
                const Square to = squares.pop();
                if (t != KNIGHT && !king_attacks(king_).has(to) && and_not(open_, line(king_, to)).any()) continue;
                const Bitboard flights = and_not(open_, attacks(us_, t, to, without_king_));
                if (flights.none() && is_mate(Move::drop(t, to))) return true;
            }
        }
        return false;
    }

    // Whether our piece, moved to `to`, leaves the king no square beside it. Necessary for mate, not sufficient: squares
    // that only the moved piece guarded, and lines that it closes, are left to the trial.
    bool holds(PieceType t, Square from, Square to, Bitboard occupied) const {
        const Bitboard mover = Bitboard::of(from);
        Bitboard flights = and_not(and_not(open_, attacks(us_, t, to, occupied)), Bitboard::of(to));
        while (flights.any())  // the mover may have opened a line to them
            if (and_not(pos_.attackers(us_, flights.pop(), occupied), mover).none()) return false;
        return !king_attacks(king_).has(to) || and_not(pos_.attackers(us_, to, occupied), mover).any();
    }

    bool try_move(PieceType type, Square from, Square to, bool promotion) {
        const PieceType after = promotion ? promote(type) : type;
        const Bitboard occupied = (without_king_ ^ Bitboard::of(from)) | Bitboard::of(to);
        return holds(after, from, to, occupied) && is_mate(Move::normal(from, to, promotion));
    }

    bool board_moves() {
        Bitboard movers = squares_.movers();
        while (movers.any()) {
            const Square from = movers.pop();
            const PieceType type = type_of(pos_.piece_on(from));
            const Bitboard targets = legal_targets(type, from);
            if (targets.none()) continue;
            if (checks_from(type, from, targets & squares_.of(type), false)) return true;
            if (can_promote(type) && checks_from(type, from, targets & squares_.of(promote(type)), true)) return true;
        }
        return false;
    }

    bool checks_from(PieceType type, Square from, Bitboard targets, bool promotion) {
        if (promotion && !far_ranks(us_, 3).has(from)) targets &= far_ranks(us_, 3);
        while (targets.any())
            if (try_move(type, from, targets.pop(), promotion)) return true;
        return false;
    }

    Bitboard legal_targets(PieceType type, Square from) const {
        Bitboard targets = and_not(attacks(us_, type, from, occupied_), pos_.pieces(us_));
        if (pinned_.has(from)) targets &= line(pos_.king(us_), from);
        return targets;
    }

    // Moves of a piece that stands between one of our sliders and the king, off that line.
    bool discovered() {
        Bitboard blockers = squares_.screens();
        while (blockers.any()) {
            const Square from = blockers.pop();
            const PieceType type = type_of(pos_.piece_on(from));
            Bitboard targets = and_not(legal_targets(type, from), line(king_, from));
            while (targets.any())
                if (try_discovery(type, from, targets.pop())) return true;
        }
        return false;
    }

    bool try_discovery(PieceType type, Square from, Square to) {
        if (type == KING) {
            const Bitboard occupied = (occupied_ ^ Bitboard::of(from)) | Bitboard::of(to);
            return pos_.attackers(them_, to, occupied).none() && try_move(type, from, to, false);
        }
        const Bitboard camp = far_ranks(us_, 3);
        if (can_promote(type) && (camp.has(from) || camp.has(to)) && try_move(type, from, to, true)) return true;
        return !far_ranks(us_, dead_ranks(type)).has(to) && try_move(type, from, to, false);
    }

    const Board& pos_;
    const Color us_, them_;
    const Square king_;
    const Bitboard occupied_;
    const CheckSquares squares_;
    Bitboard without_king_;
    Bitboard open_;  // squares beside the king that none of our pieces attacks
    Bitboard pinned_;
    Move mate_;
};

}  // namespace

Move find_mate_in_one(const Board& pos) { return pos.king(~pos.turn()) == NO_SQUARE ? Move() : MateInOne(pos).find(); }

}  // namespace fukayomi
