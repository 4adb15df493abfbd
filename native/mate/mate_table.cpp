#include "mate/mate_table.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace fukayomi {

namespace {

constexpr std::size_t FIRST_CLUSTERS = 128;

}  // namespace

void MateTable::Free::operator()(Entry* entries) const { std::free(entries); }

MateTable::MateTable(std::size_t memory_mb) {
    const std::size_t clusters = std::bit_floor((std::max<std::size_t>(memory_mb, 1) << 20) / (sizeof(Entry) * CLUSTER));
    // Zeroed by the system, and only where it is used.
    entries_.reset(static_cast<Entry*>(std::calloc(clusters * CLUSTER, sizeof(Entry))));
    if (entries_ == nullptr) throw std::bad_alloc();
    mask_ = clusters - 1;
    clear();
}

void MateTable::clear() {
    if (generation_ == std::numeric_limits<std::uint16_t>::max()) {
        std::memset(static_cast<void*>(entries_.get()), 0, (mask_ + 1) * CLUSTER * sizeof(Entry));
        generation_ = 0;
    }
    ++generation_;
    used_mask_ = std::min(FIRST_CLUSTERS - 1, mask_);
    entry_count_ = 0;
}

// Doubles the part in use: of each cluster's entries about one half moves to the cluster that far behind it.
void MateTable::grow() {
    const std::size_t clusters = used_mask_ + 1;
    used_mask_ = 2 * clusters - 1;
    for (std::size_t c = 0; c < clusters; ++c) {
        Entry* const from = entries_.get() + c * CLUSTER;
        Entry* const to = from + clusters * CLUSTER;
        std::size_t kept = 0, moved = 0;
        for (std::size_t i = 0; i < CLUSTER && is_live(from[i]); ++i) {
            if (cluster(from[i].board_key) == to)
                to[moved++] = from[i];
            else
                from[kept++] = from[i];
        }
        for (std::size_t i = kept; i < kept + moved; ++i) from[i].generation = 0;
    }
}

bool MateTable::look_up(std::uint64_t board_key, Hand hand, int left, MateValue& value) const {
    const Entry* const first = cluster(board_key);
    bool found = false;
    for (const Entry* e = first; e != first + CLUSTER && is_live(*e); ++e) {
        if (e->board_key != board_key) continue;
        if (e->pn == 0) {
            if (e->plies > left || !hand.covers(e->hand)) continue;
        } else if (e->dn == 0) {
            if (e->plies < left || !e->hand.covers(hand)) continue;
        } else {
            if (!(e->hand == hand)) continue;
            value = {e->pn, e->dn, 0, hand};
            found = true;
            continue;
        }
        value = {e->pn, e->dn, e->plies, e->hand};
        return true;
    }
    return found;
}

Move MateTable::proven_move(std::uint64_t board_key, Hand hand, int left) const {
    const Entry* const first = cluster(board_key);
    Move move;
    int best = left;
    for (const Entry* e = first; e != first + CLUSTER && is_live(*e); ++e) {
        if (e->board_key != board_key || e->pn != 0 || e->plies > best || !hand.covers(e->hand)) continue;
        move = e->move;
        best = e->plies - 1;
    }
    return move;
}

void MateTable::store(std::uint64_t board_key, Hand hand, const MateValue& value, Move move, std::uint32_t work) {
    Entry& entry = place(board_key, hand);
    if (!is_live(entry) && ++entry_count_ * 4 > (used_mask_ + 1) * CLUSTER && used_mask_ < mask_) {
        grow();
        return store(board_key, hand, value, move, work);
    }
    entry = {board_key, value.is_final() ? value.hand : hand, value.pn, value.dn, work, value.plies, generation_, move};
}

// Where to write: over the estimate of the same position, or a free entry, or the one with the least work behind it.
MateTable::Entry& MateTable::place(std::uint64_t board_key, Hand hand) {
    Entry* const first = cluster(board_key);
    Entry* least = first;
    for (Entry* e = first; e != first + CLUSTER; ++e) {
        if (!is_live(*e)) return *e;
        if (e->board_key == board_key && e->pn != 0 && e->dn != 0 && e->hand == hand) return *e;
        if (e->work < least->work) least = e;
    }
    return *least;
}

}  // namespace fukayomi
