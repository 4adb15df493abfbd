// The search: parameters, batches, lines, and the evaluators without a network. Arrays belong to the caller; their types and
// shapes are checked, and the GIL is released wherever the tree is touched.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "codec/evaluation.hpp"
#include "encode/evaluator.hpp"
#include "parameters.hpp"
#include "search/eval_cache.hpp"
#include "search/hash_evaluator.hpp"
#include "search/reviewer.hpp"
#include "search/search.hpp"
#include "shogi/usi_move.hpp"
#include "slots.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

int gather(Search& search, Batch& batch, SlotInput& input, std::size_t first, std::size_t limit, std::optional<std::size_t> nodes) {
    if (limit > batch.capacity())
        throw std::invalid_argument("limit " + std::to_string(limit) + " exceeds the batch's capacity of " +
                                    std::to_string(batch.capacity()));
    require_rows_of(input, first, limit);
    const Unlocked release;
    return search.gather(batch, input, first, limit, nodes.value_or(SIZE_MAX));
}

void apply(Search& search, Batch& batch, const Rows<const float, MAX_MOVES>& logits, const Rows<const float>& values) {
    require_rows(batch.size(), logits, values);
    const Unlocked release;
    search.apply(batch, logits.data(), values.data());
}

constexpr double MOST_SECONDS = 3600.0;

nb::tuple run_stretch(Search& search, Batch& batch, CoreEvaluator& evaluator, SlotInput& input, const Rows<float, MAX_MOVES>& logits,
                      const Rows<float>& values, std::size_t limit, std::size_t nodes, std::size_t visits_per_leaf, double seconds) {
    if (limit == 0 || limit > batch.capacity())
        throw std::invalid_argument("limit is " + std::to_string(limit) + "; it must be 1 to " + std::to_string(batch.capacity()));
    if (!(seconds >= 0.0 && seconds <= MOST_SECONDS)) throw std::invalid_argument("seconds must be 0 to 3600");
    require_rows_of(input, 0, limit);
    require_rows(limit, logits, values);
    const auto time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    Search::Stretched done;
    {
        const Unlocked release;
        done = search.run(batch, evaluator, input, {logits.data(), values.data()}, {limit, visits_per_leaf, nodes, time});
    }
    return nb::make_tuple(done.nodes, done.is_idle, done.is_finite);
}

nb::bytes labelled_leaves(const Search& search, Batch& batch, const Rows<const float, MAX_MOVES>& logits, const Rows<const float>& values) {
    require_rows(batch.size(), logits, values);
    std::vector<std::uint8_t> bytes;
    {
        const Unlocked unlocked;
        bytes = search.labelled_leaves(batch, logits.data(), values.data());
    }
    return nb::bytes(bytes.data(), bytes.size());
}

nb::bytes labelled_nodes(const Search& search, std::uint32_t least_visits) {
    std::vector<std::uint8_t> bytes;
    {
        const Unlocked unlocked;
        bytes = search.labelled_nodes(least_visits);
    }
    return nb::bytes(bytes.data(), bytes.size());
}

bool prove(Search& search, const Position& pos, std::optional<Color> winner, std::optional<int> mate_plies) {
    const Position position = pos;
    const Unlocked release;
    return search.prove(position, winner, mate_plies);
}

