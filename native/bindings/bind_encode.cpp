// Codec and encoding: hcp, hcpe, input planes, policy labels. Batched functions work on arrays that the caller owns,
// check their shapes, and release the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "codec/averages.hpp"
#include "codec/evaluation.hpp"
#include "codec/hcp.hpp"
#include "encode/batch.hpp"
#include "encode/game_index.hpp"
#include "encode/labels.hpp"
#include "encode/planes.hpp"
#include "shogi/errors.hpp"
#include "shogi/movegen.hpp"
#include "shogi/position.hpp"
#include "shogi/usi_move.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

using Planes1Array = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<PACKED1_BYTES>>;
using Planes2Array = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<PACKED2_BYTES>>;
using LabelsArray = nb::ndarray<std::uint16_t, nb::numpy, nb::shape<-1>>;
using HcpArray = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<-1, HCP_BYTES>>;

nb::bytes hcp_of(const Position& position) {
    const Hcp hcp = encode_hcp(position.board());
    return nb::bytes(hcp.data(), hcp.size());
}

Position position_from_hcp(const nb::bytes& hcp) {
    if (hcp.size() != HCP_BYTES) throw ParseError(ParseError::Kind::PACKED, "an hcp has 32 bytes, not " + std::to_string(hcp.size()));
    return Position(decode_hcp(HcpView(static_cast<const std::uint8_t*>(hcp.data()), HCP_BYTES)));
}

std::pair<Planes1Array, Planes2Array> planes_of(const Position& position) {
    std::array<std::uint8_t, PACKED1_BYTES> planes1;
    std::array<std::uint8_t, PACKED2_BYTES> planes2;
    encode_packed(position.board(), planes1, planes2);
    return {new_array<std::uint8_t, nb::shape<PACKED1_BYTES>>(planes1.data(), PACKED1_BYTES, {PACKED1_BYTES}),
            new_array<std::uint8_t, nb::shape<PACKED2_BYTES>>(planes2.data(), PACKED2_BYTES, {PACKED2_BYTES})};
}

using Features1 = nb::ndarray<float, nb::numpy, nb::shape<FEATURES1, 9, 9>>;
using Features2 = nb::ndarray<float, nb::numpy, nb::shape<FEATURES2, 9, 9>>;

std::pair<Features1, Features2> features_of(const Position& position) {
    std::array<std::uint8_t, PACKED1_BYTES> planes1;
    std::array<std::uint8_t, PACKED2_BYTES> planes2;
    encode_packed(position.board(), planes1, planes2);
    std::array<float, FEATURES1 * SQUARES> features1;
    std::array<float, FEATURES2 * SQUARES> features2;
    unpack_batch(1, planes1.data(), planes2.data(), FEATURES2, features1.data(), features2.data());
    return {new_array<float, nb::shape<FEATURES1, 9, 9>>(features1.data(), features1.size(), {FEATURES1, 9, 9}),
            new_array<float, nb::shape<FEATURES2, 9, 9>>(features2.data(), features2.size(), {FEATURES2, 9, 9})};
}

std::uint16_t label_of(Color turn, Move move) {
    if (!has_policy_label(turn, move))
        throw ParseError(ParseError::Kind::MOVE, "move '" + usi(move) + "' has no policy label: no piece moves like this");
    return policy_label(turn, move);
}

LabelsArray legal_labels(const Position& position) {
    MoveList moves;
    generate_legal(position.board(), moves);
    std::array<std::uint16_t, MAX_MOVES> labels;
    for (std::size_t i = 0; i < moves.size(); ++i) labels[i] = policy_label(position.board().turn(), moves[i]);
    return new_array<std::uint16_t, nb::shape<-1>>(labels.data(), moves.size(), {moves.size()});
}

HcpArray game_hcps(const Position& start, const Rows<const std::uint16_t>& moves) {
    std::vector<Hcp> hcps;
    {
        const Unlocked release;
        hcps = replay_hcps(start.board(), moves.shape(0), moves.data());
    }
    return new_array<std::uint8_t, nb::shape<-1, HCP_BYTES>>(hcps.data()->data(), hcps.size() * HCP_BYTES, {hcps.size(), HCP_BYTES});
}

