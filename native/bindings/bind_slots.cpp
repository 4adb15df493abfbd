// The inputs of batches. Arrays belong to the caller, who may keep them; the objects keep them alive.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "codec/hcp.hpp"
#include "encode/batch.hpp"
#include "encode/evaluator.hpp"
#include "shogi/illegal.hpp"
#include "shogi/position.hpp"
#include "slots.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

void write_position(SlotInput& input, std::size_t row, const Position& position, const std::vector<Move>& moves) {
    require_rows_of(input, row, 1);
    if (moves.size() > MAX_MOVES)
        throw std::invalid_argument("a position has at most " + std::to_string(MAX_MOVES) + " moves, not " + std::to_string(moves.size()));
    for (const Move m : moves) require_legal(position.board(), m);
    input.write(row, position.board(), moves);
}

void write_hcps(SlotInput& input, const Rows<const std::uint8_t, HCP_BYTES>& hcps, const Labels& moves, const Labels& labels) {
    const std::size_t n = common_rows(hcps, moves, labels);
    require_rows_of(input, 0, n);
    const Unlocked release;
    write_hcp_batch(n, hcps.data(), input, moves.data(), labels.data());
}

nb::ndarray<const std::uint16_t, nb::numpy, nb::shape<-1>> counts(const SlotInput& input) {
    const std::size_t rows = input.capacity();
    auto numbers = std::make_unique<std::uint16_t[]>(rows);
    for (std::size_t row = 0; row < rows; ++row) numbers[row] = static_cast<std::uint16_t>(input.moves(row));
    nb::capsule owner(numbers.get(), [](void* p) noexcept { delete[] static_cast<std::uint16_t*>(p); });
    return {numbers.release(), {rows}, owner};
}

bool run(CoreEvaluator& evaluator, const SlotInput& input, std::size_t n, const Rows<float, MAX_MOVES>& logits, const Rows<float>& values) {
    require_rows_of(input, 0, n);
    require_rows(n, logits, values);
    for (std::size_t row = 0; row < n; ++row)
        if (input.moves(row) > MAX_MOVES)
            throw std::invalid_argument("row " + std::to_string(row) + ": the count " + std::to_string(input.moves(row)) + " is above " +
                                        std::to_string(MAX_MOVES));
    const Unlocked release;
    try {
        return evaluator.evaluate(input, n, {logits.data(), values.data()});
    } catch (const std::out_of_range& e) {
        throw std::invalid_argument(e.what());
    }
}

template <class T, std::size_t COLUMNS>
using Matrix = nb::ndarray<T, nb::numpy, nb::shape<-1, COLUMNS>>;

}  // namespace

