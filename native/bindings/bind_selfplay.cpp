// Games against itself: their parameters, and the pool that plays many at once.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "parameters.hpp"
#include "selfplay/pool.hpp"
#include "slots.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

std::size_t gather(SelfplayPool& pool, std::size_t share, SlotInput& input, std::size_t limit, int network) {
    require_rows_of(input, 0, limit);
    const Unlocked release;
    return pool.gather(share, input, limit, network);
}

void apply(SelfplayPool& pool, std::size_t share, const Rows<const float, MAX_MOVES>& logits, const Rows<const float>& values,
           int network) {
    require_rows(pool.rows(share, network), logits, values);
    const Unlocked release;
    pool.apply(share, logits.data(), values.data(), network);
}

constexpr double MOST_SECONDS = 3600.0;

nb::tuple run_stretch(SelfplayPool& pool, std::size_t share, CoreEvaluator& evaluator, SlotInput& input,
                      const Rows<float, MAX_MOVES>& logits, const Rows<float>& values, std::size_t limit, int network, double seconds) {
    if (!(seconds >= 0.0 && seconds <= MOST_SECONDS)) throw std::invalid_argument("seconds must be 0 to 3600");
    require_rows_of(input, 0, limit);
    require_rows(limit, logits, values);
    const auto time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    SelfplayPool::Stretched done;
    {
        const Unlocked release;
        done = pool.run(share, evaluator, input, {logits.data(), values.data()}, limit, time, network);
    }
    return nb::make_tuple(done.rows, done.is_finite);
}

void bind_params(nb::module_& m) {
    nb::class_<SelfplayParams> type(
        m, "SelfplayParams",
        "How games against itself are played; names and defaults are dlshogi's. Setting one to a bad value raises ValueError.\n\n"
        "Plies count from a game's first searched move, unless something else is said.");
    type.def(nb::init<>());
    parameter(type, "playouts", &SelfplayParams::playouts, "Visits of the root's moves for each move.");
    parameter(type, "early_stop", &SelfplayParams::early_stop, "Whether a search ends when the best move cannot be overtaken any more.");
    parameter(type, "extension", &SelfplayParams::extension,
              "A search is extended by half, at most twice, while the best move has fewer than so many times the visits of the\n"
              "second. 0: never.");
    parameter(type, "reuse", &SelfplayParams::reuse, "Whether to keep the subtree of the move played.");
    parameter(type, "leaves", &SelfplayParams::leaves, "Maximum number of leaves that a game gives to a batch.");
    parameter(type, "random", &SelfplayParams::random, "Number of moves that are drawn at random in proportion to visits^(1/temperature).");
    parameter(type, "random_temperature", &SelfplayParams::random_temperature,
              "Temperature of the first random move; at least 0.1 counts.");
    parameter(type, "random_temperature_drop", &SelfplayParams::random_temperature_drop, "What it loses with each move of the same side.");
    parameter(type, "random_cutoff", &SelfplayParams::random_cutoff,
              "Only moves whose win rate is at most this much below the best are drawn.");
    parameter(type, "random_cutoff_drop", &SelfplayParams::random_cutoff_drop, "What it loses with each move of the same side.");
    parameter(type, "train_random", &SelfplayParams::train_random, "Whether positions in which the move was drawn have targets.");
    parameter(type, "random2", &SelfplayParams::random2,
              "After these moves: where the best move has fewer than random2 times the visits of the second, one of the two is drawn\n"
              "in proportion to visits.");
    parameter(type, "low_moves", &SelfplayParams::low_moves,
              "After them: chance of a move to be drawn evenly from all but the best, however low their values are, 0 to 1; only of\n"
              "players that teach.");
    parameter(type, "max_move", &SelfplayParams::max_move, "Moves after which a game is drawn, those of its opening included, 1 to 512.");
    parameter(type, "plies", &SelfplayParams::plies,
              "Moves of its own, without those of the opening, after which a game ends without a result, up to 512; 0: no such limit.\n"
              "Unlike max_move it is unknown to the searches.");
    parameter(type, "keep_leaves", &SelfplayParams::keep_leaves,
              "Whether a game keeps the positions that its searches asked the network about (FinishedGame.kept).");
    parameter(type, "keep_nodes", &SelfplayParams::keep_nodes,
              "Visits from which a game keeps the positions of its trees (FinishedGame.kept), 2 or more; 0: it keeps none. Not with\n"
              "keep_leaves.");
    parameter(type, "threshold", &SelfplayParams::threshold,
              "A game ends by resignation when |2 p - 1| exceeds it, where p is the win rate of the best move. 1: never.");
    parameter(type, "play_out", &SelfplayParams::play_out, "Share of the games that are played on instead, to check resignations.");
    parameter(type, "cheap", &SelfplayParams::cheap,
              "Share of the moves that are searched with cheap_playouts, without exploration and without a target\n"
              "(playout-cap randomisation).");
    parameter(type, "cheap_playouts", &SelfplayParams::cheap_playouts, "Visits of such a search.");
    parameter(type, "soft_playouts", &SelfplayParams::soft_playouts,
              "Instead of ending at the threshold, a game is played on with so many visits and soft_weight; 0: it ends.");
    parameter(type, "soft_weight", &SelfplayParams::soft_weight, "Weight of the positions from there on.");
    parameter(type, "surprise", &SelfplayParams::surprise,
              "Share of the weights of a game's positions that follows the divergence of the target from the network's policy\n"
              "(policy surprise weighting); KataGo: 0.5.");
    parameter(type, "mate_depth", &SelfplayParams::mate_depth, "Longest mate to look for at the root by df-pn, plies; 0: none.");
    parameter(type, "mate_nodes", &SelfplayParams::mate_nodes, "Maximum number of positions of each such search.");
    parameter(type, "seed", &SelfplayParams::seed, "Random seed. A game depends on it and on its own number.");
}