void bind_params(nb::module_& m) {
    nb::enum_<Fpu>(m, "Fpu", "First-play urgency: the value Q of a move without visits.")
        .value("PARENT", Fpu::PARENT, "max(0, Q of the node - fpu_reduction * sqrt(sum of P of the moves with visits)).")
        .value("HALF", Fpu::HALF, "0.5, as for a draw.")
        .value("LOSS", Fpu::LOSS, "0, as for a lost position.")
        .value("WIN", Fpu::WIN, "1, as for a won position.");
    nb::enum_<RootRule>(m, "RootRule", "The rule that shares out the visits of the root; below the root it is always PUCT.")
        .value("PUCT", RootRule::PUCT, "PUCT, with noise and forced playouts if they are asked for.")
        .value("GUMBEL", RootRule::GUMBEL,
               "Gumbel AlphaZero: a sample of moves, and sequential halving; without noise and forced playouts.");
    nb::class_<SearchParams> type(
        m, "SearchParams",
        "The parameters of the search; the defaults are dlshogi's. Setting one to a bad value raises ValueError.\n\n"
        "A visit takes the move with the highest Q + c * P * sqrt(N) / (1 + n), where c = ln((N + c_base + 1) / c_base) +\n"
        "c_init. Q of a move without visits is what `fpu` says.\n\n"
        "    >>> params = SearchParams()\n"
        "    >>> params.c_init = 1.25\n"
        "    >>> params.c_base = -1\n"
        "    Traceback (most recent call last):\n"
        "    ...\n"
        "    ValueError: c_base is -1.000000; it must be between 1.000000 and 1000000000.000000");
    type.def(nb::init<>());
    parameter(type, "c_init", &SearchParams::c_init, "Exploration below the root.");
    parameter(type, "c_base", &SearchParams::c_base, "Visits over which exploration grows, below the root.");
    parameter(type, "fpu", &SearchParams::fpu, "First-play urgency: Q of a move without visits, below the root.");
    parameter(type, "fpu_reduction", &SearchParams::fpu_reduction, "The reduction of Fpu.PARENT, below the root.");
    parameter(type, "c_init_root", &SearchParams::c_init_root, "Exploration at the root.");
    parameter(type, "c_base_root", &SearchParams::c_base_root, "Visits over which exploration grows, at the root.");
    parameter(type, "fpu_root", &SearchParams::fpu_root, "fpu at the root.");
    parameter(type, "fpu_reduction_root", &SearchParams::fpu_reduction_root, "fpu_reduction at the root.");
    parameter(type, "fpu_visit_mass", &SearchParams::fpu_visit_mass,
              "Whether the reduction counts P once for each visit, as dlshogi does, instead of once for each move.");
    parameter(type, "c_exponent", &SearchParams::c_exponent, "Exponent in place of the square root of N, 0 to 1.");
    parameter(type, "c_variance", &SearchParams::c_variance,
              "How far c follows the spread of a node's values: it is multiplied by 1 + c_variance * (spread / c_stdev - 1).\n"
              "0: not at all; KataGo: 0.85.");
    parameter(type, "c_stdev", &SearchParams::c_stdev, "The standard deviation of values that is expected, for c_variance and lcb_stdevs.");
    parameter(type, "value_correction", &SearchParams::value_correction,
              "Share of the mean error of like positions by which the value of a new one is corrected; 0: none.");
    parameter(type, "policy_history", &SearchParams::policy_history,
              "Nats that a move's prior in a new position gains for each win rate of 1 that the move gained elsewhere in the tree,\n"
              "0 to 100; 0: the priors stay.");
    parameter(type, "review_visits", &SearchParams::review_visits,
              "Visits after which a position gets the priors of a batch's `Reviewer`, 0 to 1e9; 0: never.");
    parameter(type, "lcb_stdevs", &SearchParams::lcb_stdevs,
              "The best root move is the one with the highest lower bound of Q, this many standard errors below Q.\n"
              "0: the one with the most visits; KataGo: 5.");
    parameter(type, "lcb_visits", &SearchParams::lcb_visits, "Share of the most visits that a move needs for that; KataGo: 0.15.");
    parameter(type, "softmax_temperature", &SearchParams::softmax_temperature,
              "Divisor of the policy's logits; above 1 flattens the policy.");
    parameter(type, "softmax_temperature_root", &SearchParams::softmax_temperature_root, "The same at the root; 0: no other.");
    parameter(type, "softmax_temperature_deep", &SearchParams::softmax_temperature_deep,
              "The same far below the root, to which each 4 plies halve the difference; 0: no other.");
    parameter(type, "draw_value_black", &SearchParams::draw_value_black, "Value of a draw for Black, 0 to 1.");
    parameter(type, "draw_value_white", &SearchParams::draw_value_white, "Value of a draw for White, 0 to 1.");
    parameter(type, "draw_ply", &SearchParams::draw_ply, "Number of moves after which a game is drawn; 0: no limit.");
    parameter(type, "declaration_rule", &SearchParams::declaration_rule, "The rule of declaration wins (入玉宣言).");
    parameter(type, "leaf_mate_plies", &SearchParams::leaf_mate_plies,
              "The longest mate to look for at each new leaf, in plies, 0 to 3; 0: none.");
    parameter(type, "leaf_mate_nodes", &SearchParams::leaf_mate_nodes,
              "With leaf_mate_plies 3: positions to search at each new leaf for a longer mate, by df-pn, 0 to 10000; 0: none.");
    parameter(type, "root_move_mate_nodes", &SearchParams::root_move_mate_nodes,
              "Positions to search by df-pn for a mate after a move of the root that is visited for the 16th, 64th, 256th, ... "
              "time, for each of these visits, 0 to 10000; at most 32768 in all. 0: none.");
    parameter(type, "root_rule", &SearchParams::root_rule, "The rule that shares out the visits of the root.");
    parameter(type, "root_noise_epsilon", &SearchParams::root_noise_epsilon,
              "Share of Dirichlet noise in the root's priors, 0 to 1; AlphaZero: 0.25. 0: no noise.");
    parameter(type, "root_noise_alpha", &SearchParams::root_noise_alpha,
              "Concentration of the noise; the smaller, the fewer moves get most of it. AlphaZero's for shogi: 0.15.");
    parameter(type, "root_visit_noise", &SearchParams::root_visit_noise,
              "Chance of each root move to have the prior (P + 1) / 2 in a visit, 0 to 1; dlshogi: 0.003. 0: no such noise.\n"
              "Visits that would have gone elsewhere without it do not count when the move is chosen, nor for `Search.teaching`.");
    parameter(type, "forced_playouts", &SearchParams::forced_playouts,
              "Each root move with visits gets at least sqrt(forced_playouts * P * N) of N visits; KataGo: 2. 0: none are forced.\n"
              "`Search.teaching` leaves them out again.");
    parameter(type, "gumbel_moves", &SearchParams::gumbel_moves, "Number of root moves to sample with RootRule.GUMBEL, at most.");
    parameter(type, "gumbel_visits", &SearchParams::gumbel_visits,
              "Visits that there must be for each of them, on average, except for two; the paper: 1.");
    parameter(type, "gumbel_scale", &SearchParams::gumbel_scale,
              "Scale of the Gumbel variables; 0: nothing is left to chance, the moves with the greatest priors are searched.");
    parameter(type, "gumbel_c_visit", &SearchParams::gumbel_c_visit,
              "Constant of sigma(q) = (gumbel_c_visit + most visits of a move) * gumbel_c_scale * (2 q - 1).");
    parameter(type, "gumbel_c_scale", &SearchParams::gumbel_c_scale, "Constant of sigma; the paper: 1 for board games.");
    parameter(type, "seed", &SearchParams::seed,
              "Random seed of the noise and of the Gumbel variables. The same seed and position give the same search.");
}

