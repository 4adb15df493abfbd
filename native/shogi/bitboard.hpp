// 81 squares in two words: files 1 to 7 in the low one, files 8 and 9 in the high one, so that no file straddles them.
#pragma once

#include <bit>
#include <cstdint>

#include "shogi/types.hpp"

namespace fukayomi {

class Bitboard {
  public:
    constexpr Bitboard() = default;
    constexpr Bitboard(std::uint64_t low, std::uint64_t high) : low_(low), high_(high) {}
    static constexpr Bitboard of(Square s) { return s < 63 ? Bitboard(1ULL << s, 0) : Bitboard(0, 1ULL << (s - 63)); }
    static constexpr Bitboard all() { return Bitboard((1ULL << 63) - 1, (1ULL << 18) - 1); }

    constexpr std::uint64_t low() const { return low_; }
    constexpr std::uint64_t high() const { return high_; }
    constexpr bool any() const { return (low_ | high_) != 0; }
    constexpr bool none() const { return (low_ | high_) == 0; }
    constexpr bool has(Square s) const { return s < 63 ? ((low_ >> s) & 1) != 0 : ((high_ >> (s - 63)) & 1) != 0; }
    constexpr bool more_than_one() const { return low_ != 0 ? ((low_ & (low_ - 1)) | high_) != 0 : (high_ & (high_ - 1)) != 0; }
    constexpr int count() const { return std::popcount(low_) + std::popcount(high_); }
    constexpr Square first() const {  // the board must not be empty
        return low_ != 0 ? std::countr_zero(low_) : 63 + std::countr_zero(high_);
    }
    constexpr Square pop() {
        const Square s = first();
        if (low_ != 0)
            low_ &= low_ - 1;
        else
            high_ &= high_ - 1;
        return s;
    }
    constexpr void set(Square s) { *this |= of(s); }
    constexpr void toggle(Square s) { *this ^= of(s); }

    // Calls f(square) for each square, in ascending order.
    template <class F>
    constexpr void for_each(F&& f) const {
        for (std::uint64_t b = low_; b != 0; b &= b - 1) f(std::countr_zero(b));
        for (std::uint64_t b = high_; b != 0; b &= b - 1) f(63 + std::countr_zero(b));
    }

    friend constexpr Bitboard operator&(Bitboard a, Bitboard b) { return {a.low_ & b.low_, a.high_ & b.high_}; }
    friend constexpr Bitboard operator|(Bitboard a, Bitboard b) { return {a.low_ | b.low_, a.high_ | b.high_}; }
    friend constexpr Bitboard operator^(Bitboard a, Bitboard b) { return {a.low_ ^ b.low_, a.high_ ^ b.high_}; }
    friend constexpr Bitboard and_not(Bitboard a, Bitboard b) { return {a.low_ & ~b.low_, a.high_ & ~b.high_}; }
    constexpr Bitboard operator~() const { return and_not(all(), *this); }
    constexpr Bitboard& operator&=(Bitboard b) { return *this = *this & b; }
    constexpr Bitboard& operator|=(Bitboard b) { return *this = *this | b; }
    constexpr Bitboard& operator^=(Bitboard b) { return *this = *this ^ b; }
    friend constexpr bool operator==(Bitboard a, Bitboard b) { return a.low_ == b.low_ && a.high_ == b.high_; }

  private:
    std::uint64_t low_ = 0;
    std::uint64_t high_ = 0;
};

constexpr Bitboard rank_mask(int rank) {  // rank from 0
    return {0x0040201008040201ULL << rank, 0x201ULL << rank};
}
constexpr Bitboard file_mask(int file) {  // file from 0
    return file < 7 ? Bitboard(0x1FFULL << (9 * file), 0) : Bitboard(0, 0x1FFULL << (9 * (file - 7)));
}
// The first `ranks` ranks at the far end, as the given side sees it; three of them are the enemy's camp.
constexpr Bitboard far_ranks(Color c, int ranks) {
    Bitboard b;
    for (int r = 0; r < ranks; ++r) b |= rank_mask(c == BLACK ? r : 8 - r);
    return b;
}

}  // namespace fukayomi
