// The past of a game, for repetition (千日手): one small entry a position, from the first to the current one.
#pragma once

#include <cstdint>
#include <vector>

#include "shogi/board.hpp"

namespace fukayomi {

// How many plies back games of self-play look for a repetition, as dlshogi does.
constexpr int REPETITION_WINDOW = 16;

// A position that occurred before, or occurred with more or fewer pieces in hand.
struct Recurrence {
    Repetition kind = Repetition::NONE;  // for the side to move
    int plies = 0;                       // back to that position
};

class History {
  public:
    void clear() { entries_.clear(); }
    // Call it for the first position and after every move.
    void push(const Board& pos);
    void pop() { entries_.pop_back(); }
    std::size_t size() const { return entries_.size(); }
    void truncate(std::size_t size) { entries_.resize(size); }

    // The rule of the game: the current position has occurred four times. DRAW, or, if every move of one side since the
    // first of the four gave check, LOSE for the side that checked (seen from the side to move).
    Repetition fourfold() const;
    // How often the current position has occurred, itself included.
    int occurrences() const;
    // The most often that one position has occurred.
    int most_occurrences() const;
    // The last `window` plies are searched backwards; the first recurrence decides, SUPERIOR and INFERIOR included.
    Recurrence recurrence(int window) const;
    Repetition first_recurrence(int window = REPETITION_WINDOW) const { return recurrence(window).kind; }

  private:
    struct Entry {
        std::uint64_t board_key;
        Hand hand;                // of Black: with the same board it fixes White's
        std::uint16_t checks[2];  // how many of a side's last moves in a row gave check
        bool black_to_move;
    };
    Repetition verdict(std::size_t plies) const;

    std::vector<Entry> entries_;
};

}  // namespace fukayomi