void bind_games(nb::module_& m) {
    nb::class_<SelfplayPlayer>(m, "SelfplayPlayer", "A side of a game.")
        .def(nb::init<int, bool>(), "network"_a = 0, "teaches"_a = true,
             "Args:\n    network: Number of the network that plays; 0 is the newest. OUTSIDE: another program.\n"
             "    teaches: Whether its positions have targets.")
        .def_ro("network", &SelfplayPlayer::network, "Number of the network.")
        .def_ro("teaches", &SelfplayPlayer::teaches, "Whether its positions have targets.")
        .def("__repr__",
             [](const SelfplayPlayer& player) {
                 return "SelfplayPlayer(network=" + std::to_string(player.network) + ", teaches=" + (player.teaches ? "True" : "False") +
                        ")";
             })
        .def("__eq__", [](const SelfplayPlayer& a, const SelfplayPlayer& b) { return a == b; }, "other"_a, nb::is_operator());
    m.attr("OUTSIDE") = OUTSIDE;
    nb::enum_<GameReason>(m, "GameReason", "Why a game against itself ended.")
        .value("MATE", GameReason::MATE, "The record ends in checkmate.")
        .value("RESIGNATION", GameReason::RESIGNATION, "The search saw the result, or an outside player gave up.")
        .value("REPETITION", GameReason::REPETITION, "A position came back: drawn, or lost by perpetual check (千日手).")
        .value("DECLARATION", GameReason::DECLARATION, "The side to move could declare a win (入玉宣言).")
        .value("MAX_PLIES", GameReason::MAX_PLIES, "Drawn after SelfplayParams.max_move moves, or ended after SelfplayParams.plies.");
    nb::class_<FinishedGame>(m, "FinishedGame", "A game that is over.")
        .def_ro("index", &FinishedGame::index, "Its number.")
        .def_prop_ro(
            "data", [](const FinishedGame& game) { return nb::bytes(reinterpret_cast<const char*>(game.data.data()), game.data.size()); },
            "The game as hcpe3.")
        .def_prop_ro(
            "kept", [](const FinishedGame& game) { return nb::bytes(reinterpret_cast<const char*>(game.kept.data()), game.kept.size()); },
            "As hcpe3. With SelfplayParams.keep_leaves the positions that its searches asked the network about, in that order, with\n"
            "what it said of them (see Search.labelled_leaves). With keep_nodes those of the trees (see Search.labelled_nodes), the\n"
            "tree of the last search first: of a position that comes twice, the first has more visits where the tree was kept.")
        .def_ro("winner", &FinishedGame::winner, "None for a draw.")
        .def_ro("reason", &FinishedGame::reason, "Why it ended.")
        .def_ro("moves", &FinishedGame::moves, "All moves, those of the opening included.")
        .def_prop_ro(
            "plies", [](const FinishedGame& game) { return game.moves.size(); }, "Number of moves.")
        .def_ro("opening_plies", &FinishedGame::opening_plies, "Moves of the opening.")
        .def_ro("random_plies", &FinishedGame::random_plies, "Moves drawn at random.")
        .def_ro("searches", &FinishedGame::searches, "Moves that were searched for.")
        .def_ro("playouts", &FinishedGame::playouts, "Visits of all searches.")
        .def_ro("evaluations", &FinishedGame::evaluations, "Positions that a network evaluated for them.")
        .def_prop_ro(
            "positions", [](const FinishedGame& game) { return game.weights.size(); }, "Number of positions with targets.")
        .def_prop_ro(
            "weights",
            [](const FinishedGame& game) {
                return new_array<float, nb::shape<-1>>(game.weights.data(), game.weights.size(), {game.weights.size()});
            },
            nb::rv_policy::automatic, "float32 [positions]: weight of each position with targets.")
        .def_ro("is_played_out", &FinishedGame::is_played_out,
                "Whether a side would have resigned, but the game was played on to check that.")
        .def_ro("is_wrong_resignation", &FinishedGame::is_wrong_resignation, "Whether that side did not lose.");
    nb::class_<WaitingGame>(m, "WaitingGame", "A game in which another program is to move.")
        .def_ro("index", &WaitingGame::index, "Its number.")
        .def_ro("position", &WaitingGame::position, "The position with its past; plies count from the start of the game.");
}