void bind_line(nb::module_& m) {
    nb::class_<SearchLine>(m, "SearchLine", "A move of the root with its line, as the side to move sees it.")
        .def(
            "__init__",
            [](SearchLine* line, std::vector<Move> pv, std::uint32_t visits, float prior, float winrate, std::optional<int> mate) {
                if (pv.empty()) throw std::invalid_argument("a line has at least one move");
                new (line) SearchLine{std::move(pv), visits, prior, winrate, mate};
            },
            "pv"_a, "visits"_a, "prior"_a, "winrate"_a, "mate"_a = nb::none(),
            "A line; searches make them.\n\nRaises:\n    ValueError: pv is empty.")
        .def_prop_ro("move", &SearchLine::move, "The move: the first of pv.")
        .def_ro("pv", &SearchLine::pv, "The principal variation, beginning with the move.")
        .def_ro("visits", &SearchLine::visits, "Number of visits.")
        .def_ro("prior", &SearchLine::prior, "The network's probability of the move.")
        .def_ro("winrate", &SearchLine::winrate, "Win probability of the side to move, 0 to 1; a draw counts as its draw value.")
        .def_prop_ro(
            "cp",
            [](const SearchLine& line) {
                return line.mate ? (*line.mate > 0 ? MATE_CP : -MATE_CP) : centipawns(line.winrate, std::nearbyint(EVAL_SCALE));
            },
            "The win rate in centipawns, with dlshogi's scale of 756; +-30000 for a mate.")
        .def_ro("mate", &SearchLine::mate, "Plies to a proven mate, negative if the side to move is mated; None without a proof.")
        .def_prop_ro("depth", &SearchLine::depth, "Length of pv.")
        .def(
            "__eq__", [](const SearchLine& a, const SearchLine& b) { return a == b; }, "other"_a, nb::is_operator())
        .def("__repr__", [](const SearchLine& line) {
            return "<SearchLine " + usi(line.move()) + " visits " + std::to_string(line.visits) + " winrate " +
                   std::to_string(line.winrate) + ">";
        });
}

