// What sparse networks read; their layers for training; their inference. Nothing is converted on the way in: what is written to a copy
// would be lost.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "encode/labels.hpp"
#include "encode/planes.hpp"
#include "network/runner.hpp"
#include "shogi/illegal.hpp"
#include "shogi/position.hpp"
#include "sparse/batch.hpp"
#include "sparse/features.hpp"
#include "sparse/file.hpp"
#include "sparse/input.hpp"
#include "sparse/network.hpp"
#include "sparse/recycled.hpp"
#include "sparse/training.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

template <class T>
using Column = nb::ndarray<T, nb::numpy, nb::shape<-1>>;
using MoveRowsArray = nb::ndarray<std::uint16_t, nb::numpy, nb::shape<-1, MOVE_GROUPS>>;

Column<std::uint16_t> rows_of(const Position& position) {
    SparseReader reader;
    reader.read(position.board());
    std::array<std::uint16_t, MAX_SPARSE_ROWS> rows;
    const std::size_t count = reader.rows(rows);
    return new_array<std::uint16_t, nb::shape<-1>>(rows.data(), count, {count});
}

std::pair<Column<std::uint16_t>, MoveRowsArray> moves_of(const Position& position, const std::vector<Move>& moves) {
    SparseReader reader;
    reader.read(position.board());
    for (const Move m : moves) require_legal(position.board(), m);
    std::vector<MoveFeatures> features(moves.size());
    reader.moves(moves, features.data());
    std::vector<std::uint16_t> labels, rows;
    for (const MoveFeatures& found : features) {
        labels.push_back(found.label);
        rows.insert(rows.end(), found.rows.begin(), found.rows.end());
    }
    return {owned_array(std::move(labels)), owned_array<std::uint16_t, MOVE_GROUPS>(std::move(rows))};
}

// An argument that is an array.
auto array(const char* name) { return nb::arg(name).noconvert(); }

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

std::size_t checked_count(const Array<const std::int64_t>& offsets, std::size_t total) {
    require(offsets.ndim() == 1 && offsets.shape(0) > 0, "offsets have a wrong shape");
    const std::size_t count = offsets.shape(0) - 1;
    const std::int64_t* at = offsets.data();
    require(at[0] == 0 && static_cast<std::size_t>(at[count]) == total, "offsets do not span the rows");
    for (std::size_t n = 0; n < count; ++n) require(at[n] <= at[n + 1], "offsets decrease");
    return count;
}

void require_below(const std::uint16_t* values, std::size_t count, std::size_t end, const char* what) {
    require(count == 0 || greatest({values, count}) < end, what);
}

struct TableShape {
    std::size_t rows, columns;
};

TableShape table_shape(const Array<const float>& table) {
    require(table.ndim() == 3 && table.shape(2) == BLOCK, "a table has the shape [blocks, rows, 32]");
    return {table.shape(1), table.shape(0) * BLOCK};
}

Bags bags_of(const Array<const std::uint16_t>& rows, const Array<const std::int64_t>& offsets, std::size_t table_rows) {
    const Bags bags{checked_count(offsets, rows.size()), rows.data(), offsets.data()};
    require_below(rows.data(), rows.size(), table_rows, "a row is beyond the table");
    return bags;
}

// Throws unless parts of the first layer, or their gradients, belong to the rest.
template <class T>
std::pair<Bags, FirstLayer> layer_of(const Array<const std::uint16_t>& rows, const Array<const std::int64_t>& offsets,
                                     const Array<T>& squares, const Array<T>& attacked, const Array<T>& placed, const Array<T>& others,
                                     const Array<T>& bias, const Array<float>& accumulators, const Array<float>& products) {
    const Bags bags = bags_of(rows, offsets, SPARSE_ROWS);
    require(products.ndim() == 2 && products.shape(0) == bags.count && products.shape(1) % BLOCK == 0, "products have a wrong shape");
    const std::size_t pairs = products.shape(1) / BLOCK, columns = 2 * pairs * BLOCK;
    require(squares.size() == SQUARE_ROWS * columns && attacked.size() == ROW_CONTENTS * ROW_ATTACKS * columns &&
                placed.size() == ROW_CONTENTS * ROW_SQUARES * columns && others.size() == (SPARSE_ROWS - SQUARE_ROWS) * columns &&
                bias.size() == columns,
            "a part of the rows has a wrong shape");
    require(accumulators.size() == bags.count * columns, "accumulators have a wrong shape");
    return {bags, {pairs, accumulators.data(), products.data()}};
}

