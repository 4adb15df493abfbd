// Mates of any length by df-pn (Nagai, "Df-pn algorithm for searching AND/OR trees and its applications", 2002).
//
// The side to move attacks: each of its moves gives check, and it must mate against every defence. Repetition is a failure
// of the attack, as the rules have it (連続王手の千日手).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "mate/mate_table.hpp"
#include "shogi/board.hpp"

namespace fukayomi {

enum class MateReason : std::uint8_t {
    MATE,
    NO_MATE,  // none within the limit of plies
    NODES,    // undecided: the limit of nodes, or of memory
    TIME,     // undecided: the limit of time
    STOPPED,  // undecided: stop()
};

struct MateLimits {
    std::uint64_t nodes = 1'000'000;
    int plies = 0;  // of the longest mate to look for; 0: the longest that the solver can
    std::optional<std::chrono::milliseconds> time;
    double share = 1;                   // of the time, for the search; in the rest it sleeps and leaves the core to others
    bool shortest = false;              // go on after the first mate, while limits last, until no shorter one exists
    std::function<bool()> interrupted;  // asked about ten times a second; true stops the search
};

struct MateSolution {
    MateReason reason = MateReason::NO_MATE;
    std::vector<Move> line;   // a whole mate
    std::uint64_t nodes = 0;  // positions whose moves were looked at
};

class MateSolver {
  public:
    static constexpr int MAX_PLIES = 1023;

    explicit MateSolver(std::size_t memory_mb) : table_(memory_mb) {}

    // The past of the position does not count. Throws std::invalid_argument if there is no king to mate, or a limit is
    // out of range.
    MateSolution solve(const Board& board, const MateLimits& limits);

    // From any thread: ends the search, and those to come, until resume().
    void stop();
    void resume() { is_stopped_.store(false, std::memory_order_relaxed); }

  private:
    struct Child {
        std::uint64_t board_key;
        MateValue value;
        Hand hand;  // the attacker's, after the move
        Move move;
        std::uint16_t loop;  // the ply of the earlier position that a disproof depends on, or NO_LOOP
        bool is_estimate;    // nobody has looked at the position yet
    };
    struct Outcome {
        MateValue value;
        std::uint16_t loop;
    };
    struct Sum;  // of a node's children
    struct Visited {
        std::uint64_t board_key;
        Hand hand;
    };
    static constexpr std::uint16_t NO_LOOP = 0xFFFF;

    template <bool ATTACK>
    Outcome visit(int left, std::uint32_t max_pn, std::uint32_t max_dn);
    template <bool ATTACK>
    void expand(int left);
    MateValue first_value(int left);
    void try_mates_in_three(int left);
    template <bool ATTACK>
    Sum sum(std::size_t first) const;
    template <bool ATTACK>
    Outcome conclude(const Sum& total, std::size_t first);
    MateValue prove_in_one(Move move);
    Hand blocked() const;
    Hand hand_before(Move move, Hand after) const;
    std::optional<Outcome> repetition() const;
    bool is_over();
    void pause();

    MateValue search(int left);
    int prove(int left);
    std::vector<Move> line(int plies);
    Move proven_move(int left);
    std::pair<Move, int> longest_defence(int left, bool shortest);

    MateTable table_;
    std::atomic<bool> is_stopped_ = false;
    std::mutex mutex_;  // of those who wait for `stopped_`
    std::condition_variable stopped_;

    Board board_;
    Color attacker_ = BLACK;
    std::vector<Visited> path_;
    std::vector<Child> children_;  // of all positions on the path
    MateLimits limits_;
    std::chrono::steady_clock::time_point began_;
    std::chrono::steady_clock::time_point deadline_;
    std::chrono::steady_clock::duration slept_{};
    std::uint64_t nodes_ = 0;
    std::optional<MateReason> end_;  // why the search was broken off
    bool is_line_left_ = false;      // the mate is proven: only its line is to be found
};

}  // namespace fukayomi
