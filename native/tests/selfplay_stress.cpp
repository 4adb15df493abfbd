// Threads on one pool of games, for the sanitizers: each gathers from a share of its own, evaluates, applies, cancels, has batches
// run by the pool, and now and then answers what no evaluator would; another one adds games, answers for an outside player,
// begins games again and takes the finished ones.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "search/hash_evaluator.hpp"
#include "selfplay/pool.hpp"
#include "shogi/movegen.hpp"

namespace {

using namespace fukayomi;

constexpr std::size_t CAPACITY = 6;
constexpr std::size_t SHARES = 2;
constexpr std::uint64_t GAMES = 60;

struct Slot {
    std::vector<std::uint8_t> planes1 = std::vector<std::uint8_t>(CAPACITY * PACKED1_BYTES);
    std::vector<std::uint8_t> planes2 = std::vector<std::uint8_t>(CAPACITY * PACKED2_BYTES);
    std::vector<std::uint16_t> labels = std::vector<std::uint16_t>(CAPACITY * MAX_MOVES);
    std::vector<std::uint16_t> counts = std::vector<std::uint16_t>(CAPACITY);
    std::vector<float> logits = std::vector<float>(CAPACITY * MAX_MOVES);
    std::vector<float> values = std::vector<float>(CAPACITY);
    PlaneInput input{CAPACITY, planes1.data(), planes2.data(), labels.data(), counts.data()};
};

void play(SelfplayPool& pool, std::size_t share, const std::atomic<bool>& is_over) {
    std::mt19937 random(static_cast<unsigned>(share));
    HashEvaluator evaluators[2] = {HashEvaluator(1), HashEvaluator(2)};
    Slot slot;
    while (!is_over.load()) {
        for (const int network : {0, 1}) {
            if (random() % 4 == 0)
                pool.run(share, evaluators[network], slot.input, {slot.logits.data(), slot.values.data()}, CAPACITY,
                         std::chrono::microseconds(100), network);
            const std::size_t n = pool.gather(share, slot.input, 1 + random() % CAPACITY, network);
            evaluators[network].run(slot.input, n, {slot.logits.data(), slot.values.data()});
            if (n > 0 && random() % 64 == 0) slot.values[0] = 2.0F;  // refused, and the batch is cancelled
            try {
                if (random() % 64 == 0)
                    pool.cancel(share, network);
                else
                    pool.apply(share, slot.logits.data(), slot.values.data(), network);
            } catch (const std::invalid_argument&) {}
            if (n == 0) std::this_thread::yield();
        }
    }
}

void answer(SelfplayPool& pool, std::mt19937& random, std::size_t& restarts) {
    for (const WaitingGame& game : pool.take_waiting()) {
        MoveList moves;
        generate_legal(game.position.board(), moves);
        if (random() % 128 == 0) {
            const SelfplayPlayer outside{OUTSIDE, false}, newest{0, true};
            if (!pool.restart(game.index, {newest, random() % 2 == 0 ? outside : newest}))
                throw std::logic_error("a waiting game could not begin again");
            ++restarts;
        } else if (!pool.answer(game.index, random() % 64 == 0 ? Move() : moves[random() % moves.size()])) {
            throw std::logic_error("a waiting game took no answer");
        }
    }
}

int run() {
    SelfplayParams params;
    params.playouts = 12;
    params.max_move = 80;
    params.mate_depth = 5;
    params.mate_nodes = 200;
    params.reuse = true;
    params.keep_nodes = 4;
    SearchParams search;
    search.root_noise_epsilon = 0.25F;
    SelfplayPool pool(params, search, 9, SHARES, 1);
    std::atomic<bool> is_over = false;
    std::vector<std::thread> threads;
    for (std::size_t share = 0; share < SHARES; ++share) threads.emplace_back([&, share] { play(pool, share, is_over); });
    std::mt19937 random(7);
    std::set<std::uint64_t> finished;
    std::uint64_t next = 0;
    std::size_t most_bytes = 0, restarts = 0;
    while (next < GAMES || pool.playing() > 0) {
        while (next < GAMES && pool.queued() < 4) {
            const SelfplayPlayer outside{OUTSIDE, false}, newest{0, true}, other{1, false};
            const SelfplayPlayer players[3] = {newest, other, outside};
            pool.add({next, Position(), {players[next % 3], players[next % 2 == 0 ? 0 : (next % 3 == 2 ? 0 : 1)]}});
            ++next;
        }
        answer(pool, random, restarts);
        most_bytes = std::max(most_bytes, pool.bytes());
        for (const FinishedGame& game : pool.take_finished())
            if (game.data.empty() || !finished.insert(game.index).second) throw std::logic_error("a game came twice, or empty");
        std::this_thread::yield();
    }
    is_over.store(true);
    for (std::thread& thread : threads) thread.join();
    for (const FinishedGame& game : pool.take_finished()) finished.insert(game.index);
    std::printf("%zu games, %zu began again, %zu bytes\n", finished.size(), restarts, most_bytes);
    return finished.size() == GAMES && restarts > 0 ? 0 : 1;
}

}  // namespace

int main() {
    try {
        return run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
