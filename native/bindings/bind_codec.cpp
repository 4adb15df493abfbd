// Formats of positions and games: packed sfen, moves of psv, keys of Apery's book, hcpe3. Functions on batches check the
// shapes of their arrays and release the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "codec/book_key.hpp"
#include "codec/endings.hpp"
#include "codec/hcp.hpp"
#include "codec/hcpe3.hpp"
#include "codec/records.hpp"
#include "codec/selfplay_rules.hpp"
#include "shogi/errors.hpp"
#include "shogi/position.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

using PackedRows = Rows<const std::uint8_t, HCP_BYTES>;
template <class T>
using Column = nb::ndarray<const T, nb::numpy, nb::shape<-1>>;
using PackedColumn = nb::ndarray<const std::uint8_t, nb::numpy, nb::shape<-1, HCP_BYTES>>;

nb::bytes psfen_of(const Position& position) {
    const Hcp psfen = encode_psfen(position.board());
    return nb::bytes(psfen.data(), psfen.size());
}

Position position_from_psfen(const nb::bytes& psfen) {
    if (psfen.size() != HCP_BYTES) throw ParseError(ParseError::Kind::PACKED, "a psfen has 32 bytes, not " + std::to_string(psfen.size()));
    return Position(decode_psfen(HcpView(static_cast<const std::uint8_t*>(psfen.data()), HCP_BYTES)));
}

template <auto CONVERT, class In, class Out>
void convert_rows(const In& in, const Out& out) {
    const std::size_t n = common_rows(in, out);
    const Unlocked release;
    CONVERT(n, in.data(), out.data());
}

using FoundRecords = std::vector<std::tuple<std::size_t, std::string>>;

FoundRecords bad_records(const PackedRows& packed, const std::optional<Rows<const std::uint16_t>>& moves, bool psv) {
    const std::size_t n = moves ? common_rows(packed, *moves) : packed.shape(0);
    std::vector<BadRecord> found;
    {
        const Unlocked release;
        found = find_bad_records(n, packed.data(), moves ? moves->data() : nullptr, psv);
    }
    FoundRecords rows;
    for (BadRecord& bad : found) rows.emplace_back(bad.index, std::move(bad.reason));
    return rows;
}

void bind_records(nb::module_& m) {
    m.def("encode_psfen", &psfen_of, "position"_a,
          "Pack the position into 32 bytes (packed sfen), as YaneuraOu does. Ply and past are lost.\n\n"
          "Raises:\n    InvalidPackedError: A king is missing.");
    m.def("position_from_psfen", &position_from_psfen, "psfen"_a,
          "Unpack a packed sfen; the ply is 1.\n\n"
          "Raises:\n    InvalidPackedError: The bytes are not a position.");
    m.def(
        "book_key", [](const Position& position) { return book_key(position.board()); }, "position"_a,
        "The position's key in Apery's opening book (book.bin).");
    m.def("hcps_to_psfens", &convert_rows<hcps_to_psfens, PackedRows, Rows<std::uint8_t, HCP_BYTES>>, "hcps"_a.noconvert(),
          "psfens"_a.noconvert(),
          "Convert positions from hcp to packed sfen.\n\n"
          "Args:\n    hcps: uint8 [N, 32].\n    psfens: uint8 [N, 32], written.\n\n"
          "Raises:\n    InvalidPackedError: A record is not a position; the message names its index.");
    m.def("psfens_to_hcps", &convert_rows<psfens_to_hcps, PackedRows, Rows<std::uint8_t, HCP_BYTES>>, "psfens"_a.noconvert(),
          "hcps"_a.noconvert(),
          "Convert positions from packed sfen to hcp.\n\n"
          "Args:\n    psfens: uint8 [N, 32].\n    hcps: uint8 [N, 32], written.\n\n"
          "Raises:\n    InvalidPackedError: A record is not a position; the message names its index.");
    m.def("moves_to_psv", &convert_rows<moves_to_psv, Rows<const std::uint16_t>, Rows<std::uint16_t>>, "moves"_a.noconvert(),
          "psv_moves"_a.noconvert(),
          "Convert moves from hcpe to psv.\n\n"
          "Args:\n    moves: uint16 [N], as `Move.raw`; 0, no move, stays 0.\n    psv_moves: uint16 [N], written.\n\n"
          "Raises:\n    InvalidMoveError: An entry is not a move; the message names its index.");
    m.def("moves_from_psv", &convert_rows<moves_from_psv, Rows<const std::uint16_t>, Rows<std::uint16_t>>, "psv_moves"_a.noconvert(),
          "moves"_a.noconvert(),
          "Convert moves from psv to hcpe.\n\n"
          "Args:\n    psv_moves: uint16 [N]; 0, no move, stays 0.\n    moves: uint16 [N], written.\n\n"
          "Raises:\n    InvalidMoveError: An entry is not a move; the message names its index.");
    m.def("book_keys", &convert_rows<book_keys_of, PackedRows, Rows<std::uint64_t>>, "hcps"_a.noconvert(), "keys"_a.noconvert(),
          "Compute the keys of positions in Apery's opening book.\n\n"
          "Args:\n    hcps: uint8 [N, 32].\n    keys: uint64 [N], written.\n\n"
          "Raises:\n    InvalidPackedError: A record is not a position; the message names its index.");
    m.def("find_bad_records", &bad_records, "packed"_a.noconvert(), "moves"_a.noconvert().none(), nb::kw_only(), "psv"_a = false,
          "Find records with an impossible position or an illegal move; return the index and the reason of each.\n\n"
          "Args:\n    packed: uint8 [N, 32].\n    moves: uint16 [N]; None to check only the positions. In psv 0 is no move, and not bad.\n"
          "    psv: Whether positions and moves are in psv's encoding instead of hcp and `Move.raw`.");
}

