// A sparse network under several threads, for the sanitizers: runners with threads of their own, and several at once, give the results of
// one; and threads that run batches of one search, stretch by stretch, leave a tree whose invariants hold.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "network/runner.hpp"
#include "search/search.hpp"
#include "shogi/movegen.hpp"
#include "sparse/network.hpp"

namespace {

using namespace fukayomi;

constexpr SparseWidths WIDTHS{64, 64, 32, 8};
constexpr std::size_t ROWS = 19, ROUNDS = 20, CAPACITY = 8;

std::vector<std::uint8_t> some_file() {
    std::size_t size = SPARSE_HEADER_BYTES;
    const auto add = [&size](std::size_t bytes) { size += (bytes + 63) / 64 * 64; };
    const std::size_t columns = WIDTHS.columns(), hidden = WIDTHS.hidden;
    for (const std::size_t bytes :
         {std::size_t{64}, 2 * columns, 2 * columns, KEPT_ROWS * columns, SPARSE_LABELS * WIDTHS.policy / 2, 4 * SPARSE_LABELS, 2 * SPARSE_LABELS,
          MOVE_ROWS * WIDTHS.shared, 2 * MOVE_ROWS, 2 * KEPT_ROWS, WIDTHS.value * hidden, 4 * hidden, 4 * hidden, 4 * hidden * hidden,
          4 * hidden, 4 * hidden})
        add(bytes);
    std::vector<std::uint8_t> file(size);
    std::copy(SPARSE_MAGIC.begin(), SPARSE_MAGIC.end(), file.begin());
    const std::array<std::uint32_t, 6> header = {SPARSE_FILE_VERSION, SPARSE_FEATURES_VERSION, 64, 64, 32, 8};
    std::memcpy(file.data() + 8, header.data(), sizeof header);
    for (std::size_t c = 0; c < columns; ++c) file[128 + 2 * c] = 200;  // the tops
    const SparseArrays arrays = read_sparse_file(file);
    std::mt19937 random(5);
    const auto fill = [&](const std::uint8_t* array, std::size_t bytes) {
        std::uint8_t* const to = file.data() + (array - file.data());
        for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(random() % 5 - 2);
    };
    const auto set = [&](const std::uint8_t* array, std::size_t count, float number) {
        for (std::size_t i = 0; i < count; ++i) std::memcpy(file.data() + (array - file.data()) + 4 * i, &number, 4);
    };
    fill(arrays.table, KEPT_ROWS * columns);
    fill(arrays.label_table, SPARSE_LABELS * WIDTHS.policy / 2);
    fill(arrays.group_table, MOVE_ROWS * WIDTHS.shared);
    fill(arrays.group_bias, 2 * MOVE_ROWS);
    fill(arrays.value_rows, 2 * KEPT_ROWS);
    set(arrays.scales, 3, 1e-5F);
    set(arrays.label_scales, SPARSE_LABELS, 1e-3F);
    return file;
}

std::vector<Board> some_positions() {
    std::mt19937 random(11);
    std::vector<Board> positions;
    Board board;
    while (positions.size() < ROWS) {
        MoveList moves;
        generate_legal(board, moves);
        if (moves.empty()) board = Board();
        else board.do_move(moves[random() % moves.size()]);
        positions.push_back(board);
    }
    return positions;
}

struct Rows {
    SparseInput input{ROWS};
    std::vector<float> logits = std::vector<float>(ROWS * MAX_MOVES), values = std::vector<float>(ROWS);

    explicit Rows(const std::vector<Board>& positions) {
        for (std::size_t row = 0; row < ROWS; ++row) {
            MoveList moves;
            generate_legal(positions[row], moves);
            input.write(row, positions[row], {moves.begin(), moves.size()});
        }
    }
    SlotOutput output() { return {logits.data(), values.data()}; }
    bool operator==(const Rows& other) const { return logits == other.logits && values == other.values; }
};

using SparseRunner = Runner<SparseNetwork>;

bool runners_agree(const std::shared_ptr<const SparseNetwork>& network) {
    const std::vector<Board> positions = some_positions();
    Rows expected(positions);
    if (!SparseRunner(network, 1).run(ROWS, expected.input, expected.output())) return false;
    std::array<bool, 3> good{};
    std::vector<std::thread> callers;
    for (std::size_t caller = 0; caller < good.size(); ++caller)
        callers.emplace_back([&, caller] {
            SparseRunner runner(network, caller + 1);
            bool all = true;
            for (std::size_t round = 0; round < ROUNDS; ++round) {
                Rows rows(positions);
                all &= runner.run(ROWS, rows.input, rows.output()) && rows == expected;
            }
            good[caller] = all;
        });
    for (std::thread& caller : callers) caller.join();
    return std::ranges::all_of(good, [](bool each) { return each; });
}

void search_until(Search& search, const std::shared_ptr<const SparseNetwork>& network, std::size_t nodes) {
    SparseRunner runner(network, 1);
    SparseInput input(CAPACITY);
    std::vector<float> logits(CAPACITY * MAX_MOVES), values(CAPACITY);
    Batch batch(search, CAPACITY);
    while (search.nodes() < nodes && !search.is_decided()) {
        const auto done = search.run(batch, runner, input, {logits.data(), values.data()},
                                     {CAPACITY, CAPACITY, 8 * CAPACITY, std::chrono::milliseconds(2)});
        if (!done.is_finite) std::terminate();
        if (done.is_idle) std::this_thread::yield();
    }
}

void search_together(const std::shared_ptr<const SparseNetwork>& network, std::size_t threads, std::size_t nodes) {
    Search search(SearchParams(), 16);
    Position position;
    for (int move = 0; move < 3; ++move) {
        search.set_position(position);
        std::vector<std::thread> workers;
        for (std::size_t n = 0; n < threads; ++n) workers.emplace_back([&] { search_until(search, network, nodes); });
        while (search.nodes() < nodes) {
            for (const SearchLine& line : search.lines(2))
                if (line.pv.empty()) std::terminate();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        for (std::thread& worker : workers) worker.join();
        search.check_invariants();
        position.push(search.lines(1).front().move());
    }
}

int run() {
    const std::vector<std::uint8_t> file = some_file();
    for (const SparseKernels* kernels : usable_sparse_kernels())
        if (!runners_agree(std::make_shared<SparseNetwork>(file, *kernels))) {
            std::printf("%s: results differ\n", kernels->name);
            return 1;
        }
    const auto network = std::make_shared<SparseNetwork>(file, *usable_sparse_kernels().back());
    search_together(network, 2, 4'000);
    search_together(network, 8, 4'000);
    return 0;
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
