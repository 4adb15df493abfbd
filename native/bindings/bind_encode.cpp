// Codec and encoding: hcp, hcpe, input planes, policy labels. Batched functions work on arrays that the caller owns,
// check their shapes, and release the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <string>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "codec/hcp.hpp"
#include "encode/batch.hpp"
#include "encode/labels.hpp"
#include "encode/planes.hpp"
#include "shogi/errors.hpp"
#include "shogi/game.hpp"
#include "shogi/movegen.hpp"
#include "shogi/usi_move.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fukayomi;

namespace {

using Planes1Array = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<PACKED1_BYTES>>;
using Planes2Array = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<PACKED2_BYTES>>;
using LabelsArray = nb::ndarray<std::uint16_t, nb::numpy, nb::shape<-1>>;
using HcpArray = nb::ndarray<std::uint8_t, nb::numpy, nb::shape<-1, HCP_BYTES>>;

nb::bytes hcp_of(const Game& game) {
    const Hcp hcp = encode_hcp(game.position());
    return nb::bytes(hcp.data(), hcp.size());
}

Game position_from_hcp(const nb::bytes& hcp) {
    if (hcp.size() != HCP_BYTES)
        throw ParseError(ParseError::Kind::PACKED, "an hcp has 32 bytes, not " + std::to_string(hcp.size()));
    return Game(decode_hcp(HcpView(static_cast<const std::uint8_t*>(hcp.data()), HCP_BYTES)));
}

std::pair<Planes1Array, Planes2Array> planes_of(const Game& game) {
    std::array<std::uint8_t, PACKED1_BYTES> planes1;
    std::array<std::uint8_t, PACKED2_BYTES> planes2;
    encode_packed(game.position(), planes1, planes2);
    return {new_array<std::uint8_t, nb::shape<PACKED1_BYTES>>(planes1.data(), PACKED1_BYTES, {PACKED1_BYTES}),
            new_array<std::uint8_t, nb::shape<PACKED2_BYTES>>(planes2.data(), PACKED2_BYTES, {PACKED2_BYTES})};
}

std::uint16_t label_of(Color turn, Move move) {
    if (!has_policy_label(turn, move))
        throw ParseError(ParseError::Kind::MOVE, "move '" + usi(move) + "' has no policy label: no piece moves so");
    return policy_label(turn, move);
}

LabelsArray legal_labels(const Game& game) {
    MoveList moves;
    generate_legal(game.position(), moves);
    std::array<std::uint16_t, MAX_MOVES> labels;
    for (std::size_t i = 0; i < moves.size(); ++i) labels[i] = policy_label(game.position().turn(), moves[i]);
    return new_array<std::uint16_t, nb::shape<-1>>(labels.data(), moves.size(), {moves.size()});
}

HcpArray game_hcps(const Game& start, const Rows<const std::uint16_t>& moves) {
    std::vector<Hcp> hcps;
    {
        const nb::gil_scoped_release release;
        hcps = replay_hcps(start.position(), moves.shape(0), moves.data());
    }
    return new_array<std::uint8_t, nb::shape<-1, HCP_BYTES>>(hcps.data()->data(), hcps.size() * HCP_BYTES,
                                                             {hcps.size(), HCP_BYTES});
}

using HcpRows = Rows<const std::uint8_t, HCP_BYTES>;
using HcpeRows = Rows<const std::uint8_t, HCPE_BYTES>;
using Packed1Rows = Rows<std::uint8_t, PACKED1_BYTES>;
using Packed2Rows = Rows<std::uint8_t, PACKED2_BYTES>;

void decode_hcps(const HcpRows& hcps, const Packed1Rows& planes1, const Packed2Rows& planes2) {
    const std::size_t n = common_rows(hcps, planes1, planes2);
    const nb::gil_scoped_release release;
    decode_hcp_batch(n, hcps.data(), planes1.data(), planes2.data());
}

void decode_hcpes(const HcpeRows& records, const Packed1Rows& planes1, const Packed2Rows& planes2,
                  const Rows<std::uint16_t>& labels, const Rows<float>& results, const Rows<float>& values) {
    const std::size_t n = common_rows(records, planes1, planes2, labels, results, values);
    const nb::gil_scoped_release release;
    const Targets out{planes1.data(), planes2.data(), labels.data(), results.data(), values.data()};
    decode_hcpe_batch(n, records.data(), out);
}

void unpack_planes(const Rows<const std::uint8_t, PACKED1_BYTES>& planes1,
                   const Rows<const std::uint8_t, PACKED2_BYTES>& planes2,
                   const Rows<float, FEATURES1, 9, 9>& features1, const Rows<float, FEATURES2, 9, 9>& features2) {
    const std::size_t n = common_rows(planes1, planes2, features1, features2);
    const nb::gil_scoped_release release;
    unpack_batch(n, planes1.data(), planes2.data(), features1.data(), features2.data());
}

void gather_logits(const Rows<const float, POLICY_LABELS>& policy, const Rows<const std::uint16_t, MAX_MOVES>& labels,
                   const Rows<const std::uint16_t>& counts, const Rows<float, MAX_MOVES>& logits) {
    const std::size_t n = common_rows(policy, labels, counts, logits);
    const nb::gil_scoped_release release;
    try {
        gather_batch(n, policy.data(), labels.data(), counts.data(), logits.data());
    } catch (const std::out_of_range& e) {
        throw nb::value_error(e.what());
    }
}

void bind_single(nb::module_& m) {
    m.def("encode_hcp", &hcp_of, "position"_a,
          "The position in 32 bytes (HuffmanCodedPos), as dlshogi and cshogi write it. No ply, no past.\n\n"
          "Raises:\n    InvalidPackedError: A king is missing.");
    m.def("position_from_hcp", &position_from_hcp, "hcp"_a,
          "The position that 32 bytes hold; its ply is 1.\n\nRaises:\n    InvalidPackedError: They are no position.");
    m.def("encode_position", &planes_of, "position"_a,
          "dlshogi's input planes of a position, bit-packed: uint8 [628] and uint8 [8].\n\n"
          "The first holds 62 planes of 81 squares, the second 57 constant planes of one bit each; both least\n"
          "significant bit first, as the side to move sees the board.");
    m.def("policy_label", &label_of, "turn"_a, "move"_a,
          "dlshogi's label of a move, 0 to 2186: direction * 81 + to, as the side to move sees the board.\n\n"
          "Raises:\n    InvalidMoveError: No piece moves so.");
    m.def("legal_labels", &legal_labels, "position"_a,
          "The labels of `position.legal_moves`, in their order: uint16 [count].");
    m.def("encode_game_hcps", &game_hcps, "start"_a, "moves"_a.noconvert(),
          "The hcp before every move of a game, and the one after the last: uint8 [M + 1, 32].\n\n"
          "Args:\n    start: Where the game begins; its past does not matter.\n"
          "    moves: uint16 [M], the moves as `Move.raw`. Each must be legal.\n\n"
          "Raises:\n    IllegalMoveError: A move is not legal; the message names its index.\n"
          "    InvalidPackedError: The start has no hcp, because a king is missing.");
}

void bind_batched(nb::module_& m) {
    m.def("decode_hcp", &decode_hcps, "hcps"_a.noconvert(), "planes1"_a.noconvert(), "planes2"_a.noconvert(),
          "Write the bit-packed input planes of many positions.\n\n"
          "Args:\n    hcps: uint8 [N, 32].\n"
          "    planes1: uint8 [N, 628], written.\n    planes2: uint8 [N, 8], written.\n\n"
          "Raises:\n    InvalidPackedError: A record is no position; the message names its index.");
    m.def("decode_hcpe", &decode_hcpes, "records"_a.noconvert(), "planes1"_a.noconvert(), "planes2"_a.noconvert(),
          "labels"_a.noconvert(), "results"_a.noconvert(), "values"_a.noconvert(),
          "Write the bit-packed input planes and the targets of many hcpe records, as the side to move sees them.\n\n"
          "Args:\n    records: uint8 [N, 38].\n"
          "    planes1: uint8 [N, 628], written.\n    planes2: uint8 [N, 8], written.\n"
          "    labels: uint16 [N], written: the policy label of the best move.\n"
          "    results: float32 [N], written: 1 won, 0.5 drawn, 0 lost.\n"
          "    values: float32 [N], written: 1 / (1 + exp(-eval / 756.0864962951762)).\n\n"
          "Raises:\n    InvalidPackedError: A record is no position, its best move cannot be one, or its result is\n"
          "        none; the message names the record's index.");
    m.def("unpack_planes", &unpack_planes, "planes1"_a.noconvert(), "planes2"_a.noconvert(), "features1"_a.noconvert(),
          "features2"_a.noconvert(),
          "Write bit-packed planes as zeros and ones.\n\n"
          "Args:\n"
          "    planes1: uint8 [N, 628].\n    planes2: uint8 [N, 8].\n"
          "    features1: float32 [N, 62, 9, 9], written.\n"
          "    features2: float32 [N, 57, 9, 9], written.");
    m.def("gather_logits", &gather_logits, "policy"_a.noconvert(), "labels"_a.noconvert(), "counts"_a.noconvert(),
          "logits"_a.noconvert(),
          "Write the logits of the legal moves: logits[i, j] = policy[i, labels[i, j]] for j < counts[i].\n\n"
          "Args:\n    policy: float32 [N, 2187].\n    labels: uint16 [N, 593].\n    counts: uint16 [N].\n"
          "    logits: float32 [N, 593], written up to counts[i] in each row.\n\n"
          "Raises:\n    ValueError: A count is above 593 or a label above 2186; the message names the row.");
}

}  // namespace

void bind_encode(nb::module_& m) {
    bind_single(m);
    bind_batched(m);
}