template <class T>
Column<T> column(const std::vector<T>& values) {
    return Column<T>(values.data(), {values.size()});
}

PackedColumn packed_column(const std::vector<Hcp>& values) {
    return PackedColumn(values.empty() ? nullptr : values.data()->data(), {values.size(), HCP_BYTES});
}

// A property that shows a column without a copy; the array keeps its owner alive.
template <auto MEMBER>
auto column_of(const DecodedGames& decoded) {
    const auto& values = decoded.games.*MEMBER;
    if constexpr (std::is_same_v<decltype(values), const std::vector<Hcp>&>)
        return packed_column(values);
    else
        return column(values);
}

DecodedGames decoded_games(const Rows<const std::uint8_t>& data, bool last, bool searching) {
    const Unlocked release;
    return decode_hcpe3({data.data(), data.shape(0)}, last, searching);
}

nb::bytes encoded_games(const PackedRows& starts, const Rows<const std::uint8_t>& results, const Rows<const std::uint8_t>& opponents,
                        const Rows<const std::uint64_t>& plies, const Rows<const std::uint16_t>& moves,
                        const Rows<const std::int16_t>& evals, const Rows<const std::uint64_t>& candidates,
                        const Rows<const std::uint16_t>& candidate_moves, const Rows<const std::uint16_t>& candidate_visits) {
    const auto span = [](const auto& rows) { return std::span(rows.data(), rows.size()); };
    const GameRows games{span(starts), span(results),    span(opponents),       span(plies),           span(moves),
                         span(evals),  span(candidates), span(candidate_moves), span(candidate_visits)};
    std::vector<std::uint8_t> out;
    {
        const Unlocked release;
        out = encode_hcpe3(games);
    }
    return nb::bytes(out.data(), out.size());
}

std::vector<GameEnding> endings_of(const PackedRows& starts, const Rows<const std::uint64_t>& plies,
                                   const Rows<const std::uint16_t>& moves) {
    const Unlocked release;
    return judge_endings({starts.data(), starts.size()}, {plies.data(), plies.size()}, {moves.data(), moves.size()});
}

