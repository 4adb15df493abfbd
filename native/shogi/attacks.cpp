#include "shogi/attacks.hpp"

#include <initializer_list>
#include <utility>

namespace fukayomi::detail {

namespace {

using Steps = std::initializer_list<std::pair<int, int>>;  // (file, rank) as Black moves: rank -1 is ahead

Bitboard step(Color c, Square s, Steps steps) {
    Bitboard b;
    for (const auto& [df, dr] : steps) {
        const int f = file_of(s) + (c == BLACK ? df : -df);
        const int r = rank_of(s) + (c == BLACK ? dr : -dr);
        if (f >= 0 && f < 9 && r >= 0 && r < 9) b.set(make_square(f, r));
    }
    return b;
}

std::uint16_t reach_on_line(int place, unsigned occupied) {
    unsigned reached = 0;
    for (int i = place + 1; i < 9; ++i) {
        reached |= 1U << i;
        if ((occupied >> i) & 1U) break;
    }
    for (int i = place - 1; i >= 0; --i) {
        reached |= 1U << i;
        if ((occupied >> i) & 1U) break;
    }
    return static_cast<std::uint16_t>(reached);
}

Diagonal make_diagonal(Square s, int direction) {
    Diagonal d{};
    const int constant = rank_of(s) - direction * file_of(s);
    for (int f = 0; f < 9; ++f) {
        const int r = constant + direction * f;
        if (r >= 0 && r < 9) d.mask.set(make_square(f, r));
    }
    d.low_rotation = static_cast<std::uint8_t>(constant & 63);
    d.high_rotation = static_cast<std::uint8_t>((constant + direction * 7) & 63);
    return d;
}

void fill_lines(AttackTables& t, Square a) {
    for (int df = -1; df <= 1; ++df) {
        for (int dr = -1; dr <= 1; ++dr) {
            if (df == 0 && dr == 0) continue;
            const auto inside = [](int f, int r) { return f >= 0 && f < 9 && r >= 0 && r < 9; };
            Bitboard whole = Bitboard::of(a);
            for (const int sign : {1, -1})
                for (int f = file_of(a) + sign * df, r = rank_of(a) + sign * dr; inside(f, r); f += sign * df, r += sign * dr)
                    whole.set(make_square(f, r));
            Bitboard passed;
            for (int f = file_of(a) + df, r = rank_of(a) + dr; inside(f, r); f += df, r += dr) {
                const Square b = make_square(f, r);
                t.between[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = passed;
                t.line[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = whole;
                passed.set(b);
            }
        }
    }
}

}  // namespace

AttackTables::AttackTables() {
    for (Square s = 0; s < SQUARES; ++s) {
        const auto i = static_cast<std::size_t>(s);
        for (const Color c : {BLACK, WHITE}) {
            pawn[c][i] = step(c, s, {{0, -1}});
            knight[c][i] = step(c, s, {{-1, -2}, {1, -2}});
            silver[c][i] = step(c, s, {{-1, -1}, {0, -1}, {1, -1}, {-1, 1}, {1, 1}});
            gold[c][i] = step(c, s, {{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {1, 0}, {0, 1}});
        }
        king[i] = step(BLACK, s, {{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}});
        falling[i] = make_diagonal(s, 1);
        rising[i] = make_diagonal(s, -1);
        fill_lines(*this, s);
    }
    for (unsigned set = 0; set < 512; ++set) {
        for (int place = 0; place < 9; ++place) reach[static_cast<std::size_t>(place)][set] = reach_on_line(place, set);
        for (int f = 0; f < 9; ++f)
            if ((set >> f) & 1U) files[set] |= file_mask(f);
    }
}

const AttackTables ATTACKS;

}  // namespace fukayomi::detail
