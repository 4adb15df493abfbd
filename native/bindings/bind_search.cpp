// The search: parameters, batches, lines, and the evaluators that need no network. Arrays belong to the caller; their
// types and shapes are checked, and the GIL is released wherever the tree is touched.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "search/hash_evaluator.hpp"
#include "search/search.hpp"
#include "shogi/usi_move.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

template <class T, nb::ssize_t... COLUMNS>
using Rows = nb::ndarray<T, nb::numpy, nb::shape<-1, COLUMNS...>, nb::c_contig, nb::device::cpu>;
using Planes1 = Rows<std::uint8_t, PACKED1_BYTES>;
using Planes2 = Rows<std::uint8_t, PACKED2_BYTES>;
using Labels = Rows<std::uint16_t, MAX_MOVES>;
using Counts = Rows<std::uint16_t>;

template <class... Arrays>
void require_rows(std::size_t rows, const Arrays&... arrays) {
    const auto check = [rows](std::size_t has) {
        if (has < rows)
            throw nb::value_error(("an array has " + std::to_string(has) + " rows; " + std::to_string(rows) + " are needed").c_str());
    };
    (check(arrays.shape(0)), ...);
}

int gather(Search& search, Batch& batch, const Planes1& planes1, const Planes2& planes2, const Labels& labels,
           const Counts& counts, std::size_t limit) {
    if (limit > batch.capacity())
        throw nb::value_error(("limit " + std::to_string(limit) + " is more than the batch's capacity " +
                               std::to_string(batch.capacity())).c_str());
    require_rows(limit, planes1, planes2, labels, counts);
    const nb::gil_scoped_release release;
    return search.gather(batch, {planes1.data(), planes2.data(), labels.data(), counts.data()}, limit);
}

void apply(Search& search, Batch& batch, const Rows<const float, MAX_MOVES>& logits, const Rows<const float>& values) {
    require_rows(batch.size(), logits, values);
    const nb::gil_scoped_release release;
    search.apply(batch, logits.data(), values.data());
}

template <class Evaluator>
void run(const Evaluator& evaluator, const Planes1& planes1, const Planes2& planes2, const Labels& labels,
         const Counts& counts, std::size_t n, const Rows<float, MAX_MOVES>& logits, const Rows<float>& values) {
    require_rows(n, planes1, planes2, labels, counts, logits, values);
    for (std::size_t row = 0; row < n; ++row)
        if (counts.data()[row] > MAX_MOVES) throw nb::value_error(("row " + std::to_string(row) + " counts too many moves").c_str());
    const nb::gil_scoped_release release;
    evaluator.run({planes1.data(), planes2.data(), labels.data(), counts.data()}, n, {logits.data(), values.data()});
}

// A property whose setter checks the parameters as a whole before it changes one.
template <class T>
void parameter(nb::class_<SearchParams>& type, const char* name, T SearchParams::*field, const char* doc) {
    type.def_prop_rw(
        name, [field](const SearchParams& params) { return params.*field; },
        [field](SearchParams& params, T value) {
            SearchParams changed = params;
            changed.*field = value;
            changed.validate();
            params = changed;
        },
        "value"_a, doc);
}

void bind_params(nb::module_& m) {
    nb::class_<SearchParams> type(m, "SearchParams",
        "What may be tuned in the search; the defaults are dlshogi's. A bad value raises ValueError when it is set.\n\n"
        "A move's score is Q + c * P * sqrt(N) / (1 + n), c = ln((N + c_base + 1) / c_base) + c_init; Q of an untried move\n"
        "is max(0, Q of the node - fpu_reduction * sqrt(sum of the tried moves' P)).");
    type.def(nb::init<>());
    parameter(type, "c_init", &SearchParams::c_init, "Exploration below the root.");
    parameter(type, "c_base", &SearchParams::c_base, "How slowly exploration grows with the visits.");
    parameter(type, "fpu_reduction", &SearchParams::fpu_reduction, "First-play urgency: what untried moves lose.");
    parameter(type, "c_init_root", &SearchParams::c_init_root, "Exploration at the root.");
    parameter(type, "c_base_root", &SearchParams::c_base_root, "c_base at the root.");
    parameter(type, "fpu_reduction_root", &SearchParams::fpu_reduction_root, "fpu_reduction at the root.");
    parameter(type, "softmax_temperature", &SearchParams::softmax_temperature, "Logits are divided by it; above 1 the policy is flatter.");
    parameter(type, "draw_value_black", &SearchParams::draw_value_black, "What a draw is worth to Black, 0 to 1.");
    parameter(type, "draw_value_white", &SearchParams::draw_value_white, "What a draw is worth to White, 0 to 1.");
    parameter(type, "draw_ply", &SearchParams::draw_ply, "The game is drawn after so many moves; 0: never.");
    parameter(type, "declaration_rule", &SearchParams::declaration_rule, "Who may declare a win (入玉宣言).");
    parameter(type, "mate_in_one", &SearchParams::mate_in_one, "Look for a mate in one at every new leaf.");
}

