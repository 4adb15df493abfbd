// Several threads on one search, for the sanitizers: they gather, evaluate, apply, cancel, read and enter proofs, while
// another one plays moves, takes them back, stops and resumes. The memory is small, so that subtrees are pruned and chunks are
// recycled all the time. All but one of the gatherers share a small cache of evaluations; each has a reviewer.
// At the end and between games the tree's invariants must hold. All this with each rule for the root.
#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "mate/mate_three.hpp"
#include "search/hash_evaluator.hpp"
#include "search/reviewer.hpp"
#include "search/search.hpp"
#include "shogi/errors.hpp"
#include "shogi/movegen.hpp"

namespace {

using namespace fukayomi;

constexpr std::size_t CAPACITY = 24;
constexpr int GATHERERS = 3;
constexpr int GAMES = 4;
constexpr int MOVES_A_GAME = 15;
constexpr unsigned MOST_NODES = 12'000;  // for a move: more than the memory holds
constexpr const char* MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1";

struct Slot {
    std::vector<std::uint8_t> planes1 = std::vector<std::uint8_t>(CAPACITY * PACKED1_BYTES);
    std::vector<std::uint8_t> planes2 = std::vector<std::uint8_t>(CAPACITY * PACKED2_BYTES);
    std::vector<std::uint16_t> labels = std::vector<std::uint16_t>(CAPACITY * MAX_MOVES);
    std::vector<std::uint16_t> counts = std::vector<std::uint16_t>(CAPACITY);
    std::vector<float> logits = std::vector<float>(CAPACITY * MAX_MOVES);
    std::vector<float> values = std::vector<float>(CAPACITY);
    PlaneInput input{CAPACITY, planes1.data(), planes2.data(), labels.data(), counts.data()};
};

// The game whose last position is being searched.
class CurrentGame {
  public:
    Position get() const {
        const std::lock_guard lock(mutex_);
        return position_;
    }
    void set(const Position& position) {
        const std::lock_guard lock(mutex_);
        position_ = position;
    }

