#include "shogi/movegen.hpp"

#include "shogi/attacks.hpp"

namespace fukayomi {

namespace {

// Sinks take what the generator finds: one writes the moves, one only counts them, which is what perft's last ply needs,
// one stops at the first, and one at the first that fails a test.
class Writer {
  public:
    explicit Writer(MoveList& moves) : moves_(moves) {}
    void moves(Square from, Bitboard targets, bool promotion) {
        targets.for_each([&](Square to) { moves_.push(Move::normal(from, to, promotion)); });
    }
    void pawn_moves(Bitboard targets, int back, bool promotion) {
        targets.for_each([&](Square to) { moves_.push(Move::normal(to + back, to, promotion)); });
    }
    void drops(PieceType t, Bitboard targets) {
        targets.for_each([&](Square to) { moves_.push(Move::drop(t, to)); });
    }
    static constexpr bool done() { return false; }

  private:
    MoveList& moves_;
};

class Counter {
  public:
    void moves(Square, Bitboard targets, bool) { count_ += targets.count(); }
    void pawn_moves(Bitboard targets, int, bool) { count_ += targets.count(); }
    void drops(PieceType, Bitboard targets) { count_ += targets.count(); }
    static constexpr bool done() { return false; }
    int count() const { return count_; }

  private:
    int count_ = 0;
};

class Finder {
  public:
    void moves(Square, Bitboard targets, bool) { found_ |= targets.any(); }
    void pawn_moves(Bitboard targets, int, bool) { found_ |= targets.any(); }
    void drops(PieceType, Bitboard targets) { found_ |= targets.any(); }
    bool done() const { return found_; }

  private:
    bool found_ = false;
};

class Tester {
  public:
    explicit Tester(MoveTest& test) : test_(test) {}
    void moves(Square from, Bitboard targets, bool promotion) {
        while (passed_ && targets.any()) passed_ = test_.passes(Move::normal(from, targets.pop(), promotion));
    }
    void pawn_moves(Bitboard targets, int back, bool promotion) {
        while (passed_ && targets.any()) {
            const Square to = targets.pop();
            passed_ = test_.passes(Move::normal(to + back, to, promotion));
        }
    }
    void drops(PieceType t, Bitboard targets) {
        while (passed_ && targets.any()) passed_ = test_.passes(Move::drop(t, targets.pop()));
    }
    bool done() const { return !passed_; }

  private:
    MoveTest& test_;
    bool passed_ = true;
};

// Files on which the side has a pawn (歩). One pawn a file at most, so a file's nine bits are zero or a power of two, and
// adding 255 carries into bit 8 exactly when they are not zero.
Bitboard pawn_files(Bitboard pawns) {
    const auto fill = [](std::uint64_t word, std::uint64_t ones) {
        const std::uint64_t has_pawn = ((word + ones * 0xFF) >> 8) & ones;
        return (has_pawn << 9) - has_pawn;
    };
    return {fill(pawns.low(), rank_mask(0).low()), fill(pawns.high(), rank_mask(0).high())};
}

// Whether a pawn of the side to move, dropped on `square` in front of the enemy king, would be mate (打ち歩詰め).
bool is_pawn_drop_mate(const Board& pos, Square square) {
    const Color us = pos.turn();
    const Color them = ~us;
    const Square king = pos.king(them);
    const Bitboard occupied = pos.occupied() | Bitboard::of(square);
    Bitboard defenders = and_not(pos.attackers(them, square, occupied), Bitboard::of(king));
    if (defenders.any()) {
        // A pinned piece may take the pawn only along its pin. The new pawn blocks no slider of ours that pins along the
        // king's file from this side, so the pins are those of the position before the drop, or fewer.
        const Bitboard pins = pos.pinned(them);
        while (defenders.any()) {
            const Square from = defenders.pop();
            if (!pins.has(from) || line(king, from).has(square)) return false;
        }
    }
    Bitboard escapes = and_not(king_attacks(king), pos.pieces(them));
    const Bitboard without_king = occupied ^ Bitboard::of(king);
    while (escapes.any())
        if (pos.attackers(us, escapes.pop(), without_king).none()) return false;
    return true;
}

template <bool ALL, class Sink>
class Generator {
  public:
    Generator(const Board& pos, Sink& sink)
        : pos_(pos), sink_(sink), us_(pos.turn()), occupied_(pos.occupied()), camp_(far_ranks(us_, 3)), last_rank_(far_ranks(us_, 1)),
          last_two_(far_ranks(us_, 2)) {}