void bind_line(nb::module_& m) {
    nb::class_<SearchLine>(m, "SearchLine", "A move of the root, and what the search thinks of it.")
        .def_ro("move", &SearchLine::move)
        .def_ro("pv", &SearchLine::pv, "The expected line, this move first.")
        .def_ro("visits", &SearchLine::visits, "How often the search went this way.")
        .def_ro("prior", &SearchLine::prior, "The network's probability of the move.")
        .def_ro("winrate", &SearchLine::winrate, "Win probability of the side to move at the root, 0 to 1.")
        .def_ro("mate", &SearchLine::mate, "Plies until mate if it is proven: positive if the side to move at the root wins, else negative.")
        .def_ro("depth", &SearchLine::depth, "Length of pv.")
        .def("__repr__", [](const SearchLine& line) {
            return "<SearchLine " + usi(line.move) + " visits " + std::to_string(line.visits) + " winrate " + std::to_string(line.winrate) + ">";
        });
}

void bind_batch(nb::module_& m) {
    nb::class_<Batch>(m, "Batch", "Leaves on their way to an evaluator and back; made by Search.new_batch. One thread at a time may use it.")
        .def_prop_ro("capacity", &Batch::capacity, "The most leaves that it holds.")
        .def("__len__", &Batch::size, "How many leaves wait to be applied or cancelled.");
}

void bind_search_figures(nb::class_<Search>& type) {
    const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
    type.def_prop_ro("nodes", &Search::nodes, unlocked, "Leaves evaluated since set_position.")
        .def_prop_ro("root_visits", &Search::root_visits, unlocked, "Visits of the root, those of a kept tree included.")
        .def_prop_ro("is_full", &Search::is_full, unlocked, "Whether the memory's cap has stopped the search.")
        .def_prop_ro("is_decided", &Search::is_decided, unlocked, "Whether the root is proven won, lost or drawn.")
        .def_prop_ro("root_move_count", &Search::root_move_count, unlocked, "How many moves of the root are searched.")
        .def_prop_ro("bytes_used", &Search::bytes_used, unlocked, "Memory of the tree: every chunk of every arena, used or free.")
        .def_prop_ro("node_count", &Search::node_count, unlocked, "Nodes in memory, those of dropped subtrees not yet recycled included.")
        .def_prop_ro("seldepth", &Search::seldepth, unlocked, "Plies to the deepest leaf since set_position.")
        .def_prop_ro("is_stopped", &Search::is_stopped, "Whether stop was called last.")
        .def("lines", &Search::lines, "multipv"_a = 1, unlocked,
             "The best moves as the engine would choose: proven wins first, shortest before longer, then by visits; proven\n"
             "losses last. Moves never visited follow by prior. Empty only if there is no legal move.")
        .def("check_invariants", &Search::check_invariants, unlocked,
             "Look at the whole tree, for tests. No batch may be in flight.\n\nRaises:\n    RuntimeError: Something cannot be.");
}