void first_layer_forward(const Array<const std::uint16_t>& rows, const Array<const std::int64_t>& offsets,
                         const Array<const float>& squares, const Array<const float>& attacked, const Array<const float>& placed,
                         const Array<const float>& others, const Array<const float>& bias, const Array<float>& accumulators,
                         const Array<float>& products, std::size_t threads) {
    const auto [bags, layer] = layer_of(rows, offsets, squares, attacked, placed, others, bias, accumulators, products);
    const Unlocked unlocked;
    first_layer(bags, {squares.data(), attacked.data(), placed.data(), others.data(), bias.data()}, layer, threads);
}

void first_layer_gradients(const Array<const std::uint16_t>& rows, const Array<const std::int64_t>& offsets,
                           const Array<float>& accumulators, const Array<float>& products, const Array<float>& squares,
                           const Array<float>& attacked, const Array<float>& placed, const Array<float>& others, const Array<float>& bias,
                           std::size_t threads) {
    const auto [bags, layer] = layer_of(rows, offsets, squares, attacked, placed, others, bias, accumulators, products);
    const Unlocked unlocked;
    first_layer_backward(bags, layer, {squares.data(), attacked.data(), placed.data(), others.data(), bias.data()}, threads);
}

void sum_weights_forward(const Array<const std::uint16_t>& rows, const Array<const std::int64_t>& offsets,
                         const Array<const float>& weights, const Array<float>& out) {
    const Bags bags = bags_of(rows, offsets, weights.size());
    require(out.size() == bags.count, "out has a wrong shape");
    const Unlocked unlocked;
    sum_weights(bags, weights.data(), out.data());
}

void sum_weights_gradients(const Array<const std::uint16_t>& rows, const Array<const std::int64_t>& offsets,
                           const Array<const float>& gradients, const Array<float>& weight_gradients) {
    const Bags bags = bags_of(rows, offsets, weight_gradients.size());
    require(gradients.size() == bags.count, "gradients have a wrong shape");
    const Unlocked unlocked;
    sum_weights_backward(bags, gradients.data(), weight_gradients.size(), weight_gradients.data());
}

Column<float> recycled_floats(std::size_t count) {
    auto memory = std::make_unique<Recycled>(count);
    nb::capsule owner(memory.get(), [](void* p) noexcept { delete static_cast<Recycled*>(p); });
    return {memory.release()->data(), {count}, owner};
}

MoveBags move_bags_of(const Array<const std::uint16_t>& labels, const Array<const std::uint16_t>& groups,
                      const Array<const std::int64_t>& offsets) {
    const MoveBags moves{checked_count(offsets, labels.size()), offsets.data(), labels.data(), groups.data()};
    require(groups.size() == labels.size() * MOVE_GROUPS, "there are eight group rows for each move");
    require_below(labels.data(), labels.size(), SPARSE_LABELS, "a label is beyond the table");
    require_below(groups.data(), groups.size(), MOVE_ROWS, "a group row is beyond the table");
    return moves;
}

MoveTables move_tables_of(const Array<const float>& labels, const Array<const float>& label_bias, const Array<const float>& groups,
                          const Array<const float>& group_bias) {
    const TableShape of_labels = table_shape(labels), of_groups = table_shape(groups);
    require(of_labels.rows == SPARSE_LABELS && label_bias.size() == SPARSE_LABELS, "the table of labels has a wrong shape");
    require(of_groups.rows == MOVE_ROWS && group_bias.size() == MOVE_ROWS && of_groups.columns <= of_labels.columns,
            "the table of groups has a wrong shape");
    return {of_labels.columns, of_groups.columns, labels.data(), label_bias.data(), groups.data(), group_bias.data()};
}