    void run() {
        const Square king = pos_.king(us_);
        const Bitboard checkers = pos_.checkers();
        if (king != NO_SQUARE) king_moves(king);
        if (checkers.more_than_one() || sink_.done()) return;
        Bitboard targets = ~pos_.pieces(us_);
        Bitboard empty = ~occupied_;
        if (checkers.any()) {
            const Bitboard blocking = between(king, checkers.first());
            targets = blocking | checkers;
            empty = blocking;
        }
        pinned_ = pos_.pinned(us_);
        board_moves(king, targets);
        if (!pos_.hand(us_).empty() && !sink_.done()) drops(empty);
    }

  private:
    void king_moves(Square king) {
        const Bitboard without_king = occupied_ ^ Bitboard::of(king);
        for (Bitboard targets = and_not(king_attacks(king), pos_.pieces(us_)); targets.any() && !sink_.done();) {
            const Square to = targets.pop();
            if (pos_.attackers(~us_, to, without_king).none()) sink_.moves(king, Bitboard::of(to), false);
        }
    }

    void board_moves(Square king, Bitboard targets) {
        pawn_moves(king, targets);
        const auto reach = [&](Square from, Bitboard attacked) {
            attacked &= targets;
            return pinned_.has(from) ? attacked & line(king, from) : attacked;
        };
        pos_.pieces(us_, LANCE).for_each([&](Square from) {
            const Bitboard to = reach(from, lance_attacks(us_, from, occupied_));
            promoting(from, to & camp_, and_not(to, ALL ? last_rank_ : last_two_));
        });
        pos_.pieces(us_, KNIGHT).for_each([&](Square from) {
            const Bitboard to = reach(from, knight_attacks(us_, from));
            promoting(from, to & camp_, and_not(to, last_two_));
        });
        pos_.pieces(us_, SILVER).for_each([&](Square from) {
            const Bitboard to = reach(from, silver_attacks(us_, from));
            promoting(from, camp_.has(from) ? to : to & camp_, to);
        });
        (pos_.golds() & pos_.pieces(us_)).for_each([&](Square from) { sink_.moves(from, reach(from, gold_attacks(us_, from)), false); });
        pos_.pieces(us_, BISHOP).for_each([&](Square from) { bishop_or_rook(from, reach(from, bishop_attacks(from, occupied_))); });
        pos_.pieces(us_, ROOK).for_each([&](Square from) { bishop_or_rook(from, reach(from, rook_attacks(from, occupied_))); });
        pos_.pieces(us_, HORSE).for_each([&](Square from) { sink_.moves(from, reach(from, horse_attacks(from, occupied_)), false); });
        pos_.pieces(us_, DRAGON).for_each([&](Square from) { sink_.moves(from, reach(from, dragon_attacks(from, occupied_)), false); });
    }

    void pawn_moves(Square king, Bitboard targets) {
        Bitboard pawns = pos_.pieces(us_, PAWN);
        // A pinned pawn may move only if the pin runs along its file.
        (pawns & pinned_).for_each([&](Square s) {
            if (file_of(s) != file_of(king)) pawns.toggle(s);
        });
        const int back = us_ == BLACK ? 1 : -1;
        const Bitboard ahead_of =
            us_ == BLACK ? Bitboard(pawns.low() >> 1, pawns.high() >> 1) : Bitboard(pawns.low() << 1, pawns.high() << 1);
        const Bitboard to = ahead_of & targets;
        sink_.pawn_moves(to & camp_, back, true);
        sink_.pawn_moves(and_not(to, ALL ? last_rank_ : camp_), back, false);
    }

    void bishop_or_rook(Square from, Bitboard to) {
        const Bitboard promotions = camp_.has(from) ? to : to & camp_;
        promoting(from, promotions, ALL ? to : and_not(to, promotions));
    }

    void promoting(Square from, Bitboard promotions, Bitboard others) {
        sink_.moves(from, promotions, true);
        sink_.moves(from, others, false);
    }

    void drops(Bitboard empty) {
        const Hand hand = pos_.hand(us_);
        if (hand.has(PAWN)) pawn_drops(empty);
        const Bitboard not_last = and_not(empty, last_rank_);
        if (hand.has(LANCE)) sink_.drops(LANCE, not_last);
        if (hand.has(KNIGHT)) sink_.drops(KNIGHT, and_not(empty, last_two_));
        for (const PieceType t : {SILVER, GOLD, BISHOP, ROOK})
            if (hand.has(t)) sink_.drops(t, empty);
    }