using HcpRows = Rows<const std::uint8_t, HCP_BYTES>;
using HcpeRows = Rows<const std::uint8_t, HCPE_BYTES>;
using Packed1Rows = Rows<std::uint8_t, PACKED1_BYTES>;
using Packed2Rows = Rows<std::uint8_t, PACKED2_BYTES>;

void decode_hcps(const HcpRows& hcps, const Packed1Rows& planes1, const Packed2Rows& planes2) {
    const std::size_t n = common_rows(hcps, planes1, planes2);
    const Unlocked release;
    decode_hcp_batch(n, hcps.data(), planes1.data(), planes2.data());
}

void decode_hcpes(const HcpeRows& records, const Packed1Rows& planes1, const Packed2Rows& planes2, const Rows<std::uint16_t>& labels,
                  const Rows<float>& results, const Rows<float>& values, const std::optional<Rows<const double>>& eval_scales) {
    const std::size_t n = common_rows(records, planes1, planes2, labels, results, values);
    if (eval_scales) common_rows(records, *eval_scales);
    const Unlocked release;
    const Targets out{planes1.data(), planes2.data(), labels.data(), results.data(), values.data()};
    decode_hcpe_batch(n, records.data(), eval_scales ? eval_scales->data() : nullptr, out);
}

using Places = nb::ndarray<std::int32_t, nb::numpy, nb::shape<-1>>;
using Weights = nb::ndarray<float, nb::numpy, nb::shape<-1>>;

std::pair<Places, Weights> policy_arrays(const SoftPolicy& policy) {
    const std::size_t count = policy.places.size();
    return {new_array<std::int32_t, nb::shape<-1>>(policy.places.data(), count, {count}),
            new_array<float, nb::shape<-1>>(policy.weights.data(), count, {count})};
}

std::pair<Places, Weights> decode_averages(const Rows<const std::uint8_t, POSITION_BYTES>& positions,
                                           const Rows<const std::uint8_t, MOVE_BYTES>& moves, const Packed1Rows& planes1,
                                           const Packed2Rows& planes2, const Rows<std::uint16_t>& labels, const Rows<float>& results,
                                           const Rows<float>& values, double temperature) {
    const std::size_t n = common_rows(positions, planes1, planes2, labels, results, values);
    if (!(temperature >= 0)) throw std::invalid_argument("temperature must not be negative");
    SoftPolicy policy;
    try {
        const Unlocked release;
        const Targets out{planes1.data(), planes2.data(), labels.data(), results.data(), values.data()};
        policy = decode_average_batch(n, positions.data(), moves.shape(0), moves.data(), temperature, out);
    } catch (const std::out_of_range& e) {
        throw std::invalid_argument(e.what());
    }
    return policy_arrays(policy);
}

void unpack_planes(const Rows<const std::uint8_t, PACKED1_BYTES>& planes1, const Rows<const std::uint8_t, PACKED2_BYTES>& planes2,
                   const Rows<float, FEATURES1, 9, 9>& features1, const Rows<float, -1, 9, 9>& features2) {
    const std::size_t n = common_rows(planes1, planes2, features1, features2);
    const std::size_t count2 = features2.shape(1);
    if (count2 != FEATURES2 && count2 != COLOUR_PLANE + 1)
        throw std::invalid_argument("features2 must have 57 or 58 planes, not " + std::to_string(count2));
    const Unlocked release;
    unpack_batch(n, planes1.data(), planes2.data(), count2, features1.data(), features2.data());
}

void gather_logits(const Rows<const float, POLICY_LABELS>& policy, const Rows<const std::uint16_t, MAX_MOVES>& labels,
                   const Rows<const std::uint16_t>& counts, const Rows<float, MAX_MOVES>& logits) {
    const std::size_t n = common_rows(policy, labels, counts, logits);
    const Unlocked release;
    try {
        gather_batch(n, policy.data(), labels.data(), counts.data(), logits.data());
    } catch (const std::out_of_range& e) {
        throw std::invalid_argument(e.what());
    }
}

