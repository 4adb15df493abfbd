#include "shogi/history.hpp"

#include <algorithm>
#include <limits>

namespace fukayomi {

namespace {

constexpr std::size_t SHORTEST_CYCLE = 4;  // plies: both sides must move away and back

}  // namespace

void History::push(const Board& pos) {
    Entry entry{pos.board_key(), pos.hand(BLACK), {0, 0}, pos.turn() == BLACK};
    if (!entries_.empty()) {
        const Entry& last = entries_.back();
        const Color mover = ~pos.turn();
        entry.checks[pos.turn()] = last.checks[pos.turn()];
        if (pos.is_check() && last.checks[mover] < std::numeric_limits<std::uint16_t>::max())
            entry.checks[mover] = static_cast<std::uint16_t>(last.checks[mover] + 1);
    }
    entries_.push_back(entry);
}

// A position that came back after `plies`: draw, or a win or loss for the side to move where only one side checked on
// every move of the cycle. (Where both did, no rule names a loser.)
Repetition History::verdict(std::size_t plies) const {
    const Entry& now = entries_.back();
    const Color us = now.black_to_move ? BLACK : WHITE;
    const bool we_checked = 2U * now.checks[us] >= plies;
    const bool they_checked = 2U * now.checks[~us] >= plies;
    if (we_checked == they_checked) return Repetition::DRAW;
    return we_checked ? Repetition::LOSE : Repetition::WIN;
}

Repetition History::fourfold() const {
    const Entry& now = entries_.back();
    int earlier = 0;
    for (std::size_t plies = SHORTEST_CYCLE; plies < entries_.size(); plies += 2) {
        const Entry& then = entries_[entries_.size() - 1 - plies];
        if (then.board_key == now.board_key && then.hand == now.hand && ++earlier == 3) return verdict(plies);
    }
    return Repetition::NONE;
}

int History::occurrences() const {
    const Entry& now = entries_.back();
    return static_cast<int>(std::count_if(entries_.begin(), entries_.end(),
                                          [&now](const Entry& then) { return then.board_key == now.board_key && then.hand == now.hand; }));
}

int History::most_occurrences() const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> seen;
    for (const Entry& entry : entries_) seen.emplace_back(entry.board_key, entry.hand.bits());
    std::sort(seen.begin(), seen.end());
    std::ptrdiff_t most = 0;
    for (auto first = seen.begin(); first != seen.end();) {
        const auto next = std::upper_bound(first, seen.end(), *first);
        most = std::max(most, next - first);
        first = next;
    }
    return static_cast<int>(most);
}

Recurrence History::recurrence(int window) const {
    const Entry& now = entries_.back();
    const std::size_t limit = std::min(entries_.size() - 1, static_cast<std::size_t>(std::max(window, 0)));
    for (std::size_t plies = SHORTEST_CYCLE; plies <= limit; plies += 2) {
        const Entry& then = entries_[entries_.size() - 1 - plies];
        if (then.board_key != now.board_key) continue;
        const int back = static_cast<int>(plies);
        if (then.hand == now.hand) return {verdict(plies), back};
        const bool more = now.hand.covers(then.hand);
        if (!more && !then.hand.covers(now.hand)) continue;
        return {more == now.black_to_move ? Repetition::SUPERIOR : Repetition::INFERIOR, back};
    }
    return {};
}

}  // namespace fukayomi
