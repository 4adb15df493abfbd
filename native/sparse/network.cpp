#include "sparse/network.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "network/processor.hpp"

namespace fukayomi {

namespace {

constexpr std::size_t TOGETHER = 8;  // positions whose rows are compared

std::size_t padded(std::size_t count, std::size_t unit) { return (count + unit - 1) / unit * unit; }

// Number i of an array in a file.
template <class Number>
Number at(const std::uint8_t* array, std::size_t i) {
    Number number;
    std::memcpy(&number, array + i * sizeof(Number), sizeof(Number));
    return number;
}

template <class Number>
Aligned<Number> copied(const std::uint8_t* array, std::size_t count, std::size_t padding = 0) {
    Aligned<Number> copy(count + padding);
    std::memcpy(copy.data(), array, count * sizeof(Number));
    return copy;
}

// Rows with zeros behind each.
Aligned<std::int8_t> copied_rows(const std::uint8_t* array, std::size_t rows, std::size_t columns, std::size_t stride) {
    Aligned<std::int8_t> copy(rows * stride);
    for (std::size_t row = 0; row < rows; ++row) std::memcpy(copy.data() + row * stride, array + row * columns, columns);
    return copy;
}

// Columns 0, 2, 4 ..., then 1, 3, 5 ...
Aligned<std::int16_t> parted(const std::uint8_t* array, std::size_t columns) {
    Aligned<std::int16_t> parts(columns);
    for (std::size_t c = 0; c < columns; ++c) parts.data()[c % 2 * (columns / 2) + c / 2] = at<std::int16_t>(array, c);
    return parts;
}

// Sets a bit at each row. Eight rows are read before they are written: a row that follows itself closely would hold up the processor.
void mark(std::span<const std::uint16_t> rows, std::uint8_t bit, std::uint8_t* users) {
    constexpr std::size_t AT_ONCE = 8;
    std::size_t n = 0;
    for (; n + AT_ONCE <= rows.size(); n += AT_ONCE) {
        std::array<std::uint8_t, AT_ONCE> marked;
        for (std::size_t i = 0; i < AT_ONCE; ++i) marked[i] = users[rows[n + i]] | bit;
        for (std::size_t i = 0; i < AT_ONCE; ++i) users[rows[n + i]] = marked[i];
    }
    for (; n < rows.size(); ++n) users[rows[n]] |= bit;
}

std::vector<const SparseKernels*> find_usable() {
    const Instructions& has = usable_instructions();
    std::vector<const SparseKernels*> found{&portable_sparse_kernels()};
    const auto add = [&](bool is_usable, const SparseKernels* kernels) {
        if (is_usable && kernels != nullptr) found.push_back(kernels);
    };
    add(true, sse4_sparse_kernels());
    add(true, neon_sparse_kernels());
    add(has.avx2, avx2_sparse_kernels());
    add(has.avx2 && has.avx_vnni, avx_vnni_sparse_kernels());
    add(has.avx512, avx512_sparse_kernels());
    add(has.avx512 && has.vnni, vnni_sparse_kernels());
    return found;
}

}  // namespace

const std::vector<const SparseKernels*>& usable_sparse_kernels() {
    static const std::vector<const SparseKernels*> usable = find_usable();
    return usable;
}

SparseNetwork::SparseNetwork(std::span<const std::uint8_t> file, const SparseKernels& kernels) : kernels_(kernels) {
    const SparseArrays arrays = read_sparse_file(file);
    widths_ = arrays.widths;
    std::memcpy(&scales_, arrays.scales, sizeof(scales_));
    label_stride_ = padded(widths_.policy / 2, ROW_UNIT);
    group_stride_ = padded(widths_.shared, ROW_UNIT);
    hidden_ = padded(widths_.hidden, HIDDEN_UNIT);

    const std::size_t columns = widths_.columns();
    table_ = Aligned<std::uint8_t>(SPARSE_ROWS * columns);
    value_rows_ = Aligned<std::int16_t>(SPARSE_ROWS);
    for (std::size_t row = 0, kept = 0; row < SPARSE_ROWS; ++row) {
        std::uint8_t* const to = table_.data() + row * columns;
        if (is_kept(row)) {
            std::memcpy(to, arrays.table + kept * columns, columns);
            value_rows_.data()[row] = at<std::int16_t>(arrays.value_rows, kept++);
        }
        for (std::size_t c = 0; c < columns; c += 2) to[c] ^= 0x80;  // 128 more
    }
    tops_ = parted(arrays.tops, columns);
    bias_ = parted(arrays.bias, columns);
    factors_ = Aligned<std::int16_t>(columns);
    const std::size_t odd = columns / 2;
    for (const auto& [first, width] : {std::pair{std::size_t{0}, widths_.policy}, std::pair{widths_.policy / 2, widths_.value}})
        for (const std::size_t part : {first, odd + first})
            for (std::size_t i = part; i < part + width / 4; ++i)
                factors_.data()[i] = static_cast<std::int16_t>(
                    std::lround(127.0 * (1 << 20) / (static_cast<double>(tops_.data()[i]) * tops_.data()[i + width / 4])));

    label_table_ = copied_rows(arrays.label_table, SPARSE_LABELS, widths_.policy / 2, label_stride_);
    group_table_ = copied_rows(arrays.group_table, MOVE_ROWS, widths_.shared, group_stride_);
    label_scales_ = copied<float>(arrays.label_scales, SPARSE_LABELS);
    label_bias_ = copied<std::int16_t>(arrays.label_bias, SPARSE_LABELS);
    group_bias_ = copied<std::int16_t>(arrays.group_bias, MOVE_ROWS);

    const std::size_t inputs = widths_.value / 2, hidden = widths_.hidden, padding = hidden_ - hidden;
    value_layer1_ = Aligned<std::int16_t>(inputs * hidden_);
    value_layer2_ = AlignedFloats(hidden * hidden_);
    for (std::size_t o = 0; o < hidden; ++o) {
        for (std::size_t i = 0; i < inputs; ++i)
            value_layer1_.data()[(i / 2 * hidden_ + o) * 2 + i % 2] = at<std::int16_t>(arrays.value_layer1, o * inputs + i);
        for (std::size_t i = 0; i < hidden; ++i) value_layer2_.data()[i * hidden_ + o] = at<float>(arrays.value_layer2, o * hidden + i);
    }
    value_scales1_ = copied<float>(arrays.value_scales1, hidden, padding);
    value_bias1_ = copied<float>(arrays.value_bias1, hidden, padding);
    value_bias2_ = copied<float>(arrays.value_bias2, hidden, padding);
    value_layer3_ = copied<float>(arrays.value_layer3, hidden, padding);
}

std::size_t SparseNetwork::bytes() const {
    return table_.bytes() + label_table_.bytes() + group_table_.bytes() + label_bias_.bytes() + group_bias_.bytes() + value_rows_.bytes() +
           value_layer1_.bytes() + value_layer2_.bytes();
}

SparseNetwork::Scratch::Scratch(const SparseNetwork& network)
    : sums_(network.widths_.columns()), shared_sums_(network.widths_.columns()), users_(SPARSE_ROWS), shared_(MAX_SPARSE_ROWS),
      own_(MAX_SPARSE_ROWS), policy_(network.label_stride_), value_(network.widths_.value / 2), wide_value_(network.widths_.value / 2),
      labels_(MAX_MOVES + MOVES_AT_ONCE), groups_(MAX_MOVES + MOVES_AT_ONCE), hidden_sums_(network.hidden_), hidden1_(network.hidden_),
      hidden2_(network.hidden_) {}

bool SparseNetwork::evaluate(Scratch& scratch, std::size_t first, std::size_t count, const SparseInput& in, const SlotOutput& out) const {
    bool is_finite = true;
    for (const std::size_t end = first + count; first < end; first += TOGETHER)
        is_finite &= evaluate_some(scratch, first, std::min(TOGETHER, end - first), in, out);
    return is_finite;
}

// Leaves of one tree have more than half of their rows in common where their boards are seen alike: those are added once. The sums are
// exact, so their order does not matter.
bool SparseNetwork::evaluate_some(Scratch& scratch, std::size_t first, std::size_t count, const SparseInput& in,
                                  const SlotOutput& out) const {
    std::array<unsigned, SparseInput::VIEWS> sets{};  // of positions
    for (std::size_t k = 0; k < count; ++k) sets[in.view(first + k)] |= 1U << k;
    std::uint8_t* const users = scratch.users_.data();
    const auto shares = [](unsigned set) { return (set & (set - 1)) != 0; };
    if (std::any_of(sets.begin(), sets.end(), shares)) {
        std::fill_n(users, SPARSE_ROWS, std::uint8_t{0});
        for (std::size_t k = 0; k < count; ++k)
            if (shares(sets[in.view(first + k)])) mark(in.rows(first + k), static_cast<std::uint8_t>(1U << k), users);
        // Only rows of threats may occur more than once in a position, and so are left out.
        std::fill_n(users + FIRST_THREAT_ROW, THREAT_ROWS, std::uint8_t{0});
    }
    bool is_finite = true;
    const Sums start{bias_.data(), 0};
    for (const unsigned set : sets) {
        if (set == 0) continue;
        const auto leader = static_cast<std::size_t>(std::countr_zero(set));
        if (!shares(set)) {
            is_finite &= finish(scratch, first + leader, start, in.rows(first + leader), in, out);
            continue;
        }
        const auto is_shared = [users, set](std::uint16_t row) { return (users[row] & set) == set; };
        std::uint16_t *const shared = scratch.shared_.data(), *const own = scratch.own_.data();
        std::size_t sharing = 0;
        for (const std::uint16_t row : in.rows(first + leader)) {
            shared[sharing] = row;
            sharing += std::size_t{is_shared(row)};
        }
        kernels_.sum_rows(shared, sharing, table_.data(), widths_.columns(), bias_.data(), scratch.shared_sums_.data());
        const Sums common{scratch.shared_sums_.data(), value_sum({shared, sharing})};
        for (std::size_t k = leader; k < count; ++k) {
            if ((set >> k & 1) == 0) continue;
            std::size_t owned = 0;
            for (const std::uint16_t row : in.rows(first + k)) {
                own[owned] = row;
                owned += std::size_t{!is_shared(row)};
            }
            is_finite &= finish(scratch, first + k, common, {own, owned}, in, out);
        }
    }
    return is_finite;
}

bool SparseNetwork::finish(Scratch& scratch, std::size_t n, const Sums& start, std::span<const std::uint16_t> rows, const SparseInput& in,
                           const SlotOutput& out) const {
    const std::size_t columns = widths_.columns(), odd = columns / 2, begin = widths_.policy / 2;
    std::int16_t* const sums = scratch.sums_.data();
    kernels_.sum_rows(rows.data(), rows.size(), table_.data(), columns, start.columns, sums);
    kernels_.products(sums, tops_.data(), factors_.data(), odd, widths_.policy, scratch.policy_.data());
    kernels_.products(sums + begin, tops_.data() + begin, factors_.data() + begin, odd, widths_.value, scratch.value_.data());
    const bool is_finite = policy(scratch, in.move_features(n), out.logits + n * MAX_MOVES);
    const float logit = value_logit(scratch, start.value + value_sum(rows));
    out.values[n] = 1 / (1 + std::exp(-logit));
    return is_finite && std::isfinite(logit);
}

std::int32_t SparseNetwork::value_sum(std::span<const std::uint16_t> rows) const {
    std::int32_t sum = 0;
    for (const std::uint16_t row : rows) sum += value_rows_.data()[row];
    return sum;
}

bool SparseNetwork::policy(Scratch& scratch, std::span<const MoveFeatures> moves, float* logits) const {
    static_assert(sizeof(MoveFeatures) == (1 + MOVE_GROUPS) * sizeof(std::uint16_t));
    const MoveRows tables{label_table_.data(), group_table_.data(), label_stride_, group_stride_};
    const std::int32_t *const labels = scratch.labels_.data(), *const groups = scratch.groups_.data();
    kernels_.move_sums(reinterpret_cast<const std::uint16_t*>(moves.data()), moves.size(), scratch.policy_.data(), tables,
                       scratch.labels_.data(), scratch.groups_.data());
    bool is_finite = true;
    for (std::size_t m = 0; m < moves.size(); ++m) {
        std::int32_t bias = label_bias_.data()[moves[m].label];
        for (const std::uint16_t row : moves[m].rows) bias += group_bias_.data()[row];
        const float logit = static_cast<float>(bias) * scales_.move_bias +
                            static_cast<float>(labels[m]) * label_scales_.data()[moves[m].label] +
                            static_cast<float>(groups[m]) * scales_.groups;
        logits[m] = logit;
        is_finite &= std::isfinite(logit);
    }
    return is_finite;
}

float SparseNetwork::value_logit(Scratch& scratch, std::int32_t row_sum) const {
    std::int32_t* const sums = scratch.hidden_sums_.data();
    float *const hidden1 = scratch.hidden1_.data(), *const hidden2 = scratch.hidden2_.data();
    std::copy_n(scratch.value_.data(), widths_.value / 2, scratch.wide_value_.data());
    kernels_.multiply_numbers(scratch.wide_value_.data(), widths_.value / 2, value_layer1_.data(), hidden_, sums);
    for (std::size_t i = 0; i < hidden_; ++i)
        hidden1[i] = std::max(0.0f, value_bias1_.data()[i] + static_cast<float>(sums[i]) * value_scales1_.data()[i]);
    kernels_.multiply_floats(hidden1, widths_.hidden, value_layer2_.data(), value_bias2_.data(), hidden_, hidden2);
    float logit = scales_.value_bias3;
    for (std::size_t i = 0; i < widths_.hidden; ++i) logit += std::max(0.0f, hidden2[i]) * value_layer3_.data()[i];
    return logit + static_cast<float>(row_sum) * scales_.value_rows;
}

}  // namespace fukayomi