void bind_slots(nb::module_& m) {
    nb::class_<CoreEvaluator>(m, "CoreEvaluator", "An evaluator in the core, which `Search.run` asks for one batch after the other.")
        .def("run", &run, "input"_a, "n"_a, "logits"_a.noconvert(), "values"_a.noconvert(),
             "Evaluate the first n rows. The result of a position depends neither on the others nor on threads.\n\n"
             "Args:\n    input: Positions and moves, of the kind that it reads.\n    n: The rows to evaluate.\n"
             "    logits: float32 [C, 593], written up to the number of moves in each row.\n"
             "    values: float32 [C], written: win probability of the side to move.\n\n"
             "Returns:\n    False if a result is not finite.\n\n"
             "Raises:\n    ValueError: The input is of another kind, a count is above 593 or a label above 2186; the message names the "
             "row.");
    nb::class_<SlotInput>(m, "SlotInput",
                          "What an evaluator reads of the positions of a batch: a row for each, with the moves whose logits are wanted.\n\n"
                          "An evaluator makes one that keeps what it needs; `Search.gather` and `SelfplayPool.gather` write it.")
        .def_prop_ro("capacity", &SlotInput::capacity, "Number of rows.")
        .def_prop_ro("counts", &counts, nb::rv_policy::automatic,
                     "Number of moves of each row, 0 if it was never written: uint16 [capacity], read-only.")
        .def("write", &write_position, "row"_a, "position"_a, "moves"_a,
             "Write a position and moves of it; the logits come in their order.\n\n"
             "Args:\n    row: From 0.\n    position: The position; its past does not matter.\n    moves: Legal moves.\n\n"
             "Raises:\n    IllegalMoveError: A move is not legal.\n    ValueError: There is no such row, or there are more than 593 moves.")
        .def("write_hcps", &write_hcps, "hcps"_a.noconvert(), "moves"_a.noconvert(), "labels"_a.noconvert(),
             "Write packed positions into the rows from 0 on, each with all of its legal moves, in the order of\n"
             "`Position.legal_moves`; and say which moves these are.\n\n"
             "Args:\n    hcps: uint8 [N, 32].\n"
             "    moves: uint16 [N, 593], written up to counts[i] in each row: the moves as `Move.raw`.\n"
             "    labels: uint16 [N, 593], written as far: their policy labels.\n\n"
             "Raises:\n    InvalidPackedError: A record is not a position; the message names its index.\n"
             "    ValueError: The arrays differ in their number of rows, or there are fewer rows.");
    nb::class_<PlaneInput, SlotInput>(m, "PlaneInput", "Bit-packed planes and policy labels, in arrays of the caller.")
        .def(
            "__init__",
            [](PlaneInput* self, const Planes1& planes1, const Planes2& planes2, const Labels& labels, const Counts& counts) {
                const std::size_t rows = common_rows(planes1, planes2, labels, counts);
                new (self) PlaneInput(rows, planes1.data(), planes2.data(), labels.data(), counts.data());
            },
            "planes1"_a.noconvert(), "planes2"_a.noconvert(), "labels"_a.noconvert(), "counts"_a.noconvert(), nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
            "The memory of C rows. It is kept as it is; numbers of moves must be 0 at the beginning.\n\n"
            "Args:\n    planes1: uint8 [C, 628], planes of the pieces (`encode_position`).\n"
            "    planes2: uint8 [C, 8], planes of hands and check.\n"
            "    labels: uint16 [C, 593], policy labels of the moves; a row is written up to its count.\n"
            "    counts: uint16 [C], number of moves.\n\n"
            "Raises:\n    ValueError: The arrays differ in their number of rows.")
        .def_prop_ro(
            "planes1",
            [](const PlaneInput& input) {
                return Matrix<std::uint8_t, PACKED1_BYTES>(input.planes1(0), {input.capacity(), PACKED1_BYTES});
            },
            "uint8 [C, 628]: the memory itself.")
        .def_prop_ro(
            "planes2",
            [](const PlaneInput& input) {
                return Matrix<std::uint8_t, PACKED2_BYTES>(input.planes2(0), {input.capacity(), PACKED2_BYTES});
            },
            "uint8 [C, 8]: the memory itself.")
        .def_prop_ro(
            "labels",
            [](const PlaneInput& input) {
                return Matrix<std::uint16_t, MAX_MOVES>(input.labels(0), {input.capacity(), static_cast<std::size_t>(MAX_MOVES)});
            },
            "uint16 [C, 593]: the memory itself.")
        .def_prop_ro(
            "counts",
            [](const PlaneInput& input) {
                return nb::ndarray<std::uint16_t, nb::numpy, nb::shape<-1>>(input.counts(), {input.capacity()});
            },
            "uint16 [C]: the memory itself.");
    nb::class_<JointInput, SlotInput>(
        m, "JointInput", "Several inputs that hold the same positions, each in its own form: of evaluators that judge them together.")
        .def(
            "__init__",
            [](JointInput* self, std::vector<std::shared_ptr<SlotInput>> inputs) {
                if (inputs.empty() || std::ranges::count(inputs, nullptr) > 0)
                    throw std::invalid_argument("a joint input needs at least one input, and no None");
                new (self) JointInput(std::move(inputs));
            },
            "inputs"_a,
            "Args:\n    inputs: At least one; the smallest one says how many rows there are.\n\n"
            "Raises:\n    ValueError: There is none.");
}