void bind_pool(nb::module_& m) {
    const auto unlocked = nb::call_guard<Unlocked>();
    nb::class_<SelfplayPool>(
        m, "SelfplayPool",
        "Many games at once, which fill batches together. Any method may be called from any thread.\n\n"
        "    pool.add(0, Position())\n"
        "    while pool.playing:\n"
        "        n = pool.gather(0, input, limit)\n"
        "        evaluate(n)\n"
        "        pool.apply(0, logits, values)\n"
        "    games = pool.take_finished()\n\n"
        "The games are divided into shares: threads with a share each do not wait for each other. With one leaf a game at a time\n"
        "(SelfplayParams.leaves), a game depends on parameters, seed, number, opening and networks alone.")
        .def(nb::init<const SelfplayParams&, const SearchParams&, std::size_t, std::size_t, std::size_t>(), "params"_a, "search"_a,
             "games"_a, "shares"_a = 1, "cache_mb"_a = 0,
             "Args:\n    params: Copied.\n    search: Parameters of the trees; copied. Each game has a seed of its own.\n"
             "    games: Maximum number of games at once.\n    shares: Number of parts that they are divided into.\n"
             "    cache_mb: Memory in MiB for what each network has said of positions; 0: none. With keep_leaves or\n"
             "        keep_nodes each game has a cache of its own.\n\n"
             "Raises:\n    ValueError: A number is out of range.")
        .def(
            "add",
            [](SelfplayPool& pool, std::uint64_t index, const Position& opening, const SelfplayPlayer& black, const SelfplayPlayer& white) {
                GameSetup setup{index, opening, {black, white}};
                const Unlocked release;
                pool.add(std::move(setup));
            },
            "index"_a, "opening"_a, "black"_a = SelfplayPlayer(), "white"_a = SelfplayPlayer(),
            "Queue a game. It begins when a place is free.\n\nArgs:\n    index: Its number; its random numbers depend on it.\n"
            "    opening: The position with its past, whose moves become the first of the game, without targets.\n"
            "    black: Player.\n    white: Player.\n\n"
            "Raises:\n    ValueError: The opening is over, or longer than max_move; or a game of this number is being played.")
        .def("gather", &gather, "share"_a, "input"_a, "limit"_a, "network"_a = 0,
             "Write leaves of games in which this network is to move into rows of an input, from the first on (see `Search.gather`).\n\n"
             "Args:\n    share: Number of the share, from 0.\n    input: That of the evaluator.\n    limit: Maximum number of rows.\n\n"
             "Returns:\n    The number of rows filled; 0 if no game of the share needs this network now.\n\n"
             "Raises:\n    RuntimeError: The last batch of this share and network was not applied.")
        .def("apply", &apply, "share"_a, "logits"_a.noconvert(), "values"_a.noconvert(), "network"_a = 0,
             "Enter what the network said of a batch.\n\n"
             "Raises:\n    ValueError: A logit is not finite or a value is not in 0 to 1; the batch is cancelled.")
        .def("cancel", nb::overload_cast<std::size_t, int>(&SelfplayPool::cancel), "share"_a, "network"_a = 0, unlocked,
             "Give up a gathered batch; its leaves can be gathered again.")
        .def("run", &run_stretch, "share"_a, "evaluator"_a, "input"_a, "logits"_a.noconvert(), "values"_a.noconvert(), "limit"_a,
             "network"_a = 0, "seconds"_a = 0.0,
             nb::sig("def run(self, share: int, evaluator: CoreEvaluator, input: SlotInput, logits: NDArray[numpy.float32], "
                     "values: NDArray[numpy.float32], limit: int, network: int = 0, seconds: float = 0.0) -> tuple[int, bool]"),
             "Gather, evaluate and apply batches by an evaluator of the core, one after the other, until there is no leaf.\n\n"
             "Args:\n    share: Number of the share, from 0.\n    evaluator: It reads the input.\n    input: Memory of the evaluator.\n"
             "    logits: float32 [C, 593].\n    values: float32 [C].\n    limit: Maximum number of rows of a batch.\n"
             "    network: Its number.\n    seconds: After this time no batch begins; there is always one.\n\n"
             "Returns:\n    The number of positions evaluated, and False if a result of the evaluator is not finite, whose batch is\n"
             "    cancelled.\n\n"
             "Raises:\n    ValueError: Memory is too small, or a logit or a value is unusable; the batch is cancelled.\n"
             "    RuntimeError: The last batch of this share and network was not applied.")
        .def("take_waiting", &SelfplayPool::take_waiting, unlocked,
             "The games in which another program has come to move since the last call. `answer` or `restart` each.")
        .def(
            "answer",
            [](SelfplayPool& pool, std::uint64_t index, std::optional<Move> move, int eval) {
                const Unlocked release;
                return pool.answer(index, move.value_or(Move()), eval);
            },
            "index"_a, "move"_a.none(), "eval"_a = 0,
            "Play the other program's move.\n\nArgs:\n    move: None: it resigns.\n    eval: Its evaluation in centipawns.\n\n"
            "Returns:\n    Whether the game was waiting for it.\n\nRaises:\n    InvalidMoveError: The move is not legal.")
        .def(
            "restart",
            [](SelfplayPool& pool, std::uint64_t index, const SelfplayPlayer& black, const SelfplayPlayer& white) {
                const Unlocked release;
                return pool.restart(index, {black, white});
            },
            "index"_a, "black"_a, "white"_a,
            "Begin a game again that is waiting for another program, which failed.\n\nArgs:\n    black: Player.\n    white: Player.\n\n"
            "Returns:\n    Whether the game was waiting.\n\nRaises:\n    ValueError: A player has a number that does not exist.")
        .def("clear_queue", &SelfplayPool::clear_queue, unlocked, "Begin no more of the games that were added. Returns their number.")
        .def("take_finished", &SelfplayPool::take_finished, unlocked, "The games that have ended since the last call, in that order.")
        .def_prop_ro("queued", &SelfplayPool::queued, unlocked, "Number of games that have not begun.")
        .def_prop_ro("playing", &SelfplayPool::playing, unlocked, "Number of games that are queued or being played.")
        .def_prop_ro("shares", &SelfplayPool::shares, "Number of shares.")
        .def(
            "totals",
            [](const SelfplayPool& pool) {
                const Unlocked release;
                const SelfplayTotals totals = pool.totals();
                return std::tuple(totals.searches, totals.playouts, totals.evaluations);
            },
            "Moves searched for, visits and evaluations of all searches that have ended, those of games in play included.")
        .def_prop_ro("bytes_used", &SelfplayPool::bytes, unlocked, "Memory of all trees in bytes.");
}

}  // namespace

void bind_selfplay(nb::module_& m) {
    bind_params(m);
    bind_games(m);
    bind_pool(m);
}