// The sizes of arrays and the scale of evaluations, so that Python does not repeat them.
void bind_constants(nb::module_& m) {
    m.attr("FEATURES1") = FEATURES1;
    m.attr("FEATURES2") = FEATURES2;
    m.attr("PACKED1_BYTES") = PACKED1_BYTES;
    m.attr("PACKED2_BYTES") = PACKED2_BYTES;
    m.attr("POLICY_LABELS") = POLICY_LABELS;
    m.attr("NO_POLICY_LABEL") = NO_POLICY_LABEL;
    m.attr("MAX_MOVES") = MAX_MOVES;
    m.attr("EVAL_SCALE") = EVAL_SCALE;
    m.attr("MATE_CP") = MATE_CP;
    m.def("centipawns", &centipawns, "winrate"_a, "scale"_a = std::nearbyint(EVAL_SCALE),
          "A win rate (0 to 1) in centipawns, -scale * ln(1 / winrate - 1) as in dlshogi; +-30000 for 0 and 1, and never beyond.");
}

void bind_position_encoding(nb::module_& m) {
    auto cls = nb::borrow<nb::class_<Position>>(m.attr("Position"));
    cls.def("planes", &features_of,
            "The network input of the position, in dlshogi's layout: float32 [62, 9, 9] and float32 [57, 9, 9].\n\n"
            "    >>> board, hands = Position().planes()\n"
            "    >>> board.shape, hands.shape\n"
            "    ((62, 9, 9), (57, 9, 9))\n\n"
            "The axes are plane, file and rank, as the side to move sees the board.")
        .def(
            "policy_label", [](const Position& position, Move move) { return label_of(position.board().turn(), move); }, "move"_a,
            "dlshogi's policy label of a move, 0 to 2186: direction * 81 + to, as the side to move sees the board.\n\n"
            "Raises:\n    InvalidMoveError: No piece moves like this.")
        .def("legal_labels", &legal_labels,
             "The policy labels of `legal_moves`, in the same order: uint16 [count].\n\n"
             "    >>> position = Position()\n"
             "    >>> int(position.legal_labels()[0]) == position.policy_label(position.legal_moves[0])\n"
             "    True");
}

void bind_single(nb::module_& m) {
    m.def("encode_hcp", &hcp_of, "position"_a,
          "The position in 32 bytes (HuffmanCodedPos), as dlshogi and cshogi write it, without ply and past.\n\n"
          "Raises:\n    InvalidPackedError: A king is missing.");
    m.def("position_from_hcp", &position_from_hcp, "hcp"_a,
          "The position encoded in 32 bytes; its ply is 1.\n\nRaises:\n    InvalidPackedError: The bytes are not a position.");
    m.def("encode_position", &planes_of, "position"_a,
          "dlshogi's input planes of a position, bit-packed: uint8 [628] and uint8 [8].\n\n"
          "The first holds 62 planes of 81 squares, the second 57 constant planes of one bit each, and as 58th whether\n"
          "White is to move; both least significant bit first, as the side to move sees the board.");
    m.def("policy_label", &label_of, "turn"_a, "move"_a,
          "dlshogi's label of a move, 0 to 2186: direction * 81 + to, as the side to move sees the board.\n\n"
          "Raises:\n    InvalidMoveError: No piece moves like this.");
    m.def("encode_game_hcps", &game_hcps, "start"_a, "moves"_a.noconvert(),
          "The hcp before every move of a game, and the one after the last: uint8 [M + 1, 32].\n\n"
          "Args:\n    start: The first position; its past does not matter.\n"
          "    moves: uint16 [M], the moves as `Move.raw`. Each must be legal.\n\n"
          "Raises:\n    IllegalMoveError: A move is not legal; the message names its index.\n"
          "    InvalidPackedError: The start has no hcp, because a king is missing.");
}