void bind_search_class(nb::module_& m) {
    const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
    nb::class_<Search> type(m, "Search",
        "A tree search that is fed by an evaluator, a batch at a time. Every method may be called from any thread.\n\n"
        "    search.set_position(position)\n"
        "    while n := search.gather(batch, planes1, planes2, labels, counts, limit):\n"
        "        evaluate(n)\n"
        "        search.apply(batch, logits, values)\n"
        "    best = search.lines(1)[0]");
    type.def(nb::init<const SearchParams&, std::size_t>(), "params"_a, "memory_mb"_a,
             "A search from the start position.\n\nArgs:\n    params: Copied; later changes have no effect.\n"
             "    memory_mb: The most memory that the tree may take, in MiB, 1 to 65536.\n\nRaises:\n    ValueError: memory_mb is out of range.")
        .def("set_position", [](Search& search, const Game& pos, const std::vector<Move>& search_moves) {
            const Game game = pos;
            const nb::gil_scoped_release release;
            return search.set_position(game, search_moves);
        }, "pos"_a, "search_moves"_a = std::vector<Move>(),
             "Make a position the root. Batches in flight come to nothing: applying them changes nothing.\n\n"
             "Args:\n    pos: The position with its past.\n    search_moves: If not empty, only these are searched.\n\n"
             "Returns:\n    Whether the tree was kept: the game is the last one or goes on from it by moves in the tree.\n\n"
             "Raises:\n    ValueError: A search move is not legal.")
        .def("new_batch", [](Search& search, std::size_t capacity) { return std::make_unique<Batch>(search, capacity); },
             "capacity"_a, nb::keep_alive<0, 1>(), "A batch for at most `capacity` leaves.")
        .def("gather", &gather, "batch"_a, "planes1"_a.noconvert(), "planes2"_a.noconvert(), "labels"_a.noconvert(),
             "counts"_a.noconvert(), "limit"_a,
             "Fill rows of the arrays with new leaves.\n\n"
             "Args:\n    batch: An empty batch.\n    planes1: uint8 [C, 628], bit-packed input planes.\n    planes2: uint8 [C, 8].\n"
             "    labels: uint16 [C, 593], policy labels of each leaf's moves.\n    counts: uint16 [C], how many.\n"
             "    limit: The most leaves wanted, at most C and the batch's capacity.\n\n"
             "Returns:\n    How many rows were filled. 0 if other batches hold all that there is to evaluate now, or if the\n"
             "    search is stopped, full or decided.\n\nRaises:\n    ValueError: An array has too few rows.\n"
             "    RuntimeError: The batch is in use.")
        .def("apply", &apply, "batch"_a, "logits"_a.noconvert(), "values"_a.noconvert(),
             "Give a gathered batch its evaluations; the batch is empty afterwards.\n\n"
             "Args:\n    logits: float32 [C, 593], of the moves in the labels' order.\n"
             "    values: float32 [C], win probability of the side to move.\n\n"
             "Raises:\n    ValueError: A logit is not finite or a value is not in 0 to 1; the batch is cancelled.")
        .def("cancel", &Search::cancel, "batch"_a, unlocked, "Give a gathered batch up; its leaves can be gathered again.")
        .def("stop", &Search::stop, "From now on gather returns 0; one under way gives up its leaves.")
        .def("resume", &Search::resume, "Undo stop.");
    bind_search_figures(type);
}

void bind_evaluators(nb::module_& m) {
    const char* doc = "Fill the first n rows of logits (float32 [C, 593]) and values (float32 [C]).";
    nb::class_<HashEvaluator>(m, "HashEvaluator",
        "Pretends to be a network: logits of about N(0, 1.5) and values around 0.5 from a hash of the planes.")
        .def(nb::init<std::uint64_t>(), "seed"_a = 0)
        .def("run", &run<HashEvaluator>, "planes1"_a.noconvert(), "planes2"_a.noconvert(), "labels"_a.noconvert(),
             "counts"_a.noconvert(), "n"_a, "logits"_a.noconvert(), "values"_a.noconvert(), doc);
    nb::class_<UniformEvaluator>(m, "UniformEvaluator", "Every move alike, every position even.")
        .def(nb::init<>())
        .def("run", &run<UniformEvaluator>, "planes1"_a.noconvert(), "planes2"_a.noconvert(), "labels"_a.noconvert(),
             "counts"_a.noconvert(), "n"_a, "logits"_a.noconvert(), "values"_a.noconvert(), doc);
}

}  // namespace

void bind_search(nb::module_& m) {
    bind_params(m);
    bind_line(m);
    bind_batch(m);
    bind_search_class(m);
    bind_evaluators(m);
}
