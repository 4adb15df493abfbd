// What a search finds out about the errors of the network, and what later positions gain by it.
//
// The mean value of the visits below a node says how wrong the network was about the node itself. Positions after the same two
// moves, with the same pieces around the last one, are misjudged alike, wherever they are in the tree: they are a kind. The
// errors of each kind are averaged, and a new leaf has a share of that mean added to its value. That is KataGo's "subtree value
// bias correction" (docs/KataGoMethods.md), but for two things, which make it cost next to nothing: an error is entered when the
// visits of a node reach 2, 4, 8, ... and is not taken back later, and a leaf's value is corrected once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shogi/board.hpp"

namespace fukayomi {

// The kind of a position that these moves led to, from the root; 0 at the root itself, which has none.
std::uint16_t kind_of(const Board& pos, std::span<const Move> moves);

// Values and errors are those of the side that moved into the position.
class ValueCorrection {
  public:
    explicit ValueCorrection(float share);  // of the mean error; 0: no correction

    bool is_on() const { return share_ > 0.0F; }
    void clear();
    std::size_t bytes() const { return kinds_.size() * sizeof(Kind); }

    double corrected(std::uint16_t kind, double value) const;
    // Call it where has_news(visits). `error`: the mean of all visits but the first, less what the network said.
    void enter(std::uint16_t kind, std::uint32_t visits, double error);
    static bool has_news(std::uint32_t visits) { return visits > 1 && (visits & (visits - 1)) == 0; }

  private:
    struct Kind {
        float weight = 0.0F;
        float error = 0.0F;  // sum, by weight
    };
    const float share_;
    std::vector<Kind> kinds_;  // one for each number, or none
};

}  // namespace fukayomi