void bind_batched(nb::module_& m) {
    m.def("decode_hcp", &decode_hcps, "hcps"_a.noconvert(), "planes1"_a.noconvert(), "planes2"_a.noconvert(),
          "Write the bit-packed input planes of many positions.\n\n"
          "Args:\n    hcps: uint8 [N, 32].\n"
          "    planes1: uint8 [N, 628], written.\n    planes2: uint8 [N, 8], written.\n\n"
          "Raises:\n    InvalidPackedError: A record is not a position; the message names its index.");
    m.def("decode_hcpe", &decode_hcpes, "records"_a.noconvert(), "planes1"_a.noconvert(), "planes2"_a.noconvert(), "labels"_a.noconvert(),
          "results"_a.noconvert(), "values"_a.noconvert(), "eval_scales"_a.noconvert().none() = nb::none(),
          "Write the bit-packed input planes and the targets of many hcpe records, as the side to move sees them.\n\n"
          "Args:\n    records: uint8 [N, 38].\n"
          "    planes1: uint8 [N, 628], written.\n    planes2: uint8 [N, 8], written.\n"
          "    labels: uint16 [N], written: the policy label of the best move; NO_POLICY_LABEL where the move is 0.\n"
          "    results: float32 [N], written: 1 won, 0.5 drawn, 0 lost.\n"
          "    values: float32 [N], written: 1 / (1 + exp(-eval / scale)).\n"
          "    eval_scales: float64 [N]; None: 756.0864962951762, dlshogi's.\n\n"
          "Raises:\n    InvalidPackedError: The position, the best move or the result of a record is invalid; the message\n"
          "        names the record's index.");
    m.def("decode_averages", &decode_averages, "positions"_a.noconvert(), "moves"_a.noconvert(), "planes1"_a.noconvert(),
          "planes2"_a.noconvert(), "labels"_a.noconvert(), "results"_a.noconvert(), "values"_a.noconvert(), "temperature"_a,
          "Write planes and targets of averaged positions, as `decode_hcpe` does, and return the policy: int32 [C], row *\n"
          "2187 + label, and float32 [C], the weights, which add up to 1 in each row.\n\n"
          "Args:\n    positions: uint8 [N, 64], rows of avg.\n"
          "    moves: uint8 [M, 16], their moves, in the order of the positions; `first_move` is ignored.\n"
          "    planes1: uint8 [N, 628], written.\n    planes2: uint8 [N, 8], written.\n"
          "    labels: uint16 [N], written: policy label of the move with the greatest weight.\n"
          "    results: float32 [N], written: mean result.\n    values: float32 [N], written: mean value.\n"
          "    temperature: Weights are visits^(1/temperature), or plays^(1/temperature) in a position without visits;\n"
          "        at 0 the move with the most has the whole weight.\n\n"
          "Raises:\n    InvalidPackedError: A position, a move or a count is invalid; the message names the row.\n"
          "    ValueError: There are more moves than the positions have.");
    m.def("unpack_planes", &unpack_planes, "planes1"_a.noconvert(), "planes2"_a.noconvert(), "features1"_a.noconvert(),
          "features2"_a.noconvert(),
          "Write bit-packed planes as zeros and ones.\n\n"
          "Args:\n"
          "    planes1: uint8 [N, 628].\n    planes2: uint8 [N, 8].\n"
          "    features1: float32 [N, 62, 9, 9], written.\n"
          "    features2: float32 [N, 57, 9, 9], or [N, 58, 9, 9] with the plane of the colour to move; written.");
    m.def("gather_logits", &gather_logits, "policy"_a.noconvert(), "labels"_a.noconvert(), "counts"_a.noconvert(), "logits"_a.noconvert(),
          "Write the logits of the legal moves: logits[i, j] = policy[i, labels[i, j]] for j < counts[i].\n\n"
          "Args:\n    policy: float32 [N, 2187].\n    labels: uint16 [N, 593].\n    counts: uint16 [N].\n"
          "    logits: float32 [N, 593], written up to counts[i] in each row.\n\n"
          "Raises:\n    ValueError: A count is above 593 or a label above 2186; the message names the row.");
}

using EvalCountArray = nb::ndarray<std::uint64_t, nb::numpy, nb::shape<GameIndex::EVALUATIONS, 3>>;