    void pawn_drops(Bitboard empty) {
        Bitboard to = and_not(and_not(empty, last_rank_), pawn_files(pos_.pieces(us_, PAWN)));
        const Square enemy_king = pos_.king(~us_);
        if (enemy_king != NO_SQUARE) {
            const Bitboard checking = pawn_attacks(~us_, enemy_king) & to;
            if (checking.any() && is_pawn_drop_mate(pos_, checking.first())) to ^= checking;
        }
        sink_.drops(PAWN, to);
    }

    const Board& pos_;
    Sink& sink_;
    const Color us_;
    const Bitboard occupied_;
    const Bitboard camp_, last_rank_, last_two_;
    Bitboard pinned_;
};

// Whether a move of a piece other than the king leaves the king alone. The move is legal in all else.
bool keeps_king_safe(const Board& pos, Move m) {
    const Square king = pos.king(pos.turn());
    const Bitboard checkers = pos.checkers();
    if (checkers.any()) {
        if (checkers.more_than_one()) return false;
        if (!checkers.has(m.to()) && !between(king, checkers.first()).has(m.to())) return false;
    }
    if (m.is_drop() || king == NO_SQUARE || line(king, m.from()).none()) return true;
    return !pos.pinned(pos.turn()).has(m.from()) || line(king, m.from()).has(m.to());
}

bool is_legal_drop(const Board& pos, Move m) {
    const Color us = pos.turn();
    const PieceType type = m.dropped();
    if (type > GOLD || m.is_promotion() || !pos.hand(us).has(type) || pos.occupied().has(m.to())) return false;
    if (far_ranks(us, dead_ranks(type)).has(m.to()) || !keeps_king_safe(pos, m)) return false;
    if (type != PAWN) return true;
    if ((pos.pieces(us, PAWN) & file_mask(file_of(m.to()))).any()) return false;
    const Square enemy_king = pos.king(~us);
    const bool checks = enemy_king != NO_SQUARE && pawn_attacks(us, m.to()).has(enemy_king);
    return !checks || !is_pawn_drop_mate(pos, m.to());
}

bool is_legal_board_move(const Board& pos, Move m) {
    const Color us = pos.turn();
    const Piece piece = pos.piece_on(m.from());
    const PieceType type = type_of(piece);
    if (piece == NO_PIECE || color_of(piece) != us || pos.pieces(us).has(m.to())) return false;
    if (!attacks(us, type, m.from(), pos.occupied()).has(m.to())) return false;
    if (m.is_promotion()) {
        const Bitboard camp = far_ranks(us, 3);
        if (!can_promote(type) || (!camp.has(m.from()) && !camp.has(m.to()))) return false;
    } else if (far_ranks(us, dead_ranks(type)).has(m.to())) {
        return false;
    }
    if (type != KING) return keeps_king_safe(pos, m);
    return pos.attackers(~us, m.to(), pos.occupied() ^ Bitboard::of(m.from())).none();
}

}  // namespace

bool Board::is_legal(Move m) const {
    constexpr unsigned MOVE_BITS = 15;
    if (m.to() >= SQUARES || (m.raw() >> MOVE_BITS) != 0) return false;
    return m.is_drop() ? is_legal_drop(*this, m) : is_legal_board_move(*this, m);
}

void generate_legal(const Board& pos, MoveList& moves) {
    moves.clear();
    Writer writer(moves);
    Generator<true, Writer>(pos, writer).run();
}

void generate_useful(const Board& pos, MoveList& moves) {
    moves.clear();
    Writer writer(moves);
    Generator<false, Writer>(pos, writer).run();
}

int count_legal(const Board& pos) {
    Counter counter;
    Generator<true, Counter>(pos, counter).run();
    return counter.count();
}

bool has_legal_move(const Board& pos) {
    Finder finder;
    Generator<true, Finder>(pos, finder).run();
    return finder.done();
}

bool all_legal_pass(const Board& pos, MoveTest& test) {
    Tester tester(test);
    Generator<true, Tester>(pos, tester).run();
    return !tester.done();
}

std::uint64_t perft(Board& pos, int depth) {
    if (depth <= 0) return 1;
    if (depth == 1) return static_cast<std::uint64_t>(count_legal(pos));
    MoveList moves;
    generate_legal(pos, moves);
    std::uint64_t nodes = 0;
    for (const Move m : moves) {
        Undo undo;
        pos.do_move(m, undo);
        nodes += perft(pos, depth - 1);
        pos.undo_move(undo);
    }
    return nodes;
}

}  // namespace fukayomi
