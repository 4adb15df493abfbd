// Game records in CSA: a text in, games out.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "csa/reader.hpp"
#include "shogi/game.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

template <class T>
using Column = nb::ndarray<const T, nb::numpy, nb::shape<-1>>;
using HcpArray = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<-1, HCP_BYTES>>;
using DamageRow = std::tuple<std::size_t, bool, CsaMessage>;

// A property that shows a column without a copy; the array keeps the game alive.
template <auto MEMBER>
auto column_of(const CsaGame& game) {
    const auto& values = game.*MEMBER;
    return Column<typename std::decay_t<decltype(values)>::value_type>(values.data(), {values.size()});
}

std::optional<CsaGame> next_game(CsaReader& reader) {
    const nb::gil_scoped_release release;
    return reader.next();
}

HcpArray hcps_of(const CsaGame& game) {
    std::vector<Hcp> hcps;
    {
        const nb::gil_scoped_release release;
        hcps = game.hcps();
    }
    return new_array<std::uint8_t, nb::shape<-1, HCP_BYTES>>(hcps.data()->data(), hcps.size() * HCP_BYTES,
                                                             {hcps.size(), HCP_BYTES});
}

std::vector<std::tuple<Move, std::uint64_t>> visits_of(std::string_view text, const Game& game) {
    std::vector<std::tuple<Move, std::uint64_t>> rows;
    for (const VisitedMove& visited : read_visits(text, game.position())) rows.emplace_back(visited.move, visited.visits);
    return rows;
}

std::vector<std::pair<std::string, std::string>> endings() { return {CSA_ENDINGS.begin(), CSA_ENDINGS.end()}; }

}  // namespace

void bind_csa(nb::module_& m) {
    nb::class_<CsaGame>(m, "CsaGame", "A game of a CSA text with N legal moves, or why it is none.")
        .def_prop_ro("damage", [](const CsaGame& game) {
            std::optional<DamageRow> row;
            if (game.damage) row.emplace(game.damage->line, game.damage->is_illegal_move, game.damage->message);
            return row;
        }, "Why the game cannot be read, None if it can: the line (from 1), whether it is a move that the rules\n"
           "forbid, and the message: words and, in between, pieces of the text that belong into quotation marks.")
        .def_ro("headers", &CsaGame::headers,
                "What is noted on the game, in its order: N+, N-, $EVENT and whatever else begins with $, 'black_rate,\n"
                "'white_rate, 'summary, '$END_TIME, 'Max_Moves, each with what follows it.")
        .def_ro("initial_sfen", &CsaGame::initial_sfen, "The first position.")
        .def_prop_ro("moves", &column_of<&CsaGame::moves>, nb::rv_policy::reference_internal,
                     "uint16 [N]: as `Move.raw`.")
        .def_prop_ro("scores", &column_of<&CsaGame::scores>, nb::rv_policy::reference_internal,
                     "int32 [N]: centipawns from Black's side; NO_SCORE where there is none.")
        .def_prop_ro("times_ms", &column_of<&CsaGame::times_ms>, nb::rv_policy::reference_internal,
                     "int64 [N]: -1 where there is none.")
        .def_ro("pvs", &CsaGame::pvs, "The line that is noted with each score.")
        .def_ro("comments", &CsaGame::comments, "The other comments: how many moves stand before each, and its text.")
        .def_ro("ending", &CsaGame::ending, "The word after %; None if there is none.")
        .def_ro("illegal_move", &CsaGame::illegal_move, "The statement of the illegal move that ended the game, or ''.")
        .def_ro("turn", &CsaGame::turn, "Whose turn it is at the end.")
        .def("__len__", [](const CsaGame& game) { return game.moves.size(); })
        .def("hcps", &hcps_of,
             "The positions before each move, and the last: uint8 [N + 1, 32].\n\n"
             "Raises:\n    InvalidPackedError: The first position lacks a king.");
    m.attr("NO_SCORE") = CsaGame::NO_SCORE;
    nb::class_<CsaReader>(m, "CsaReader", "The games of a CSA text, one after the other.")
        .def(nb::init<std::string>(), "text"_a)
        .def("next", &next_game,
             "The next game, good or damaged; None at the end. Blank lines and comments alone make no game.");
    m.def("csa_endings", &endings, "The words that may follow % at the end of a game, each with the `Termination` that it means.");
    m.def("read_csa_visits", &visits_of, "text"_a, "position"_a,
          "The candidates of a search, as AobaZero notes them: 7776FU,430m,2726FU,352l; a letter behind the visits, or\n"
          "none. A move that stands there twice has the sum.\n\n"
          "Raises:\n    InvalidMoveError: It is nothing of the kind, or a move is not legal.");
}