std::pair<Places, Weights> decode_games(const GameIndex& index, const Rows<const std::int64_t>& numbers, const Packed1Rows& planes1,
                                        const Packed2Rows& planes2, const Rows<std::uint16_t>& labels, const Rows<float>& results,
                                        const Rows<float>& values, double temperature, const Rows<const double>& eval_scales,
                                        unsigned n_step) {
    const std::size_t n = common_rows(numbers, planes1, planes2, labels, results, values);
    if (!(temperature >= 0)) throw std::invalid_argument("temperature must not be negative");
    if (eval_scales.shape(0) != index.files()) throw std::invalid_argument("eval_scales must have an entry for each file");
    SoftPolicy policy;
    try {
        const Unlocked release;
        const Targets out{planes1.data(), planes2.data(), labels.data(), results.data(), values.data()};
        policy = index.decode(n, numbers.data(), temperature, n_step, eval_scales.data(), out);
    } catch (const std::out_of_range& e) {
        throw nb::index_error(e.what());
    }
    return policy_arrays(policy);
}

void follow_games(const GameIndex& index, const Rows<const std::int64_t>& numbers, const Rows<std::int32_t>& replies,
                  const Rows<std::int32_t>& plies_left, const Rows<float, -1>& values, const Rows<const double>& horizons,
                  const Rows<const double>& eval_scales) {
    const std::size_t n = common_rows(numbers, replies, plies_left, values);
    if (values.shape(1) != horizons.shape(0)) throw std::invalid_argument("values must have a column for each horizon");
    if (eval_scales.shape(0) != index.files()) throw std::invalid_argument("eval_scales must have an entry for each file");
    const std::span<const double> plies(horizons.data(), horizons.shape(0));
    if (!std::ranges::all_of(plies, [](double m) { return m >= 1; })) throw std::invalid_argument("a horizon must be 1 or more");
    try {
        const Unlocked release;
        index.follow(n, numbers.data(), plies, eval_scales.data(), {replies.data(), plies_left.data(), values.data()});
    } catch (const std::out_of_range& e) {
        throw nb::index_error(e.what());
    }
}

std::tuple<nb::bytes, std::uint16_t, std::int16_t> find_in_games(const GameIndex& index, std::int64_t number) {
    try {
        const GameIndex::Found found = index.find(number);
        return {nb::bytes(found.position.data(), found.position.size()), found.move.raw(), found.eval};
    } catch (const std::out_of_range& e) {
        throw nb::index_error(e.what());
    }
}

