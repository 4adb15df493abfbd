// One game against itself: its position, the trees of its players, and what happens between two batches. A game gives the
// next leaves of its search; when the search is done it plays the move and begins the next search, until the game is over.
//
// A game depends on its parameters, seed and opening alone, and on what the evaluators say: with one leaf at a time
// (SelfplayParams::leaves) neither on other games nor on what a cache knows. One thread at a time may use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mate/mate_solver.hpp"
#include "search/batch.hpp"
#include "search/random.hpp"
#include "search/search.hpp"
#include "selfplay/params.hpp"
#include "selfplay/record.hpp"

namespace fukayomi {

struct GameSetup {
    std::uint64_t index = 0;
    Position opening;                       // its moves become the game's first, without targets
    std::array<SelfplayPlayer, 2> players;  // by colour
};

// What was searched, up to the last search that has ended.
struct SelfplayTotals {
    std::uint64_t searches = 0;
    std::uint64_t playouts = 0;
    std::uint64_t evaluations = 0;

    void add(const SelfplayTotals& other) {
        searches += other.searches;
        playouts += other.playouts;
        evaluations += other.evaluations;
    }
};

class Game {
  public:
    // Throws std::invalid_argument if a game cannot begin so.
    static void validate(const SelfplayParams& params, const GameSetup& setup);

    enum class State {
        SEARCHING,
        WAITING,  // for the move of an outside player
        FINISHED,
    };

    // `setup` is valid. `caches`: by colour, of the player's network; null: none.
    Game(const SelfplayParams& params, const SearchParams& search, GameSetup setup, std::array<EvalCache*, 2> caches);

    const GameSetup& setup() const { return setup_; }
    std::uint64_t index() const { return setup_.index; }
    State state() const { return state_; }
    Color turn() const { return position_.board().turn(); }
    const Position& position() const { return position_; }
    int network() const { return setup_.players[turn()].network; }  // of the side to move

    // The first position; it may be the only one. `solver`: for mates of the root.
    void begin(MateSolver& solver) { begin_position(solver); }
    // Fills rows of the slot with leaves of the search, at most `limit`, and returns their number. 0: the game is not
    // searching any more. Moves are played on the way; the side to move may change only between batches.
    std::size_t gather(SlotInput& input, std::size_t first, std::size_t limit, MateSolver& solver);
    void apply(const float* logits, const float* values);
    void cancel();
    // The outside player's move; a null move resigns. Throws ParseError(ILLEGAL_MOVE).
    void answer(Move move, int eval, MateSolver& solver);

    FinishedGame take_finished();
    std::size_t bytes() const;       // of the trees
    SelfplayTotals totals() const {  // before take_finished
        return {static_cast<std::uint64_t>(finished_.searches), finished_.playouts, finished_.evaluations};
    }

  private:
    // A tree, and the leaves that are under way. Players with the same network share one.
    struct Mind {
        Mind(const SearchParams& params, std::size_t memory_mb, std::size_t leaves, EvalCache* cache)
            : search(params, memory_mb), batch(search, leaves, cache) {}
        Search search;
        Batch batch;
    };
    Mind& mind() { return *minds_[turn()]; }

    void begin_position(MateSolver& solver);
    bool is_over_by_rules();
    bool play_mate(MateSolver& solver);
    void begin_search();
    bool is_search_done(const Search::Standing& now);
    void end_search(MateSolver& solver);
    std::size_t choose(std::span<const RootMove> moves);
    bool may_decide(Color searcher, Color loser) const;
    std::optional<Move> draw_low(std::span<const RootMove> moves);
    std::size_t draw(std::span<const RootMove> moves, double temperature, double cutoff);
    std::vector<Candidate> taught(Move played, double& surprise);
    void play(Move move, int eval, std::span<const Candidate> targets = {}, double surprise = 0.0);
    void play_line(std::span<const Move> line);
    void finish(std::optional<Color> winner, GameReason reason);
    int ply() const { return static_cast<int>(record_.plies()) - opening_plies_; }  // of the next move, from 0

    const SelfplayParams& params_;
    GameSetup setup_;
    Position position_;
    GameRecord record_;
    const int opening_plies_;
    Random random_;
    const bool is_played_out_;
    std::array<std::shared_ptr<Mind>, 2> minds_;
    State state_ = State::SEARCHING;
    // The search under way.
    bool is_cheap_ = false;
    std::uint32_t playouts_ = 0;  // that it was given
    std::uint32_t limit_ = 0;     // visits of the root's moves
    int extensions_ = 0;
    std::uint32_t check_at_ = 0;                    // the number of visits from which an early stop may be possible
    std::uint32_t kept_ = 0;                        // visits that came with the tree
    std::optional<Color> resigner_;                 // the side that would have resigned in a game that is played out
    std::vector<std::vector<std::uint8_t>> nodes_;  // of each search, with SelfplayParams::keep_nodes
    FinishedGame finished_;
};

}  // namespace fukayomi