void bind_batch(nb::module_& m) {
    nb::class_<Batch>(m, "Batch",
                      "Leaves on their way to an evaluator and back. Search.new_batch makes one; one thread at a time may use it.")
        .def_prop_ro("capacity", &Batch::capacity, "Maximum number of leaves.")
        .def_prop_ro("hits", &Batch::hits, "Number of leaves of the last gather that were found in the cache.")
        .def("__len__", &Batch::size, "Number of leaves gathered and not yet applied or cancelled.");
}

void bind_reviewer(nb::module_& m) {
    nb::class_<Reviewer>(
        m, "Reviewer",
        "An evaluator in the core for the positions of a search that have become important (SearchParams.review_visits), with the\n"
        "memory of its batches. One thread at a time may use it.")
        .def(
            "__init__",
            [](Reviewer* self, CoreEvaluator& evaluator, SlotInput& input, const Rows<float, MAX_MOVES>& logits,
               const Rows<float>& values) {
                require_rows(input.capacity(), logits, values);
                new (self) Reviewer{evaluator, input, {logits.data(), values.data()}};
            },
            "evaluator"_a, "input"_a, "logits"_a.noconvert(), "values"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
            nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
            nb::sig("def __init__(self, evaluator: CoreEvaluator, input: SlotInput, logits: NDArray[numpy.float32], "
                    "values: NDArray[numpy.float32]) -> None"),
            "Args:\n    evaluator: It reads the input.\n    input: Memory for C positions.\n    logits: float32 [C, 593].\n"
            "    values: float32 [C].\n\nRaises:\n    ValueError: The arrays have fewer rows than the input.");
}

void bind_cache(nb::module_& m) {
    nb::class_<EvalCache>(m, "EvalCache",
                          "Evaluations by one network, for all searches that use it; any thread may. The oldest make room for new ones.\n\n"
                          "    batch = search.new_batch(capacity, cache)")
        .def(nb::init<std::size_t>(), "memory_mb"_a,
             "An empty cache.\n\nArgs:\n    memory_mb: Its memory in MiB, 1 to 65536: all of it, but touched only as entries come in.\n\n"
             "Raises:\n    ValueError: memory_mb is out of range.")
        .def_prop_ro("bytes_used", &EvalCache::bytes, "Memory in bytes, what is still untouched included.");
}