void bind_game_index(nb::module_& m) {
    nb::class_<GameIndex>(m, "GameIndex",
                          "The training positions of hcpe3 files by number, in any order.\n\n"
                          "A training position has candidates, and its move does not lead into a repetition within 16\n"
                          "plies. The index keeps a position every 16 moves and replays the file's moves from there.")
        .def(nb::init<>())
        .def(
            "add_file",
            [](GameIndex& index, const Rows<const std::uint8_t>& data, std::string name) {
                index.add_file({data.data(), data.shape(0)}, std::move(name));
            },
            "data"_a.noconvert(), "name"_a, nb::keep_alive<1, 2>(),
            "Add a file; `read_on` reads it.\n\n"
            "Args:\n    data: uint8 [N], the bytes of the file, usually memory-mapped; they must not change.\n"
            "    name: Name of the file, for messages.")
        .def("read_on", &GameIndex::read_on, "size"_a, nb::call_guard<Unlocked>(),
             "Read about `size` more bytes of the last file; False at its end.\n\n"
             "Raises:\n    InvalidPackedError: A game is incomplete or invalid, or its candidates have no visits; the\n"
             "        message names the file, the game, the move and the offset.")
        .def("__len__", &GameIndex::size)
        .def_prop_ro("repetitions", &GameIndex::repetitions, "Number of positions left out because their move leads into a repetition.")
        .def_prop_ro(
            "left_out",
            [](const GameIndex& index) {
                const std::vector<std::uint64_t>& left_out = index.left_out();
                return new_array<std::uint64_t, nb::shape<-1>>(left_out.data(), left_out.size(), {left_out.size()});
            },
            nb::rv_policy::move,
            "Positions left out because their move leads into a repetition: uint64 [R], for each the number of the training\n"
            "position that follows it, ascending.")
        .def_prop_ro("continued", &GameIndex::continued, "Number of positions of games of several moves.")
        .def_prop_ro("choices", &GameIndex::choices, "Number of positions with several candidates.")
        .def_prop_ro("bytes", &GameIndex::bytes, "Memory of the index in bytes.")
        .def_prop_ro(
            "eval_counts",
            [](const GameIndex& index) {
                std::vector<std::array<std::uint64_t, 3>> counts = index.eval_counts();
                counts.resize(GameIndex::EVALUATIONS);
                return new_array<std::uint64_t, nb::shape<GameIndex::EVALUATIONS, 3>>(counts.front().data(), GameIndex::EVALUATIONS * 3,
                                                                                      {GameIndex::EVALUATIONS, 3});
            },
            nb::rv_policy::move,
            "The evaluations of the last file: uint64 [65536, 3], the number of positions with each evaluation (row 0:\n"
            "-32768) that the side to move lost, drew and won.")
        .def_prop_ro(
            "game_starts",
            [](const GameIndex& index) {
                const std::vector<std::uint64_t>& starts = index.game_starts();
                return new_array<std::uint64_t, nb::shape<-1>>(starts.data(), starts.size(), {starts.size()});
            },
            nb::rv_policy::move,
            "The first position of each game that has training positions: uint64 [G], ascending; a game's positions are\n"
            "numbered one after the other.")
        .def("find", &find_in_games, "number"_a,
             "The hcp of one position, the move played in it (`Move.raw`), and the evaluation in centipawns from the side\n"
             "to move.\n\n"
             "Raises:\n    IndexError: There is no such number.\n"
             "    InvalidPackedError: A file was changed since it was indexed.")
        .def("decode", &decode_games, "numbers"_a.noconvert(), "planes1"_a.noconvert(), "planes2"_a.noconvert(), "labels"_a.noconvert(),
             "results"_a.noconvert(), "values"_a.noconvert(), "temperature"_a, "eval_scales"_a.noconvert(), "n_step"_a = 0,
             "Write planes and targets of many positions, as `decode_hcpe` does, and return the policy: int32 [C], row *\n"
             "2187 + label, and float32 [C], the weights, which add up to 1 in each row.\n\n"
             "Args:\n    numbers: int64 [N], the positions.\n"
             "    planes1: uint8 [N, 628], written.\n    planes2: uint8 [N, 8], written.\n"
             "    labels: uint16 [N], written: policy label of the candidate with the most visits.\n"
             "    results: float32 [N], written.\n    values: float32 [N], written.\n"
             "    temperature: Weights are visits^(1/temperature); at 0 the most visited move has the whole weight.\n"
             "    eval_scales: float64 [F], the scale of each file's evaluations.\n"
             "    n_step: Values come from the evaluation so many plies later (of the last move with candidates up to\n"
             "        there), or from the result if the game ends before. 0, and games of one move: the position's\n"
             "        own evaluation.\n\n"
             "Raises:\n    IndexError: There is no such number.\n"
             "    InvalidPackedError: A file was changed since it was indexed.")
        .def("follow", &follow_games, "numbers"_a.noconvert(), "replies"_a.noconvert(), "plies_left"_a.noconvert(), "values"_a.noconvert(),
             "horizons"_a.noconvert(), "eval_scales"_a.noconvert(),
             "Write how the games of positions go on. A game of one move is a position whose game is not known: -1, 0, NaN.\n\n"
             "Args:\n    numbers: int64 [N], the positions.\n"
             "    replies: int32 [N], written: label of the opponent's next move, with its square as the side to move sees\n"
             "        it; -1 at the end of a game.\n"
             "    plies_left: int32 [N], written: moves to the end of the game, the position's own included.\n"
             "    values: float32 [N, H], written: exponential averages of the win probabilities from the position on, and of\n"
             "        the result with the weight that is left, from the side to move. Ply k weighs (1/m) (1 - 1/m)^k; a ply\n"
             "        without candidates has the value before it.\n"
             "    horizons: float64 [H], the m, 1 or more.\n"
             "    eval_scales: float64 [F], the scale of each file's evaluations.\n\n"
             "Raises:\n    IndexError: There is no such number.\n"
             "    InvalidPackedError: A file was changed since it was indexed.");
}

}  // namespace

void bind_encode(nb::module_& m) {
    bind_constants(m);
    bind_position_encoding(m);
    bind_single(m);
    bind_batched(m);
    bind_game_index(m);
}
