// What a mate search knows of positions. The side that attacks is the same in all of them, so a board and the attacker's
// hand are a whole position: the defender has the rest.
//
// A proof holds for every greater hand, a disproof for every lesser one. So a proof is stored with the least hand that it
// needs, a disproof with the greatest that it refutes (証明駒, 反証駒; Seo, Iida, Uiterwijk, "The PN*-search algorithm:
// Application to tsume-shogi", 2001).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "shogi/types.hpp"

namespace fukayomi {

constexpr std::uint32_t PN_INFINITE = 1U << 30;
constexpr std::uint32_t PN_LARGEST = PN_INFINITE - 1;  // of what is not decided
constexpr std::uint16_t ANY_PLIES = 0xFFFF;

// What is known of a position.
struct MateValue {
    std::uint32_t pn = 1;
    std::uint32_t dn = 1;
    // A proof: most plies to the mate. A disproof: there is no mate in so many plies.
    std::uint16_t plies = 0;
    Hand hand;  // of a proof or a disproof

    bool is_proof() const { return pn == 0; }
    bool is_disproof() const { return dn == 0; }
    bool is_final() const { return pn == 0 || dn == 0; }
};

class MateTable {
  public:
    // Throws std::bad_alloc.
    explicit MateTable(std::size_t memory_mb);

    void clear();

    // Whether something is known of the position, for a search that goes `left` plies further.
    bool look_up(std::uint64_t board_key, Hand hand, int left, MateValue& value) const;
    // The best move of a proven position, or a null move.
    Move proven_move(std::uint64_t board_key, Hand hand, int left) const;
    void store(std::uint64_t board_key, Hand hand, const MateValue& value, Move move, std::uint32_t work);

  private:
    struct Entry {
        std::uint64_t board_key;
        Hand hand;
        std::uint32_t pn, dn;
        std::uint32_t work;
        std::uint16_t plies;
        std::uint16_t generation;  // 0: never used
        Move move;
    };
    static_assert(sizeof(Entry) == 32);
    static constexpr std::size_t CLUSTER = 16;
    struct Free {
        void operator()(Entry* entries) const;
    };

    Entry* cluster(std::uint64_t board_key) const { return entries_.get() + ((board_key ^ (board_key >> 32)) & used_mask_) * CLUSTER; }
    bool is_live(const Entry& e) const { return e.generation == generation_; }
    Entry& place(std::uint64_t board_key, Hand hand);
    void grow();

    std::unique_ptr<Entry[], Free> entries_;
    std::size_t mask_;       // clusters - 1
    std::size_t used_mask_;  // a small search stays in a small part of the memory, which caches hold
    std::size_t entry_count_ = 0;
    std::uint16_t generation_ = 0;
};

}  // namespace fukayomi