void move_logits_forward(const Array<const std::uint16_t>& labels, const Array<const std::uint16_t>& groups,
                         const Array<const std::int64_t>& offsets, const Array<const float>& label_table,
                         const Array<const float>& label_bias, const Array<const float>& group_table, const Array<const float>& group_bias,
                         const Array<const float>& hidden, const Array<float>& logits, std::size_t threads) {
    const MoveBags moves = move_bags_of(labels, groups, offsets);
    const MoveTables tables = move_tables_of(label_table, label_bias, group_table, group_bias);
    require(hidden.size() == moves.count * tables.hidden && logits.size() == labels.size(), "hidden or logits have a wrong shape");
    const Unlocked unlocked;
    move_logits(moves, tables, hidden.data(), logits.data(), threads);
}

void move_logits_gradients(const Array<const std::uint16_t>& labels, const Array<const std::uint16_t>& groups,
                           const Array<const std::int64_t>& offsets, const Array<const float>& label_table,
                           const Array<const float>& label_bias, const Array<const float>& group_table,
                           const Array<const float>& group_bias, const Array<const float>& hidden, const Array<const float>& gradients,
                           const Array<float>& label_table_gradients, const Array<float>& label_bias_gradients,
                           const Array<float>& group_table_gradients, const Array<float>& group_bias_gradients,
                           const Array<float>& hidden_gradients, std::size_t threads) {
    const MoveBags moves = move_bags_of(labels, groups, offsets);
    const MoveTables tables = move_tables_of(label_table, label_bias, group_table, group_bias);
    require(hidden.size() == moves.count * tables.hidden && hidden_gradients.size() == hidden.size() && gradients.size() == labels.size(),
            "hidden or gradients have a wrong shape");
    require(label_table_gradients.size() == label_table.size() && label_bias_gradients.size() == label_bias.size() &&
                group_table_gradients.size() == group_table.size() && group_bias_gradients.size() == group_bias.size(),
            "a gradient has another shape than its table");
    const MoveGradients out{label_table_gradients.data(), label_bias_gradients.data(), group_table_gradients.data(),
                            group_bias_gradients.data()};
    const Unlocked unlocked;
    move_logits_backward(moves, tables, hidden.data(), gradients.data(), out, hidden_gradients.data(), threads);
}

using Positions =
    std::tuple<Column<std::uint16_t>, Column<std::int64_t>, Column<std::uint16_t>, MoveRowsArray, Column<std::int64_t>, Column<float>>;

Positions positions_of(SparseBatch& batch) {
    return {owned_array(std::move(batch.rows)),         owned_array(std::move(batch.row_offsets)),
            owned_array(std::move(batch.labels)),       owned_array<std::uint16_t, MOVE_GROUPS>(std::move(batch.groups)),
            owned_array(std::move(batch.move_offsets)), owned_array(std::move(batch.policy))};
}

using TaughtPositions = decltype(std::tuple_cat(std::declval<Positions>(), std::tuple<Column<std::int32_t>, Column<std::int64_t>>()));

TaughtPositions sparse_planes_batch(const Rows<const std::uint8_t, PACKED1_BYTES>& planes1,
                                    const Rows<const std::uint8_t, PACKED2_BYTES>& planes2, const Array<const std::uint16_t>& labels,
                                    const Array<const std::int32_t>& places, const Array<const float>& weights, std::size_t threads,
                                    bool has_moves) {
    const std::size_t count = common_rows(planes1, planes2);
    require(labels.size() == count && weights.size() == places.size(), "labels, places or weights have a wrong shape");
    require(count <= std::numeric_limits<std::int32_t>::max() / POLICY_LABELS, "there are too many positions for places of 32 bits");
    for (std::size_t n = 0; n < count; ++n)
        require(labels.data()[n] < POLICY_LABELS || labels.data()[n] == NO_POLICY_LABEL, "a label is beyond the last");
    std::int32_t position = 0;
    for (std::size_t c = 0; c < places.size(); ++c) {
        const std::int32_t place = places.data()[c], of = place / POLICY_LABELS;
        require(place >= 0 && of >= position && static_cast<std::size_t>(of) < count,
                "places do not ascend by position, up to the last one");
        position = of;
    }
    SparseBatch batch;
    {
        const Unlocked unlocked;
        batch = read_sparse_planes({{planes1.data(), planes1.size()},
                                    {planes2.data(), planes2.size()},
                                    {labels.data(), count},
                                    {places.data(), places.size()},
                                    {weights.data(), weights.size()},
                                    has_moves},
                                   threads);
    }
    return std::tuple_cat(positions_of(batch), std::tuple(owned_array(std::move(batch.places)), owned_array(std::move(batch.played))));
}

