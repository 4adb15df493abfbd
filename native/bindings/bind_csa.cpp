// Reading CSA records.
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
#include "csa/moves.hpp"
#include "csa/reader.hpp"
#include "shogi/position.hpp"
#include "unlocked.hpp"

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
    const Unlocked release;
    return reader.next();
}

HcpArray hcps_of(const CsaGame& game) {
    std::vector<Hcp> hcps;
    {
        const Unlocked release;
        hcps = game.hcps();
    }
    return new_array<std::uint8_t, nb::shape<-1, HCP_BYTES>>(hcps.data()->data(), hcps.size() * HCP_BYTES, {hcps.size(), HCP_BYTES});
}

std::vector<std::tuple<Move, std::uint64_t>> visits_of(std::string_view text, const Position& game) {
    std::vector<std::tuple<Move, std::uint64_t>> rows;
    for (const VisitedMove& visited : read_visits(text, game.board())) rows.emplace_back(visited.move, visited.visits);
    return rows;
}

std::vector<std::pair<std::string, std::string>> endings() { return {CSA_ENDINGS.begin(), CSA_ENDINGS.end()}; }

std::optional<std::int64_t> known_time(std::int64_t time_ms) { return time_ms == CsaGame::NO_TIME ? std::nullopt : std::optional(time_ms); }

}  // namespace

void bind_csa(nb::module_& m) {
    nb::class_<CsaGame>(m, "CsaGame", "A game of a CSA text with N legal moves, or the reason why it cannot be read.")
        .def_prop_ro(
            "damage",
            [](const CsaGame& game) {
                std::optional<DamageRow> row;
                if (game.damage) row.emplace(game.damage->line, game.damage->is_illegal_move, game.damage->message);
                return row;
            },
            "The error of a game that cannot be read: line (from 1), whether a move is illegal, and the message, in\n"
            "which every second part is text to be quoted. None if there is no error.")
        .def_ro("headers", &CsaGame::headers,
                "Keys and values of the header in their order: N+, N-, $EVENT and others with $, 'black_rate,\n"
                "'white_rate, 'summary, '$END_TIME, 'Max_Moves.")
        .def_ro("initial_sfen", &CsaGame::initial_sfen, "The first position as SFEN.")
        .def_prop_ro("moves", &column_of<&CsaGame::moves>, nb::rv_policy::reference_internal, "uint16 [N]: as `Move.raw`.")
        .def_prop_ro("scores", &column_of<&CsaGame::scores>, nb::rv_policy::reference_internal,
                     "int32 [N]: centipawns from Black's side; NO_SCORE if unknown.")
        .def_prop_ro("times_ms", &column_of<&CsaGame::times_ms>, nb::rv_policy::reference_internal,
                     "int64 [N]: time of each move; -1 if unknown.")
        .def_ro("pvs", &CsaGame::pvs, "The PV of each score, as text.")
        .def_ro("comments", &CsaGame::comments, "The other comments: number of moves before each, and its text.")
        .def_ro("ending", &CsaGame::ending, "The word after %; None without one.")
        .def_prop_ro(
            "ending_time_ms", [](const CsaGame& game) { return known_time(game.ending_time_ms); },
            "Time of the side to move before the end; None if unknown.")
        .def_ro("ending_comments", &CsaGame::ending_comments, "Comments on the end, and text below it.")
        .def_prop_ro(
            "outcome", [](const CsaGame& game) { return std::string(game.outcome); },
            "What a server said about the winner: black_win, white_win, draw, or empty.")
        .def_ro("illegal_move", &CsaGame::illegal_move, "The illegal move that ended the game, as written; empty if there is none.")
        .def_prop_ro(
            "illegal_move_time_ms", [](const CsaGame& game) { return known_time(game.illegal_move_time_ms); },
            "Time of the illegal move; None if unknown.")
        .def_ro("turn", &CsaGame::turn, "The side to move at the end.")
        .def("__len__", [](const CsaGame& game) { return game.moves.size(); })
        .def("hcps", &hcps_of,
             "The hcp before each move and after the last: uint8 [N + 1, 32].\n\n"
             "Raises:\n    InvalidPackedError: A king is missing.");
    m.attr("NO_SCORE") = CsaGame::NO_SCORE;
    m.attr("MOST_PLIES") = MOST_PLIES;
    nb::class_<CsaReader>(m, "CsaReader", "Iterates over the games of a CSA text.")
        .def(nb::init<std::string>(), "text"_a)
        .def("next", &next_game, "The next game, possibly damaged; None at the end. Blank lines and comments are not a game.");
    m.def("csa_endings", &endings, "Words after % at the end of a game, and the name of the `Termination` of each.");
    m.def("read_csa_visits", &visits_of, "text"_a, "position"_a,
          "Parse candidates with visits as AobaZero writes them: 7776FU,430m,2726FU,352l. The letter after the visits is\n"
          "optional. The visits of a repeated move are added.\n\n"
          "Raises:\n    InvalidMoveError: The text is not such a list, or a move is not legal.");
}