void bind_endings(nb::module_& m) {
    nb::class_<GameEnding>(m, "GameEnding", "How the rules judge the last position of a game.")
        .def_ro("is_mated", &GameEnding::is_mated, "The side to move has no legal move.")
        .def_ro("repetition", &GameEnding::repetition, "As `Position.repetition`.")
        .def_ro("occurrences", &GameEnding::occurrences, "As `Position.occurrences`.")
        .def_ro("can_declare", &GameEnding::can_declare,
                "Whether the side to move may declare a win by 27 points or 24, or by the try rule.")
        .def_ro("black_to_move", &GameEnding::black_to_move, "Whether Black is to move.")
        .def_ro("fourfold_before", &GameEnding::fourfold_before,
                "Number of moves after which a position had occurred four times and the game went on; -1 if never.");
    m.def("judge_endings", &endings_of, "starts"_a.noconvert(), "plies"_a.noconvert(), "moves"_a.noconvert(),
          "Judge the last positions of games, given as columns of `DecodedGames`.\n\n"
          "Raises:\n    ShogiError: A start is not a position, or a move is not legal.");
}

SelfplayCheck checked_selfplay(const DecodedGames& games, const SelfplayRules& rules) {
    const Unlocked release;
    return check_selfplay(games.games, rules);
}

void bind_selfplay_rules(nb::module_& m) {
    nb::enum_<EndReason>(m, "EndReason", nb::is_arithmetic(), "Why a game of self-play ended.")
        .value("MATE", EndReason::MATE)
        .value("RESIGNATION", EndReason::RESIGNATION)
        .value("REPETITION", EndReason::REPETITION, "A draw, or a loss by perpetual check.")
        .value("DECLARATION", EndReason::DECLARATION)
        .value("MAX_PLIES", EndReason::MAX_PLIES)
        .value("NONE", EndReason::NONE, "The game has a fault.");
    nb::class_<SelfplayRules>(m, "SelfplayRules", "What the settings of self-play promise about its games.")
        .def(
            "__init__",
            [](SelfplayRules* self, int least_plies, int most_plies, double resign_threshold, std::uint32_t most_visits,
               DeclarationRule declaration) {
                new (self) SelfplayRules{least_plies, most_plies, resign_threshold, most_visits, declaration};
            },
            nb::kw_only(), "least_plies"_a, "most_plies"_a, "resign_threshold"_a, "most_visits"_a, "declaration"_a,
            "Args:\n    least_plies: Moves of the shortest game.\n    most_plies: Moves after which a game is a draw.\n"
            "    resign_threshold: A game may end by resignation where abs(2 * win_probability - 1) is above it.\n"
            "    most_visits: Most visits of all candidates of a move together.\n"
            "    declaration: Rule of declaration wins.")
        .def_ro("least_plies", &SelfplayRules::least_plies)
        .def_ro("most_plies", &SelfplayRules::most_plies)
        .def_ro("resign_threshold", &SelfplayRules::resign_threshold)
        .def_ro("most_visits", &SelfplayRules::most_visits)
        .def_ro("declaration", &SelfplayRules::declaration);
    nb::class_<SelfplayCheck>(m, "SelfplayCheck", "How games of self-play ended, and which broke their rules.")
        .def_prop_ro(
            "ends", [](const SelfplayCheck& check) { return column(check.ends); }, nb::rv_policy::reference_internal,
            "uint8 [G]: `EndReason` of each game.")
        .def_prop_ro(
            "faults",
            [](const SelfplayCheck& check) {
                std::vector<std::tuple<std::size_t, int, std::string>> rows;
                for (const GameFault& f : check.faults) rows.emplace_back(f.game, f.ply, f.reason);
                return rows;
            },
            "The first fault of each game that has one: game, move (from 0; -1 if it is not about a move), reason.");
    m.def("check_selfplay", &checked_selfplay, "games"_a, "rules"_a,
          "Derive the results of games again, and check candidates, visits and evaluations.\n\n"
          "A game ends with mate; with the flag of a repetition (within 16 plies), a declaration or the\n"
          "maximum of plies; or by resignation, which the last evaluation must show. A side that is another program has\n"
          "no candidates and may resign at any time.");
}