  private:
    mutable std::mutex mutex_;
    Position position_;
};

void gather_until(Search& search, EvalCache* cache, const std::atomic<bool>& is_over, unsigned seed) {
    std::mt19937 random(seed);
    const HashEvaluator evaluator(7);
    HashEvaluator other(8);
    Slot slot, second;
    Reviewer reviewer{other, second.input, {second.logits.data(), second.values.data()}};
    Batch batch(search, CAPACITY, cache, &reviewer);
    while (!is_over.load()) {
        const int n = search.gather(batch, slot.input, 0, 1 + random() % CAPACITY, 1 + random() % (2 * CAPACITY));
        if (n == 0) {
            std::this_thread::yield();
            continue;
        }
        evaluator.run(slot.input, static_cast<std::size_t>(n), {slot.logits.data(), slot.values.data()});
        switch (random() % 16) {
            case 0: search.cancel(batch); break;
            case 1:
                slot.values[0] = 2.0F;  // refused, and the batch is cancelled
                try {
                    search.apply(batch, slot.logits.data(), slot.values.data());
                } catch (const std::invalid_argument&) {}
                break;
            default: search.apply(batch, slot.logits.data(), slot.values.data());
        }
    }
    // What the last batch holds goes back with its destructor.
}

void read_until(const Search& search, const std::atomic<bool>& is_over) {
    while (!is_over.load()) {
        for (const SearchLine& line : search.lines(3))
            if (line.pv.empty()) std::terminate();
        for (const TaughtMove& each : search.teaching())
            if (each.weight == 0) std::terminate();
        if (search.bytes_used() > (std::size_t{1} << 20)) std::terminate();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

// Enters results for positions on the best lines, at random: true or not, the tree must stay consistent.
void prove_until(Search& search, const CurrentGame& current, const std::atomic<bool>& is_over) {
    std::mt19937 random(99);
    while (!is_over.load()) {
        Position position = current.get();  // the search may have gone on to another
        const auto lines = search.lines(1 + random() % 8);
        if (lines.empty()) continue;
        const std::vector<Move>& pv = lines.back().pv;
        const std::size_t length = 1 + random() % pv.size();
        try {
            for (std::size_t i = 0; i < length; ++i) position.push(pv[i]);
            if (random() % 4 == 0) {
                MoveList moves;
                generate_legal(position.board(), moves);
                if (!moves.empty()) position.push_legal(moves[random() % moves.size()]);
            }
            const Color turn = position.board().turn();
            switch (random() % 8) {
                case 0: search.prove(position, turn, 1 + 2 * (random() % 8)); break;
                case 1: search.prove(position, ~turn, 2 * (random() % 8)); break;
                case 2: search.prove(position, turn); break;
                case 3: search.prove(position, std::nullopt); break;
                default:
                    if (const auto mate = line_of_mate_in_three(position.board()); !mate.empty()) search.enter_mate(position, mate);
            }
        } catch (const ParseError&) {  // a line of another position
        }
        std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
}

// Waits until some more leaves are evaluated, or the search has nothing left to do.
void wait_for(const Search& search, std::uint64_t nodes) {
    for (int i = 0; i < 2000 && search.nodes() < nodes && !search.is_full() && !search.is_decided(); ++i)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
}

int play(Search& search, Position position, CurrentGame& current, std::mt19937& random) {
    int kept = 0;
    for (int i = 0; i < MOVES_A_GAME; ++i) {
        current.set(position);
        kept += search.set_position(position) ? 1 : 0;
        wait_for(search, 200 + random() % MOST_NODES);
        if (random() % 4 == 0) {
            search.stop();
            std::this_thread::sleep_for(std::chrono::microseconds(300));
            search.resume();
        }
        const auto lines = search.lines(2);
        if (lines.empty()) return kept;
        if (random() % 4 == 0) {
            std::vector<Move> compared;
            for (const SearchLine& line : lines) compared.push_back(line.move());
            search.compare(compared);
            wait_for(search, search.nodes() + random() % 500);
        }
        position.push(lines[0].move());
        if (random() % 8 == 0) position.pop();
    }
    return kept;
}

// Returns how many positions kept their tree.
int play_games(const SearchParams& params, int games) {
    Search search(params, 1);
    EvalCache cache(1);
    std::mt19937 random(1);
    int kept = 0;
    for (int g = 0; g < games; ++g) {
        std::atomic<bool> is_over = false;
        CurrentGame current;
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < GATHERERS; ++t)
            threads.emplace_back([&, t] { gather_until(search, t > 0 ? &cache : nullptr, is_over, t); });
        threads.emplace_back([&search, &is_over] { read_until(search, is_over); });
        // In the first half of the games nothing is entered: most results end a search early.
        if (g >= games / 2) threads.emplace_back([&] { prove_until(search, current, is_over); });
        kept += play(search, g % 2 == 0 ? Position() : Position(Board::from_sfen(MATSURI)), current, random);
        is_over.store(true);
        for (std::thread& thread : threads) thread.join();
        search.check_invariants();
    }
    std::printf("%d games, %d positions kept their tree, %zu bytes\n", games, kept, search.bytes_used());
    return kept;
}

int run() {
    SearchParams params;
    params.leaf_mate_nodes = 10;  // each batch has a solver of its own
    params.root_move_mate_nodes = 20;
    params.draw_value_black = 0.4F;
    params.review_visits = 8;
    params.policy_history = 7.0F;
    params.value_correction = 0.35F;
    const int plain = play_games(params, GAMES);
    params.root_visit_noise = 0.05F;
    params.root_noise_epsilon = 0.25F;
    params.forced_playouts = 2.0F;
    const int exploring = play_games(params, GAMES / 2);
    params.root_rule = RootRule::GUMBEL;
    const int gumbel = play_games(params, GAMES / 2);
    return plain > 0 && exploring > 0 && gumbel > 0 ? 0 : 1;
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