Positions sparse_batch(const Rows<const std::uint8_t, HCP_BYTES>& hcps, const Array<const std::int64_t>& offsets,
                       const Array<const std::uint16_t>& moves, const Array<const std::uint16_t>& visits, std::size_t threads) {
    const std::size_t count = hcps.shape(0);
    require(checked_count(offsets, moves.size()) == count && visits.size() == moves.size(), "offsets, moves or visits have a wrong shape");
    SparseBatch batch;
    {
        const Unlocked unlocked;
        batch = read_sparse_batch(
            {{hcps.data(), hcps.size()}, {offsets.data(), count + 1}, {moves.data(), moves.size()}, {visits.data(), visits.size()}},
            threads);
    }
    return positions_of(batch);
}

std::vector<std::string> instructions() {
    std::vector<std::string> names;
    for (const SparseKernels* kernels : usable_sparse_kernels()) names.emplace_back(kernels->name);
    return names;
}

const SparseKernels& kernels_named(const std::optional<std::string>& name) {
    if (!name) return *usable_sparse_kernels().back();
    for (const SparseKernels* kernels : usable_sparse_kernels())
        if (*name == kernels->name) return *kernels;
    throw std::invalid_argument("this processor has no " + *name);
}

Column<std::uint16_t> kept_rows() {
    std::vector<std::uint16_t> rows;
    for (std::size_t row = 0; row < SPARSE_ROWS; ++row)
        if (is_kept(row)) rows.push_back(static_cast<std::uint16_t>(row));
    return owned_array(std::move(rows));
}

using FileBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::tuple<std::size_t, std::size_t, std::size_t, std::size_t> check_file(const FileBytes& file) {
    const SparseWidths widths = read_sparse_file({file.data(), file.size()}).widths;
    return {widths.policy, widths.value, widths.shared, widths.hidden};
}

using SparseRunner = Runner<SparseNetwork>;

}  // namespace