void bind_games(nb::module_& m) {
    nb::class_<DecodedGames>(m, "DecodedGames",
                             "Games of hcpe3 as columns: G games with P moves and C candidates in total.\n\n"
                             "The arrays are read-only views that keep their owner alive.")
        .def_prop_ro("offsets", &column_of<&GameColumns::offsets>, nb::rv_policy::reference_internal,
                     "uint64 [G]: offset of each game in the data.")
        .def_prop_ro("starts", &column_of<&GameColumns::starts>, nb::rv_policy::reference_internal,
                     "uint8 [G, 32]: hcp of the first position.")
        .def_prop_ro("results", &column_of<&GameColumns::results>, nb::rv_policy::reference_internal,
                     "uint8 [G]: 0 draw, 1 Black won, 2 White won; plus flags.")
        .def_prop_ro("opponents", &column_of<&GameColumns::opponents>, nb::rv_policy::reference_internal, "uint8 [G].")
        .def_prop_ro("plies", &column_of<&GameColumns::plies>, nb::rv_policy::reference_internal,
                     "uint64 [G + 1]: the moves of game g are plies[g] to plies[g + 1].")
        .def_prop_ro("hcps", &column_of<&GameColumns::hcps>, nb::rv_policy::reference_internal, "uint8 [P, 32]: hcp before each move.")
        .def_prop_ro("moves", &column_of<&GameColumns::moves>, nb::rv_policy::reference_internal,
                     "uint16 [P]: the moves played, as `Move.raw`.")
        .def_prop_ro("evals", &column_of<&GameColumns::evals>, nb::rv_policy::reference_internal,
                     "int16 [P]: centipawns from the side to move.")
        .def_prop_ro("candidates", &column_of<&GameColumns::candidates>, nb::rv_policy::reference_internal,
                     "uint64 [P + 1]: the candidates of move p are candidates[p] to candidates[p + 1].")
        .def_prop_ro("candidate_moves", &column_of<&GameColumns::candidate_moves>, nb::rv_policy::reference_internal,
                     "uint16 [C]: as `Move.raw`.")
        .def_prop_ro("candidate_visits", &column_of<&GameColumns::candidate_visits>, nb::rv_policy::reference_internal, "uint16 [C].")
        .def_prop_ro(
            "damages",
            [](const DecodedGames& decoded) {
                std::vector<std::tuple<std::size_t, std::size_t, int, std::string>> rows;
                for (const GameDamage& d : decoded.damages) rows.emplace_back(d.offset, d.bytes, d.ply, d.reason);
                return rows;
            },
            "The damaged parts: offset, number of bytes skipped, the offending move (from 0; -1 for the header), and the\n"
            "reason.")
        .def_ro("consumed", &DecodedGames::consumed, "Number of bytes read; the rest is the beginning of an incomplete game.")
        .def_ro("gap", &DecodedGames::gap, "Number of bytes at the beginning that belong to damage of the previous data.")
        .def_ro("searching", &DecodedGames::searching, "Whether the last damage may continue in the next data.");
    m.def("decode_hcpe3", &decoded_games, "data"_a.noconvert(), "last"_a, "searching"_a = false,
          "Read the complete games of a part of an hcpe3 file, which starts at a game.\n\n"
          "Games are replayed, so that positions, moves and candidates are known to be legal. Damaged parts are skipped\n"
          "and reported; reading continues at the next game.\n\n"
          "Args:\n    data: uint8 [N].\n"
          "    last: Whether the file ends here, so that an incomplete game is damage.\n"
          "    searching: `DecodedGames.searching` of the previous part of the file.");
    bind_endings(m);
    m.def("encode_hcpe3", &encoded_games, "starts"_a.noconvert(), "results"_a.noconvert(), "opponents"_a.noconvert(), "plies"_a.noconvert(),
          "moves"_a.noconvert(), "evals"_a.noconvert(), "candidates"_a.noconvert(), "candidate_moves"_a.noconvert(),
          "candidate_visits"_a.noconvert(),
          "Encode games as hcpe3, given as columns of `DecodedGames`. Moves are not checked.\n\n"
          "Raises:\n    ValueError: The columns do not match, a game has more than 65535 moves, or a move more than\n"
          "        593 candidates.");
}

}  // namespace

void bind_codec(nb::module_& m) {
    bind_records(m);
    bind_games(m);
    bind_selfplay_rules(m);
}