void bind_search_figures(nb::class_<Search>& type) {
    const auto unlocked = nb::call_guard<Unlocked>();
    type.def_prop_ro("nodes", &Search::nodes, unlocked, "Number of leaves expanded since set_position, by an evaluator or from the cache.")
        .def_prop_ro("evaluations", &Search::evaluations, unlocked, "Nodes that took a row of a batch.")
        .def_prop_ro("playouts", &Search::playouts, unlocked,
                     "Number of ways down the tree that were backed up since set_position: nodes, and visits of proven results.")
        .def_prop_ro("root_visits", &Search::root_visits, unlocked, "Visits of the root, including those of a kept tree.")
        .def_prop_ro("is_full", &Search::is_full, unlocked, "Whether the memory limit has stopped the search: nothing is left to prune.")
        .def_prop_ro("is_decided", &Search::is_decided, unlocked, "Whether the root is proven won, lost or drawn.")
        .def_prop_ro("root_move_count", &Search::root_move_count, unlocked, "Number of root moves that are searched.")
        .def_prop_ro("bytes_used", &Search::bytes_used, unlocked, "Memory of the tree in bytes, including what is free for reuse.")
        .def_prop_ro("bytes_live", &Search::bytes_live, unlocked, "Memory of the tree in bytes without what is free for reuse.")
        .def_prop_ro("node_count", &Search::node_count, unlocked, "Number of nodes in memory, including dropped ones not yet recycled.")
        .def_prop_ro("seldepth", &Search::seldepth, unlocked, "Plies to the deepest leaf since set_position.")
        .def_prop_ro("is_stopped", &Search::is_stopped, "Whether the search is stopped.")
        .def("lines", &Search::lines, "multipv"_a = 1, unlocked,
             "The best moves, best first: proven wins, the shortest first; then by visits, unless the root's policy has another\n"
             "order; proven losses last. Moves without visits follow by prior. Empty only if there is no legal move.")
        .def(
            "lines_of",
            [](const Search& search, const Position& pos) {
                const Position position = pos;
                const Unlocked release;
                return search.lines_of(position);
            },
            "pos"_a,
            "All moves of a position in the tree, best first, as its side to move sees them: a line for each, as in `lines`.\n"
            "Empty if the tree does not hold the position with its past, or has not evaluated it.")
        .def(
            "teaching",
            [](const Search& search) {
                std::vector<std::pair<Move, int>> moves;
                for (const TaughtMove& each : search.teaching()) moves.emplace_back(each.move, each.weight);
                return moves;
            },
            unlocked,
            "What a network should learn of the root's moves: moves with weights of 1 to 65535.\n\n"
            "The first is the move to play, as in `lines`; the others follow by weight, and those without any are left out.\n"
            "With PUCT a weight is the number of visits, less those that noise and forced playouts caused; with Gumbel the\n"
            "improved policy times 65535. A proven win has all of it, a move that is proven to lose none unless all do.\n"
            "Empty as long as no move has visits.")
        .def("tree_text", &Search::tree_text, unlocked,
             "The whole tree, for tests: a line for each node, indented by its depth. It has move, visits, mean value and prior for\n"
             "the side that moved, and of a proven node its result for the side to move and the plies to the end.")
        .def("check_invariants", &Search::check_invariants, unlocked,
             "Check the whole tree, for tests. No batch may be in flight.\n\nRaises:\n    RuntimeError: An invariant does not hold.");
}