void bind_sparse(nb::module_& m) {
    m.attr("SPARSE_FEATURES_VERSION") = SPARSE_FEATURES_VERSION;
    m.attr("SPARSE_ROWS") = SPARSE_ROWS;
    m.attr("SPARSE_LABELS") = SPARSE_LABELS;
    m.attr("MOVE_ROWS") = MOVE_ROWS;
    m.def("sparse_rows", &rows_of, "position"_a,
          "The rows of a position that a sparse network adds up: uint16 [N], each below `SPARSE_ROWS`; one that occurs twice\n"
          "counts twice.");
    m.def("sparse_moves", &moves_of, "position"_a, "moves"_a,
          "The features of legal moves to a sparse network.\n\n"
          "Returns:\n"
          "    Labels, uint16 [M], each below `SPARSE_LABELS`; and the rows of the eight groups, uint16 [M, 8], each below\n"
          "    `MOVE_ROWS`.\n\n"
          "Raises:\n    IllegalMoveError: A move is not legal.");
    m.def("first_layer", &first_layer_forward, array("rows"), array("offsets"), array("squares"), array("attacked"), array("placed"),
          array("others"), array("bias"), array("accumulators"), array("products"), "threads"_a,
          "Write for each position the bias and the sum of its rows, clipped to 0 to 1, and the products of their halves: the first\n"
          "layer of one head.\n\n"
          "Args:\n"
          "    rows: Rows of all positions: uint16 [K].\n"
          "    offsets: Position n has rows[offsets[n] : offsets[n + 1]]: int64 [N + 1].\n"
          "    squares: Of the rows of squares, which are sums of this and the next two: float32 [C / 32, 29, 9, 81, 32].\n"
          "    attacked: By content and attacks: float32 [C / 32, 29, 9, 32].\n"
          "    placed: By content and square: float32 [C / 32, 29, 81, 32].\n"
          "    others: The other rows: float32 [C / 32, rows, 32].\n"
          "    bias: float32 [C].\n"
          "    accumulators: The clipped sums: float32 [C / 32, N, 32], output.\n"
          "    products: The first half of the accumulators times the second: float32 [N, C / 2], output.\n"
          "    threads: CPU threads; the result does not depend on them.\n\n"
          "Raises:\n    ValueError: A shape is wrong, or a row is beyond the table.");
    m.def("first_layer_backward", &first_layer_gradients, array("rows"), array("offsets"), array("accumulators"), array("products"),
          array("squares"), array("attacked"), array("placed"), array("others"), array("bias"), "threads"_a,
          "Write the gradients of the parts and the bias of `first_layer` from those of `products`.");
    m.def("sum_weights", &sum_weights_forward, array("rows"), array("offsets"), array("weights"), array("out"),
          "Write for each position the sum of the weights, [rows], of its rows: float32 [N].\n\n"
          "Raises:\n    ValueError: A shape is wrong, or a row has no weight.");
    m.def("sum_weights_backward", &sum_weights_gradients, array("rows"), array("offsets"), array("gradients"), array("weight_gradients"),
          "Write the gradients of the weights of `sum_weights` from those of the sums.");
    m.def("recycled_floats", &recycled_floats, "count"_a,
          "Uninitialised float32 [count], in memory that such an array had before, if there is some: no page of it is new.");
    m.def("move_logits", &move_logits_forward, array("labels"), array("groups"), array("offsets"), array("label_table"),
          array("label_bias"), array("group_table"), array("group_bias"), array("hidden"), array("logits"), "threads"_a,
          "Write the logits of moves.\n\n"
          "Args:\n"
          "    labels: uint16 [M].\n"
          "    groups: uint16 [M, 8].\n"
          "    offsets: Position n has the moves from offsets[n] to offsets[n + 1]: int64 [N + 1].\n"
          "    label_table: float32 [H / 32, SPARSE_LABELS, 32].\n"
          "    label_bias: float32 [SPARSE_LABELS].\n"
          "    group_table: float32 [K / 32, MOVE_ROWS, 32]; K is at most H.\n"
          "    group_bias: float32 [MOVE_ROWS].\n"
          "    hidden: float32 [N, H].\n"
          "    logits: float32 [M], output.\n"
          "    threads: CPU threads; the result does not depend on them.\n\n"
          "Raises:\n    ValueError: A shape is wrong, or a row is beyond its table.");
    m.def("move_logits_backward", &move_logits_gradients, array("labels"), array("groups"), array("offsets"), array("label_table"),
          array("label_bias"), array("group_table"), array("group_bias"), array("hidden"), array("gradients"),
          array("label_table_gradients"), array("label_bias_gradients"), array("group_table_gradients"), array("group_bias_gradients"),
          array("hidden_gradients"), "threads"_a,
          "Add the gradients of `move_logits`, [M], to those of its tables, and write those of `hidden`.");
    m.def("sparse_planes_batch", &sparse_planes_batch, array("planes1"), array("planes2"), array("labels"), array("places"),
          array("weights"), "threads"_a, "has_moves"_a = true,
          "What a sparse network reads of packed positions, with their targets of training.\n\n"
          "Args:\n"
          "    planes1: uint8 [N, 628].\n"
          "    planes2: uint8 [N, 8].\n"
          "    labels: Policy label of the move played, or NO_POLICY_LABEL: uint16 [N].\n"
          "    places: Where the policy is not zero, as n * 2187 + label; n ascends: int32 [C].\n"
          "    weights: The policy there: float32 [C].\n"
          "    threads: CPU threads; the result does not depend on them.\n"
          "    has_moves: False reads the rows alone; all that is of moves is empty.\n\n"
          "Returns:\n"
          "    As `sparse_batch`, with the policy as shares; and for each move n * 2187 + its label, int32 [M], for each position the\n"
          "    number of the move played, -1 if there is none, int64 [N]. What the search leaves out counts for its promotion.\n\n"
          "Raises:\n    InvalidPackedError: Planes are no position that the rules allow; the message has its number.\n"
          "    ValueError: A shape, a label or a place is wrong.");
    m.def("sparse_batch", &sparse_batch, array("hcps"), array("offsets"), array("moves"), array("visits"), "threads"_a,
          "What a sparse network reads of positions, and the shares of their candidates' visits.\n\n"
          "Args:\n"
          "    hcps: Positions: uint8 [N, 32].\n"
          "    offsets: Position n has the candidates from offsets[n] to offsets[n + 1]: int64 [N + 1].\n"
          "    moves: Candidates, as `Move.raw`: uint16 [C].\n"
          "    visits: Their visits: uint16 [C].\n"
          "    threads: CPU threads; the result does not depend on them.\n\n"
          "Returns:\n"
          "    Rows of the positions, uint16 [K], and their offsets, int64 [N + 1]; labels, uint16 [M], and group rows, uint16\n"
          "    [M, 8], of the moves that the search tries, and their offsets, int64 [N + 1]; shares of visits, float32 [M].\n\n"
          "Raises:\n    InvalidPackedError: A position is none that the rules allow; the message has its number.\n"
          "    ValueError: A shape or an offset is wrong.");
    m.def("sparse_instructions", &instructions,
          "The vector instructions of this processor that `SparseInferenceNetwork` can use, the fastest last.");
    m.def("sparse_kept_rows", &kept_rows,
          "The rows of positions that a file of a sparse network has, in order: uint16 [N]. The others do not occur in games, and\n"
          "count as zeros.");
    m.def("check_sparse_file", &check_file, array("file"),
          "The widths that a file of a sparse network has: policy, value, shared, hidden. The hash is not compared.\n\n"
          "Raises:\n    ValueError: It is none, or has numbers that cannot be; the message says what is wrong.");
    nb::class_<SparseInput, SlotInput>(m, "SparseInput", "What a sparse network reads of the positions of a batch.")
        .def(nb::init<std::size_t>(), "capacity"_a, "Args:\n    capacity: Rows, one for a position.");
    nb::class_<SparseNetwork>(m, "SparseInferenceNetwork",
                              "A sparse network in integers, on the CPU.\n\n"
                              "The result of a position depends on nothing else in the batch, and has the same bits with all\n"
                              "vector instructions.")
        .def(
            "__init__",
            [](SparseNetwork* self, const FileBytes& file, const std::optional<std::string>& name) {
                const SparseKernels& kernels = kernels_named(name);
                const Unlocked unlocked;
                new (self) SparseNetwork({file.data(), file.size()}, kernels);
            },
            array("file"), "instructions"_a = nb::none(),
            "Args:\n    file: The bytes of a file, uint8 [N]; they are copied. The hash is not compared.\n"
            "    instructions: One of `sparse_instructions`; None: the fastest.\n\n"
            "Raises:\n    ValueError: It is no file of a sparse network, or the processor has no such instructions.")
        .def_prop_ro(
            "instructions", [](const SparseNetwork& network) { return network.kernels().name; }, "The vector instructions that it uses.")
        .def_prop_ro("bytes", &SparseNetwork::bytes, "Memory of the weights, in bytes.");
    nb::class_<SparseRunner, CoreEvaluator>(m, "SparseRunner",
                                            "Runs a sparse network on the batches of one slot, with memory and threads of its own.")
        .def(nb::init<std::shared_ptr<SparseNetwork>, std::size_t>(), "network"_a, "threads"_a,
             "Args:\n    network: The network.\n    threads: Threads that share the positions of a batch, 1 to 1024.\n\n"
             "Raises:\n    ValueError: There cannot be so many threads.\n    RuntimeError: The system has no more threads.");
}
