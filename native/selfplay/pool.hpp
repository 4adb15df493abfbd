// Many games at once, which feed one batch: each gives one leaf, or a few. The caller says what each game is, evaluates the
// batches, and takes the finished games.
//
//   pool.add(setup); ...
//   while (pool.playing() > 0) { n = pool.gather(share, input, limit); evaluate(input, n); pool.apply(share, logits, values); }
//
// The games are divided into shares, one for each batch in flight, so that threads with different shares never wait for each
// other. A share has a lock, which is held while a batch of it is gathered or applied.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "encode/evaluator.hpp"
#include "encode/slot.hpp"
#include "mate/mate_solver.hpp"
#include "search/eval_cache.hpp"
#include "selfplay/game.hpp"
#include "selfplay/params.hpp"
#include "shogi/mutex.hpp"

namespace fukayomi {

// A game whose outside player is to move.
struct WaitingGame {
    std::uint64_t index;
    Position position;  // plies count from the start of the game
};

class SelfplayPool {
  public:
    static constexpr std::size_t MOST_GAMES = 65536;

    // `games`: at once; `shares` of them at most. `cache_mb`: memory for what each network has said of positions; 0: none. With
    // keep_leaves or keep_nodes that of each game, so that what a game keeps depends on no other. Throws std::invalid_argument.
    SelfplayPool(const SelfplayParams& params, const SearchParams& search, std::size_t games, std::size_t shares = 1,
                 std::size_t cache_mb = 0);

    // Queues a game; it begins when a place is free, in the order of the calls. Throws std::invalid_argument if there is nothing
    // to play in the opening, or a game with this index is queued or being played.
    void add(GameSetup setup);

    // Writes into rows of the input, from the first on, leaves of games of the share in which this network is to move, and returns their number; 0 if
    // there is none now. Throws std::logic_error if a batch of the share and the network is in flight.
    std::size_t gather(std::size_t share, SlotInput& input, std::size_t limit, int network = 0);
    std::size_t rows(std::size_t share, int network = 0) const;  // of the batch in flight
    // As Search::apply. If the output of the evaluator is unusable, the batch is cancelled.
    void apply(std::size_t share, const float* logits, const float* values, int network = 0);
    void cancel(std::size_t share, int network = 0);

    // Gathers, evaluates and applies batches one after the other, by an evaluator that needs no call from outside the core, until
    // there is no leaf or the time is over; there is always one. Throws as they do, after the batch is cancelled.
    struct Stretched {
        std::size_t rows = 0;   // evaluated
        bool is_finite = true;  // false: what the evaluator says of some position is not finite; its batch is cancelled
    };
    Stretched run(std::size_t share, CoreEvaluator& evaluator, SlotInput& input, const SlotOutput& output, std::size_t limit,
                  std::chrono::nanoseconds time, int network = 0);

    // The games that began to wait for an outside player since the last call.
    std::vector<WaitingGame> take_waiting();
    // The move of an outside player; a null move resigns. False if the game is not waiting (any more). Throws
    // ParseError(ILLEGAL_MOVE).
    bool answer(std::uint64_t index, Move move, int eval = 0);
    // Begins a waiting game again from its opening, with these players. False if the game is not waiting (any more). Throws
    // std::invalid_argument.
    bool restart(std::uint64_t index, const std::array<SelfplayPlayer, 2>& players);
    // Empties the queue and returns how many games it held.
    std::size_t clear_queue();

    std::vector<FinishedGame> take_finished();
    std::size_t queued() const;
    std::size_t playing() const;  // games that are queued or being played
    std::size_t shares() const { return shares_.size(); }
    std::size_t bytes() const;      // of all trees
    SelfplayTotals totals() const;  // of games that are over and those in play

  private:
    struct Place {
        std::unique_ptr<EvalCache> cache;  // of the game alone, with SelfplayParams::keeps_positions
        std::unique_ptr<Game> game;        // null: free
        bool is_in_flight = false;
        bool is_waiting = false;  // for the answer of an outside player
    };
    // The rows of a batch that hold leaves of one game.
    struct Part {
        Place* place;
        std::size_t first;
        std::size_t count;
    };
    struct Share {
        mutable Mutex mutex;  // the thread that plays by `run` lets those who ask pass
        std::vector<Place> places FUKAYOMI_GUARDED_BY(mutex);
        std::map<int, std::vector<Part>> in_flight FUKAYOMI_GUARDED_BY(mutex);  // by network
        MateSolver solver{SOLVER_MB};
    };
    static constexpr std::size_t SOLVER_MB = 8;

    Share& share_at(std::size_t share) const;
    std::size_t gather_from(Share& share, Place& place, SlotInput& input, std::size_t first, std::size_t limit, int network)
        FUKAYOMI_REQUIRES(share.mutex);
    bool fill(Share& share, Place& place) FUKAYOMI_REQUIRES(share.mutex);
    void begin(Share& share, Place& place, GameSetup setup) FUKAYOMI_REQUIRES(share.mutex);
    bool settle(Place& place);
    EvalCache* cache_of(int network) FUKAYOMI_REQUIRES(mutex_);
    void cancel(Share& share, int network) FUKAYOMI_REQUIRES(share.mutex);

    const SelfplayParams params_;
    const SearchParams search_params_;
    const std::size_t cache_mb_;
    std::vector<std::unique_ptr<Share>> shares_;

    mutable Mutex mutex_;  // taken after a share's, never before
    std::deque<GameSetup> queue_ FUKAYOMI_GUARDED_BY(mutex_);
    std::set<std::uint64_t> indices_ FUKAYOMI_GUARDED_BY(mutex_);  // of games that are queued or being played
    std::vector<FinishedGame> finished_ FUKAYOMI_GUARDED_BY(mutex_);
    std::vector<WaitingGame> waiting_ FUKAYOMI_GUARDED_BY(mutex_);
    SelfplayTotals ended_ FUKAYOMI_GUARDED_BY(mutex_);  // of games that are over
    std::map<int, std::unique_ptr<EvalCache>> caches_ FUKAYOMI_GUARDED_BY(mutex_);
};

}  // namespace fukayomi