void bind_search_class(nb::module_& m) {
    const auto unlocked = nb::call_guard<Unlocked>();
    nb::class_<Search> type(m, "Search",
                            "A tree search that an evaluator feeds a batch at a time. Any method may be called from any thread.\n\n"
                            "    search.set_position(position)\n"
                            "    while n := search.gather(batch, input, 0, limit):\n"
                            "        evaluate(n)\n"
                            "        search.apply(batch, logits, values)\n"
                            "    best = search.lines(1)[0]\n\n"
                            "`fukayomi.engine.search.Searcher` does this in threads, with limits.");
    type.def(nb::init<const SearchParams&, std::size_t>(), "params"_a, "memory_mb"_a,
             "A search from the start position.\n\nArgs:\n    params: Copied; later changes have no effect.\n"
             "    memory_mb: Memory limit of the tree in MiB, 1 to 65536. At the limit, what is below nodes with few visits is dropped,\n"
             "        an eighth of the memory at once; the nodes keep their visits, values and proofs.\n\nRaises:\n    ValueError: "
             "memory_mb is out of range.")
        .def(
            "set_position",
            [](Search& search, const Position& pos, const std::vector<Move>& search_moves, std::optional<std::uint64_t> nodes,
               bool explores) {
                const Position position = pos;
                const Unlocked release;
                return search.set_position(position, search_moves, nodes, explores);
            },
            "pos"_a, "search_moves"_a = std::vector<Move>(), nb::kw_only(), "nodes"_a = nb::none(), "explores"_a = true,
            "Make a position the root. Batches in flight are cancelled: applying them changes nothing.\n\n"
            "Args:\n    pos: The position with its past.\n    search_moves: The root moves to search; all if empty.\n"
            "    nodes: Maximum number of leaves that will be evaluated, None if unknown: for root policies that plan ahead.\n"
            "        It does not end the search.\n"
            "    explores: False leaves out noise and forced playouts in this search, and what Gumbel leaves to chance.\n\n"
            "Returns:\n    Whether the tree was kept: the game is the last one or goes on from it by moves in the tree.\n\n"
            "Raises:\n    ValueError: A search move is not legal.")
        .def(
            "compare",
            [](Search& search, const std::vector<Move>& moves) {
                const Unlocked release;
                search.compare(moves);
            },
            "moves"_a,
            "Give visits to these root moves alone, to each the same number, until the position is set again.\n\n"
            "The other moves keep what they have. Where all of these are proven, all moves are searched again.\n\n"
            "Raises:\n    ValueError: There is no move, or one that the root does not have.")
        .def(
            "new_batch",
            [](Search& search, std::size_t capacity, EvalCache* cache, Reviewer* reviewer) {
                return std::make_unique<Batch>(search, capacity, cache, reviewer);
            },
            "capacity"_a, "cache"_a.none() = nb::none(), "reviewer"_a.none() = nb::none(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 3>(),
            nb::keep_alive<0, 4>(),
            "A batch for up to `capacity` leaves.\n\n"
            "Args:\n    capacity: Maximum number of leaves, 1 to 65536.\n"
            "    cache: Evaluations by the network that the batch goes to. Leaves found there need no row; what apply is given\n"
            "        is added. None: no cache.\n"
            "    reviewer: It gives positions that now have SearchParams.review_visits visits other priors, whenever results are\n"
            "        applied. None: all keep those of their evaluation.\n\nRaises:\n    ValueError: capacity is out of range.")
        .def("gather", &gather, "batch"_a, "input"_a, "first"_a, "limit"_a, "nodes"_a = nb::none(),
             "Select new leaves and write them into rows of an input.\n\n"
             "Args:\n    batch: An empty batch.\n    input: That of the evaluator.\n    first: The first row to write.\n"
             "    limit: Maximum number of rows, at most those from `first` on and the batch's capacity.\n"
             "    nodes: Maximum number of leaves, those found in the cache (Batch.hits) included; None: no maximum.\n\n"
             "Returns:\n    The number of rows filled. 0 if other batches hold all leaves that could be evaluated now, or if the\n"
             "    search is stopped, full or decided.\n\nRaises:\n    ValueError: The input or the batch has too few rows, or the batch\n"
             "        is of another search.\n    RuntimeError: The batch is in use.")
        .def("apply", &apply, "batch"_a, "logits"_a.noconvert(), "values"_a.noconvert(),
             "Expand the leaves of a batch and back up their values; the batch is empty afterwards.\n\n"
             "Args:\n    logits: float32 [C, 593], of the moves in the order in which they were written.\n"
             "    values: float32 [C], win probability of the side to move.\n\n"
             "Raises:\n    ValueError: A logit is not finite or a value is not in 0 to 1; the batch is cancelled.")
        .def("run", &run_stretch, "batch"_a, "evaluator"_a, "input"_a, "logits"_a.noconvert(), "values"_a.noconvert(), "limit"_a, "nodes"_a,
             "visits_per_leaf"_a = 0, "seconds"_a = 0.0,
             nb::sig("def run(self, batch: Batch, evaluator: CoreEvaluator, input: SlotInput, logits: NDArray[numpy.float32], "
                     "values: NDArray[numpy.float32], limit: int, nodes: int, visits_per_leaf: int = 0, seconds: float = 0.0) "
                     "-> tuple[int, bool, bool]"),
             "Gather, evaluate and apply batches by an evaluator of the core, one after the other.\n\n"
             "Args:\n    batch: An empty batch.\n    evaluator: It reads the input.\n    input: Memory of the evaluator.\n"
             "    logits: float32 [C, 593].\n    values: float32 [C].\n    limit: Maximum number of leaves in a batch.\n"
             "    nodes: Maximum number of leaves in all, those found in the cache included.\n"
             "    visits_per_leaf: A batch takes at most one leaf for so many visits of the root. 0: up to the limit.\n"
             "    seconds: After this time no batch begins; there is always one.\n\n"
             "Returns:\n    The number of leaves searched; whether it ended because there was none, as `gather` says by 0; and False\n"
             "    if a result of the evaluator is not finite, whose batch is cancelled.\n\n"
             "Raises:\n    ValueError: Memory is too small, the batch is of another search, or a logit or a value is unusable; the batch "
             "is\n"
             "        cancelled.\n    RuntimeError: The batch is in use.")
        .def("labelled_leaves", &labelled_leaves, "batch"_a, "logits"_a.noconvert(), "values"_a.noconvert(),
             "The positions of a batch with what the evaluator says of them, before it is applied, as bytes of hcpe3: games of one\n"
             "move without a result, with the policy as visits and the value as an evaluation. A batch that was cancelled gives\n"
             "no bytes; positions whose logits or value `apply` would refuse are left out.")
        .def("labelled_nodes", &labelled_nodes, "least_visits"_a,
             "The positions of the tree that have at least so many visits, 2 or more, with what the search says of them, as bytes of\n"
             "hcpe3: games of one move without a result, with the shares of visits as the policy (moves that are proven to lose have\n"
             "none) and the mean value as the evaluation. Without positions that are proven or whose value a repetition has decided.")
        .def("cancel", &Search::cancel, "batch"_a, unlocked, "Give up a gathered batch; its leaves can be gathered again.")
        .def("prove", &prove, "pos"_a, "winner"_a.none(), "mate_plies"_a = nb::none(),
             "Enter a result that was proven elsewhere, by a mate solver or a tablebase, say. It travels up the tree, and the\n"
             "search no longer visits the position. A known result stays, unless the new one is the same in fewer plies.\n\n"
             "Args:\n    pos: The position with its past; the root or one that follows from it.\n    winner: None for a draw.\n"
             "    mate_plies: Plies until mate from `pos`; None if the game is won in another way.\n\n"
             "Returns:\n    Whether the result was entered. False if the tree does not hold the position, nor the one before it\n"
             "    as an evaluated node.\n\nRaises:\n    ValueError: The winner cannot mate after this number of plies.")
        .def(
            "enter_mate",
            [](Search& search, const Position& pos, const std::vector<Move>& moves) {
                const Position position = pos;
                const Unlocked release;
                return search.enter_mate(position, moves);
            },
            "pos"_a, "moves"_a,
            "Enter a mate that was found elsewhere, with its line, which the lines of the search then end with.\n\n"
            "Otherwise as `prove`, for the side to move.\n\n"
            "Args:\n    pos: The position with its past; the root or one that follows from it.\n"
            "    moves: The whole mate by the side to move, an odd number of moves.\n\n"
            "Returns:\n    Whether the mate was entered. False if the tree does not hold the position; before the root is\n"
            "    evaluated; or if the first move is not one that the root may play.\n\n"
            "Raises:\n    ValueError: A move is not legal, or the last one does not mate.")
        .def("stop", &Search::stop, "Make gather return 0 from now on; a gather under way gives up its leaves.")
        .def("resume", &Search::resume, "Undo stop.");
    bind_search_figures(type);
}

void bind_evaluators(nb::module_& m) {
    nb::class_<HashEvaluator, CoreEvaluator>(
        m, "HashEvaluator", "Stands in for a network: logits of about N(0, 1.5) and values around 0.5, from a hash of the planes.")
        .def(nb::init<std::uint64_t>(), "seed"_a = 0);
    nb::class_<UniformEvaluator, CoreEvaluator>(m, "UniformEvaluator", "Gives every move the same logit and every position the value 0.5.")
        .def(nb::init<>());
}

}  // namespace

void bind_search(nb::module_& m) {
    bind_params(m);
    bind_line(m);
    bind_cache(m);
    bind_reviewer(m);
    bind_batch(m);
    bind_search_class(m);
    bind_evaluators(m);
}
