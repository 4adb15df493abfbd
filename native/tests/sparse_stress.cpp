// A sparse network under several threads, for the sanitizers: runners with threads of their own, and several at once, give the results of
// one; and threads that run batches of one search, stretch by stretch, leave a tree whose invariants hold. And the kernels of training, of
// which Python sees the fastest, agree for all vector instructions.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "network/processor.hpp"
#include "network/runner.hpp"
#include "search/search.hpp"
#include "shogi/movegen.hpp"
#include "sparse/network.hpp"
#include "sparse/training_kernels.hpp"

namespace {

using namespace fukayomi;

constexpr SparseWidths WIDTHS{64, 64, 32, 8};
constexpr std::size_t ROWS = 19, ROUNDS = 20, CAPACITY = 8;

std::vector<std::uint8_t> some_file() {
    std::size_t size = SPARSE_HEADER_BYTES;
    const auto add = [&size](std::size_t bytes) { size += (bytes + 63) / 64 * 64; };
    const std::size_t columns = WIDTHS.columns(), hidden = WIDTHS.hidden;
    for (const std::size_t bytes : {std::size_t{64}, 2 * columns, 2 * columns, KEPT_ROWS * columns, SPARSE_LABELS * WIDTHS.policy / 2,
                                    4 * SPARSE_LABELS, 2 * SPARSE_LABELS, MOVE_ROWS * WIDTHS.shared, 2 * MOVE_ROWS, 2 * KEPT_ROWS,
                                    WIDTHS.value * hidden, 4 * hidden, 4 * hidden, 4 * hidden * hidden, 4 * hidden, 4 * hidden})
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
        if (moves.empty())
            board = Board();
        else
            board.do_move(moves[random() % moves.size()]);
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

// Everything that the kernels of training compute of the same random numbers.
std::vector<float> trained(const TrainingKernels& kernels) {
    constexpr std::size_t POSITIONS = 9, ROWS_OF_EACH = 21, MOVES_OF_EACH = 7, STRIDE = 2 * BLOCK, SIZE = POSITIONS * BLOCK;
    std::mt19937 random(3);
    const auto floats = [&random](std::size_t count) {
        std::vector<float> numbers(count);
        for (float& number : numbers) number = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
        return numbers;
    };
    const auto indices = [&random](std::size_t count, std::size_t end) {
        std::vector<std::uint16_t> found(count);
        for (std::uint16_t& index : found) index = static_cast<std::uint16_t>(random() % end);
        return found;
    };
    const auto offsets = [](std::size_t each) {
        std::vector<std::int64_t> found;
        for (std::size_t n = 0; n <= POSITIONS; ++n) found.push_back(static_cast<std::int64_t>(n * each));
        return found;
    };
    const std::size_t others = SPARSE_ROWS - SQUARE_ROWS;
    const std::array<std::size_t, 5> sizes = {SQUARE_ROWS * BLOCK, ROW_CONTENTS * ROW_ATTACKS * BLOCK, ROW_CONTENTS * ROW_SQUARES * BLOCK,
                                              others * BLOCK, BLOCK};
    std::array<std::vector<float>, 5> parts, gradients;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i] = floats(sizes[i]);
        gradients[i].resize(sizes[i]);
    }
    const auto rows = indices(POSITIONS * ROWS_OF_EACH, SPARSE_ROWS), labels = indices(POSITIONS * MOVES_OF_EACH, SPARSE_LABELS),
               groups = indices(labels.size() * MOVE_GROUPS, MOVE_ROWS);
    const auto row_offsets = offsets(ROWS_OF_EACH), move_offsets = offsets(MOVES_OF_EACH);
    const Bags bags{POSITIONS, rows.data(), row_offsets.data()};
    const MoveBags moves{POSITIONS, move_offsets.data(), labels.data(), groups.data()};

    std::vector<float> table(SPARSE_ROWS * BLOCK), sums(SIZE), products(POSITIONS * STRIDE), unclipped(SIZE);
    kernels.merge_rows(rows.data(), rows.size(), {parts[0].data(), parts[1].data(), parts[2].data(), parts[3].data(), nullptr},
                       table.data());
    kernels.sum_rows(bags, table.data(), parts[4].data(), sums.data());
    const std::vector<float> other = floats(SIZE);
    kernels.multiply(sums.data(), other.data(), POSITIONS, products.data(), STRIDE);
    kernels.unclip(sums.data(), other.data(), products.data(), STRIDE, POSITIONS, unclipped.data(), gradients[4].data());
    std::vector<std::uint32_t> starts(SPARSE_ROWS + 1), positions;
    for (std::size_t row = 0; row < SPARSE_ROWS; ++row) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (rows[i] == row) positions.push_back(static_cast<std::uint32_t>(i / ROWS_OF_EACH));
        starts[row + 1] = static_cast<std::uint32_t>(positions.size());
    }
    kernels.gather_rows({starts.data(), positions.data()}, SPARSE_ROWS, unclipped.data(),
                        {gradients[0].data(), gradients[1].data(), gradients[2].data(), gradients[3].data(), nullptr});

    const std::vector<float> label_table = floats(SPARSE_LABELS * BLOCK), group_table = floats(MOVE_ROWS * BLOCK),
                             hidden = floats(POSITIONS * STRIDE), of_logits = floats(labels.size());
    std::vector<float> logits(labels.size()), of_labels(label_table.size()), of_groups(group_table.size()), of_hidden(hidden.size());
    for (const float* group_rows : {group_table.data(), static_cast<const float*>(nullptr)}) {
        kernels.move_logits(moves, 0, POSITIONS, label_table.data(), group_rows, hidden.data(), STRIDE, logits.data());
        kernels.move_logits_backward(moves, label_table.data(), group_rows, hidden.data(), STRIDE, of_logits.data(), of_labels.data(),
                                     group_rows == nullptr ? nullptr : of_groups.data(), of_hidden.data());
    }
    std::vector<float> all;
    for (const auto& part : gradients) all.insert(all.end(), part.begin(), part.end());
    for (const auto* part : {&table, &sums, &products, &unclipped, &logits, &of_labels, &of_groups, &of_hidden})
        all.insert(all.end(), part->begin(), part->end());
    return all;
}

bool training_kernels_agree() {
    const Instructions& has = usable_instructions();
    const std::vector<float> expected = trained(portable_training_kernels());
    for (const TrainingKernels* kernels : {has.avx2 ? avx2_training_kernels() : nullptr, has.avx512 ? avx512_training_kernels() : nullptr})
        if (kernels != nullptr && !std::ranges::equal(trained(*kernels), expected,
                                                      [](float a, float b) { return std::abs(a - b) <= 1e-4F * (1.0F + std::abs(b)); }))
            return false;
    return true;
}

int run() {
    if (!training_kernels_agree()) {
        std::printf("the kernels of training differ\n");
        return 1;
    }
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
