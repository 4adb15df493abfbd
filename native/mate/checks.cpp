#include "mate/checks.hpp"

#include "shogi/movegen.hpp"

namespace fukayomi {

namespace {

using Origins = std::array<std::array<std::array<Bitboard, SQUARES>, STEPPERS.size()>, 2>;  // [our colour][type][their king]

struct Steppers {
    Steppers();
    Origins checking{};  // from which a stepper's move, promoting or not, may attack a king
    Origins guarding{};  // from which it attacks a square beside a king
};

Steppers::Steppers() {
    const Bitboard nothing;
    for (const Color us : {BLACK, WHITE})
        for (std::size_t i = 0; i < STEPPERS.size(); ++i)
            for (Square start = 0; start < SQUARES; ++start)
                attacks(us, STEPPERS[i], start, nothing).for_each([&](Square to) {
                    const Bitboard camp = far_ranks(us, 3);
                    Bitboard kings = attacks(us, STEPPERS[i], to, nothing);
                    if (STEPPERS[i] != GOLD && (camp.has(start) || camp.has(to))) kings |= gold_attacks(us, to);
                    const auto mark = [&](Origins& of) {
                        return [&of, us, i, start](Square king) { of[us][i][static_cast<std::size_t>(king)].set(start); };
                    };
                    kings.for_each(mark(checking));
                    king_attacks(to).for_each(mark(guarding));
                });
}

const Steppers& steppers() {
    static const Steppers tables;
    return tables;
}

// Pieces that start from one of these squares.
Bitboard starting(const Board& pos, const Origins& origins, Color us, Square king) {
    const auto& from = origins[us];
    const auto k = static_cast<std::size_t>(king);
    return (from[0][k] & pos.pieces(PAWN)) | (from[1][k] & pos.pieces(LANCE)) | (from[2][k] & pos.pieces(KNIGHT)) |
           (from[3][k] & pos.pieces(SILVER)) | (from[4][k] & pos.golds()) | pos.pieces(BISHOP) | pos.pieces(ROOK) | pos.pieces(HORSE) |
           pos.pieces(DRAGON);
}

class CheckGenerator {
  public:
    CheckGenerator(const Board& pos, MoveList& moves)
        : pos_(pos), moves_(moves), us_(pos.turn()), king_(pos.king(~us_)), own_king_(pos.king(us_)), squares_(pos) {}

    void run() {
        screens_ = squares_.screens();
        if (pos_.is_check()) {
            evasions();
            return;
        }
        pinned_ = pos_.pinned(us_);
        for (Bitboard movers = squares_.movers() | screens_; movers.any();) board_moves(movers.pop());
        drops();
    }

  private:
    // In check there are few moves: those that check are picked.
    void evasions() {
        MoveList all;
        generate_legal(pos_, all);
        for (const Move m : all)
            if (gives_check(m)) moves_.push(m);
    }

    bool gives_check(Move m) const {
        if (m.is_drop()) return squares_.of(m.dropped()).has(m.to());
        const PieceType type = type_of(pos_.piece_on(m.from()));
        return checking(m.is_promotion() ? promote(type) : type, m.from()).has(m.to());
    }

    // Targets from which a piece that comes from `from` and is then of this type attacks the king, or uncovers it.
    Bitboard checking(PieceType type, Square from) const {
        const Bitboard targets = squares_.of(type);
        return screens_.has(from) ? targets | ~line(king_, from) : targets;
    }

    void board_moves(Square from) {
        const PieceType type = type_of(pos_.piece_on(from));
        Bitboard targets = and_not(attacks(us_, type, from, pos_.occupied()), pos_.pieces(us_));
        if (type == KING) {
            king_moves(from, and_not(targets, line(king_, from)));
            return;
        }
        if (pinned_.has(from)) targets &= line(own_king_, from);
        if (can_promote(type)) {
            const Bitboard camp = far_ranks(us_, 3);
            const Bitboard promoting = (camp.has(from) ? targets : targets & camp) & checking(promote(type), from);
            promoting.for_each([&](Square to) { moves_.push(Move::normal(from, to, true)); });
            targets = and_not(targets, far_ranks(us_, dead_ranks(type)));
        }
        (targets & checking(type, from)).for_each([&](Square to) { moves_.push(Move::normal(from, to, false)); });
    }

    void king_moves(Square from, Bitboard targets) {
        const Bitboard others = pos_.occupied() ^ Bitboard::of(from);
        targets.for_each([&](Square to) {
            if (pos_.attackers(~us_, to, others).none()) moves_.push(Move::normal(from, to, false));
        });
    }

    void drops() {
        const Hand hand = pos_.hand(us_);
        if (hand.empty()) return;
        for (const PieceType t : {GOLD, SILVER, ROOK, BISHOP, KNIGHT, LANCE}) {
            if (!hand.has(t)) continue;
            and_not(squares_.of(t), pos_.occupied()).for_each([&](Square to) { moves_.push(Move::drop(t, to)); });
        }
        if (!hand.has(PAWN)) return;
        squares_.of(PAWN).for_each([&](Square to) {  // at most one: two pawns of a file and mates are for is_legal
            if (const Move m = Move::drop(PAWN, to); pos_.is_legal(m)) moves_.push(m);
        });
    }

    const Board& pos_;
    MoveList& moves_;
    const Color us_;
    const Square king_, own_king_;
    const CheckSquares squares_;
    Bitboard screens_, pinned_;
};

}  // namespace

Bitboard CheckSquares::movers() const { return starting(pos_, steppers().checking, us_, king_) & pos_.pieces(us_); }

Bitboard CheckSquares::guards() const { return (starting(pos_, steppers().guarding, us_, king_) | pos_.pieces(KING)) & pos_.pieces(us_); }

Bitboard CheckSquares::screens() const {
    const Bitboard snipers = (((pos_.pieces(BISHOP) | pos_.pieces(HORSE)) & bishop_lines(king_)) |
                              ((pos_.pieces(ROOK) | pos_.pieces(DRAGON)) & rook_lines(king_)) | (pos_.pieces(LANCE) & ahead(~us_, king_))) &
                             pos_.pieces(us_);
    const Bitboard occupied = pos_.occupied();
    Bitboard result;
    snipers.for_each([&](Square s) {
        const Bitboard blockers = between(king_, s) & occupied;
        if (blockers.any() && !blockers.more_than_one()) result |= blockers & pos_.pieces(us_);
    });
    return result;
}

void generate_checks(const Board& pos, MoveList& moves) {
    moves.clear();
    CheckGenerator(pos, moves).run();
}

}  // namespace fukayomi
