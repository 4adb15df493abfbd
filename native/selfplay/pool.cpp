#include "selfplay/pool.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "shogi/require.hpp"

namespace fukayomi {

namespace {

template <class T>
const T& checked(const T& params) {
    params.validate();
    return params;
}

}  // namespace

SelfplayPool::SelfplayPool(const SelfplayParams& params, const SearchParams& search, std::size_t games, std::size_t shares,
                           std::size_t cache_mb)
    : params_(checked(params)), search_params_(checked(search)), cache_mb_(cache_mb) {
    require_between("games", games, 1, MOST_GAMES);
    if (shares < 1 || shares > games)
        throw std::invalid_argument("shares is " + std::to_string(shares) + "; it must be between 1 and the number of games, " +
                                    std::to_string(games));
    if (cache_mb > EvalCache::MAX_MEMORY_MB)
        throw std::invalid_argument("cache_mb is " + std::to_string(cache_mb) + "; it must be at most " +
                                    std::to_string(EvalCache::MAX_MEMORY_MB));
    for (std::size_t i = 0; i < shares; ++i) {
        shares_.push_back(std::make_unique<Share>());
        shares_.back()->places.resize(games / shares + (i < games % shares ? 1 : 0));
    }
}

SelfplayPool::Share& SelfplayPool::share_at(std::size_t share) const {
    if (share >= shares_.size())
        throw std::invalid_argument("share is " + std::to_string(share) + "; there are " + std::to_string(shares_.size()));
    return *shares_[share];
}

void SelfplayPool::add(GameSetup setup) {
    Game::validate(params_, setup);
    const Lock lock(mutex_);
    if (!indices_.insert(setup.index).second)
        throw std::invalid_argument("game " + std::to_string(setup.index) + " is being played already");
    queue_.push_back(std::move(setup));
}

EvalCache* SelfplayPool::cache_of(int network) {
    if (cache_mb_ == 0 || network == OUTSIDE) return nullptr;
    std::unique_ptr<EvalCache>& cache = caches_[network];
    if (!cache) cache = std::make_unique<EvalCache>(cache_mb_);
    return cache.get();
}

// Begins the next game of the queue in a free place.
bool SelfplayPool::fill(Share& share, Place& place) {
    GameSetup setup;
    {
        const Lock lock(mutex_);
        if (queue_.empty()) return false;
        setup = std::move(queue_.front());
        queue_.pop_front();
    }
    begin(share, place, std::move(setup));
    return true;
}

void SelfplayPool::begin(Share& share, Place& place, GameSetup setup) {
    std::array<EvalCache*, 2> caches{};
    {
        const Lock lock(mutex_);
        if (!params_.keeps_positions())
            for (const Color c : {BLACK, WHITE}) caches[c] = cache_of(setup.players[c].network);
    }
    place.game.reset();
    if (params_.keeps_positions() && cache_mb_ > 0 && setup.players[BLACK].network == setup.players[WHITE].network) {
        place.cache = std::make_unique<EvalCache>(cache_mb_);
        caches = {place.cache.get(), place.cache.get()};
    }
    place.game = std::make_unique<Game>(params_, search_params_, std::move(setup), caches);
    place.game->begin(share.solver);
}

// Takes the result of a game that is over, and notes one that waits. Returns whether the game is still being searched.
bool SelfplayPool::settle(Place& place) {
    switch (place.game->state()) {
        case Game::State::SEARCHING: return true;
        case Game::State::WAITING: {
            if (place.is_waiting) return false;
            place.is_waiting = true;
            const Lock lock(mutex_);
            waiting_.push_back({place.game->index(), place.game->position()});
            return false;
        }
        case Game::State::FINISHED: break;
    }
    const std::unique_ptr<Game> game = std::move(place.game);
    const Lock lock(mutex_);
    ended_.add(game->totals());
    finished_.push_back(game->take_finished());
    indices_.erase(game->index());
    return false;
}

// Leaves of the game in a place, or of those that follow it there.
std::size_t SelfplayPool::gather_from(Share& share, Place& place, SlotInput& input, std::size_t first, std::size_t limit, int network) {
    for (;;) {
        if (!place.game && !fill(share, place)) return 0;
        if (!settle(place)) {
            if (place.game) return 0;  // it waits
            continue;
        }
        if (place.game->network() != network) return 0;
        if (const std::size_t rows = place.game->gather(input, first, limit, share.solver); rows > 0) return rows;
    }
}

std::size_t SelfplayPool::gather(std::size_t number, SlotInput& input, std::size_t limit, int network) {
    Share& share = share_at(number);
    const Lock lock(share.mutex);
    std::vector<Part>& parts = share.in_flight[network];
    if (!parts.empty()) throw std::logic_error("the batch of this share and network must be applied or cancelled first");
    std::size_t rows = 0;
    try {
        // Always from the first place on: every game that is not waiting can give a leaf, so the first few go on until they are
        // over, with trees that caches hold, and the others wait. In turn, all trees would pass through the caches.
        for (Place& place : share.places) {
            if (rows > 0 && limit - rows < static_cast<std::size_t>(params_.leaves)) break;  // a game gets all its leaves, or none
            if (rows == limit) break;
            if (place.is_in_flight) continue;
            const std::size_t added = gather_from(share, place, input, rows, limit - rows, network);
            if (added == 0) continue;
            place.is_in_flight = true;
            parts.push_back({&place, rows, added});
            rows += added;
        }
    } catch (...) {
        cancel(share, network);
        throw;
    }
    return rows;
}

std::size_t SelfplayPool::rows(std::size_t number, int network) const {
    const Share& share = share_at(number);
    const Lock lock(share.mutex);
    const auto parts = share.in_flight.find(network);
    if (parts == share.in_flight.end() || parts->second.empty()) return 0;
    return parts->second.back().first + parts->second.back().count;
}

void SelfplayPool::apply(std::size_t number, const float* logits, const float* values, int network) {
    Share& share = share_at(number);
    const Lock lock(share.mutex);
    std::vector<Part>& parts = share.in_flight[network];
    try {
        for (const Part& part : parts) part.place->game->apply(logits + part.first * MAX_MOVES, values + part.first);
    } catch (...) {
        cancel(share, network);
        throw;
    }
    for (const Part& part : parts) part.place->is_in_flight = false;
    parts.clear();
}

void SelfplayPool::cancel(std::size_t number, int network) {
    Share& share = share_at(number);
    const Lock lock(share.mutex);
    cancel(share, network);
}

void SelfplayPool::cancel(Share& share, int network) {
    std::vector<Part>& parts = share.in_flight[network];
    for (const Part& part : parts) {
        part.place->game->cancel();
        part.place->is_in_flight = false;
    }
    parts.clear();
}

SelfplayPool::Stretched SelfplayPool::run(std::size_t number, CoreEvaluator& evaluator, SlotInput& input, const SlotOutput& output,
                                          std::size_t limit, std::chrono::nanoseconds time, int network) {
    const auto end = std::chrono::steady_clock::now() + time;
    const Share& share = share_at(number);
    Stretched done;
    do {
        const std::size_t rows = gather(number, input, limit, network);
        if (rows == 0) break;
        try {
            done.is_finite = evaluator.evaluate(input, rows, output);
        } catch (...) {
            cancel(number, network);
            throw;
        }
        if (!done.is_finite) {
            cancel(number, network);
            break;
        }
        apply(number, output.logits, output.values, network);
        done.rows += rows;
        share.mutex.let_pass();
    } while (std::chrono::steady_clock::now() < end);
    return done;
}

std::vector<WaitingGame> SelfplayPool::take_waiting() {
    const Lock lock(mutex_);
    return std::exchange(waiting_, {});
}

bool SelfplayPool::answer(std::uint64_t index, Move move, int eval) {
    for (const auto& share : shares_) {
        const Asking asking(share->mutex);
        for (Place& place : share->places) {
            if (!place.game || !place.is_waiting || place.game->index() != index) continue;
            place.game->answer(move, eval, share->solver);
            place.is_waiting = false;
            settle(place);
            return true;
        }
    }
    return false;
}

bool SelfplayPool::restart(std::uint64_t index, const std::array<SelfplayPlayer, 2>& players) {
    for (const auto& share : shares_) {
        const Asking asking(share->mutex);
        for (Place& place : share->places) {
            if (!place.game || !place.is_waiting || place.game->index() != index) continue;
            GameSetup setup = place.game->setup();
            setup.players = players;
            Game::validate(params_, setup);
            place.is_waiting = false;
            begin(*share, place, std::move(setup));
            settle(place);
            return true;
        }
    }
    return false;
}

std::size_t SelfplayPool::clear_queue() {
    const Lock lock(mutex_);
    const std::size_t count = queue_.size();
    for (const GameSetup& setup : queue_) indices_.erase(setup.index);
    queue_.clear();
    return count;
}

std::vector<FinishedGame> SelfplayPool::take_finished() {
    const Lock lock(mutex_);
    return std::exchange(finished_, {});
}

std::size_t SelfplayPool::queued() const {
    const Lock lock(mutex_);
    return queue_.size();
}

std::size_t SelfplayPool::playing() const {
    const Lock lock(mutex_);
    return indices_.size();
}

SelfplayTotals SelfplayPool::totals() const {
    SelfplayTotals sum;
    for (const auto& share : shares_) {
        const Asking asking(share->mutex);
        for (const Place& place : share->places)
            if (place.game) sum.add(place.game->totals());
    }
    const Lock lock(mutex_);
    sum.add(ended_);
    return sum;
}

std::size_t SelfplayPool::bytes() const {
    std::size_t sum = 0;
    for (const auto& share : shares_) {
        const Asking asking(share->mutex);
        for (const Place& place : share->places)
            if (place.game) sum += place.game->bytes();
    }
    return sum;
}

}  // namespace fukayomi
