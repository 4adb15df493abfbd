// The mate solver. A search releases the GIL and looks for signals, so that Ctrl-C ends it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "mate/mate_solver.hpp"
#include "shogi/position.hpp"
#include "shogi/require.hpp"
#include "shogi/usi_move.hpp"
#include "signals.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

constexpr std::int64_t MOST_MEMORY_MB = 65'536;
constexpr std::int64_t LONGEST_MS = 1'000'000'000'000;

// One search at a time.
class Solver {
  public:
    explicit Solver(std::int64_t memory_mb) : solver_(checked(memory_mb)) {}

    MateSolution solve(const Position& position, std::int64_t nodes, std::optional<std::int64_t> time_ms, std::optional<int> plies,
                       bool shortest, double share) {
        require_between("nodes", nodes, 1, INT64_MAX);
        if (time_ms) require_between("time_ms", *time_ms, 0, LONGEST_MS);
        if (plies) require_between("plies", *plies, 1, MateSolver::MAX_PLIES);
        MateLimits limits;
        limits.nodes = static_cast<std::uint64_t>(nodes);
        limits.plies = plies.value_or(0);
        if (time_ms) limits.time = std::chrono::milliseconds(*time_ms);
        limits.shortest = shortest;
        limits.share = share;
        bool is_signalled = false;
        if (is_main_thread())
            limits.interrupted = [&is_signalled] {
                const nb::gil_scoped_acquire acquire;
                is_signalled = PyErr_CheckSignals() != 0;
                return is_signalled;
            };
        if (is_busy_.exchange(true)) throw std::runtime_error("the solver is already searching");
        const Busy busy{is_busy_};
        const Board board = position.board();
        MateSolution solution;
        {
            const Unlocked release;
            solution = solver_.solve(board, limits);
        }
        if (is_signalled) throw nb::python_error();
        return solution;
    }

    void stop() { solver_.stop(); }
    void resume() { solver_.resume(); }

  private:
    struct Busy {
        std::atomic<bool>& flag;
        ~Busy() { flag.store(false); }
    };
    static std::size_t checked(std::int64_t memory_mb) {
        require_between("memory_mb", memory_mb, 1, MOST_MEMORY_MB);
        return static_cast<std::size_t>(memory_mb);
    }

    MateSolver solver_;
    std::atomic<bool> is_busy_ = false;
};

const char* words(MateReason reason) {
    switch (reason) {
        case MateReason::MATE: return "mate";
        case MateReason::NO_MATE: return "no mate";
        case MateReason::NODES: return "node limit";
        case MateReason::TIME: return "time limit";
        default: return "stopped";
    }
}

}  // namespace

void bind_mate(nb::module_& m) {
    nb::enum_<MateReason>(m, "MateReason", "Why a mate search ended.")
        .value("MATE", MateReason::MATE, "A mate was found.")
        .value("NO_MATE", MateReason::NO_MATE, "There is no mate within the limit of plies.")
        .value("NODES", MateReason::NODES, "Undecided at the limit of nodes, or of memory.")
        .value("TIME", MateReason::TIME, "Undecided at the limit of time.")
        .value("STOPPED", MateReason::STOPPED, "Undecided when `MateSolver.stop` was called.");
    nb::class_<MateSolution>(m, "MateResult", "The result of a mate search.")
        .def_ro("reason", &MateSolution::reason, "Why the search ended.")
        .def_ro("moves", &MateSolution::line, "The whole mate; empty if none was found.")
        .def_prop_ro(
            "plies", [](const MateSolution& self) { return self.line.empty() ? std::nullopt : std::optional(self.line.size()); },
            "Length of `moves`; None if no mate was found.")
        .def_ro("nodes", &MateSolution::nodes, "Number of positions whose moves were searched.")
        .def("__repr__", [](const MateSolution& self) {
            std::string text = std::string("<MateResult: ") + words(self.reason);
            if (!self.line.empty()) text += " in " + std::to_string(self.line.size()) + ", " + usi(self.line.front());
            return text + ">";
        });
    nb::class_<Solver>(
        m, "MateSolver",
        "Finds mates of any length (詰将棋) by df-pn.\n\n"
        "    >>> solver = MateSolver(memory_mb=16)\n"
        "    >>> result = solver.solve(Position.from_sfen('8l/6lpk/7n1/6S1P/9/9/9/9/K8 b RN 1'))\n"
        "    >>> result.reason, result.plies, [move.usi() for move in result.moves]\n"
        "    (MateReason.MATE, 3, ['N*2d', '1b2a', 'R*4a'])\n\n"
        "The side to move attacks: each of its moves gives check, and it mates against every defence. The moves that led to\n"
        "the position do not count. Only the king to be mated needs to be on the board. One search runs at a time.\n\n"
        "Args:\n    memory_mb: Memory of the hash table in MiB, 1 to 65536. It is taken as searches need it.")
        .def(nb::init<std::int64_t>(), "memory_mb"_a = 64)
        .def("solve", &Solver::solve, "position"_a, nb::kw_only(), "nodes"_a = 1'000'000, "time_ms"_a = nb::none(), "plies"_a = nb::none(),
             "shortest"_a = true, "share"_a = 1.0,
             "Search a mate.\n\n"
             "Args:\n    position: The position; the side to move attacks.\n"
             "    nodes: Maximum number of positions to search.\n"
             "    time_ms: Maximum time (ms); None: no limit.\n"
             "    plies: Longest mate to look for, at most 1023 plies; None: 1023.\n"
             "    shortest: After the first mate, look for shorter ones while the limits last. If they do, the mate is the\n"
             "        shortest possible, and the defence resists as long as it can; otherwise another defence\n"
             "        may last longer. All interpositions (合駒) count.\n"
             "    share: The most of the time that the search may use a core, 0.001 to 1; in the rest it sleeps.\n\n"
             "Returns:\n    The result; its line is a legal mate.\n\n"
             "Raises:\n    ValueError: There is no king to mate, or a limit is out of range.\n"
             "    RuntimeError: The solver is already searching.")
        .def("stop", &Solver::stop, "From any thread: end the running search, and those to come until `resume`.")
        .def("resume", &Solver::resume, "Undo `stop`.");
}
