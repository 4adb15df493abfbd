#include "codec/records.hpp"

#include <cstring>

#include "codec/book_key.hpp"
#include "codec/move_bits.hpp"
#include "shogi/errors.hpp"
#include "shogi/illegal.hpp"

namespace fukayomi {
namespace {

// Calls f(i) for every record; errors get the record's index.
template <class F>
void for_each_record(std::size_t n, F&& f) {
    for (std::size_t i = 0; i < n; ++i) {
        try {
            f(i);
        } catch (const ParseError& e) {
            throw ParseError(e.kind(), "record " + std::to_string(i) + ": " + e.what());
        }
    }
}

HcpView view(const std::uint8_t* rows, std::size_t i) { return HcpView(rows + i * HCP_BYTES, HCP_BYTES); }

[[noreturn]] void reject_move(unsigned bits, const char* format) {
    throw ParseError(ParseError::Kind::MOVE, "the 16 bits " + std::to_string(bits) + " are not a move of the " + format + " format");
}

}  // namespace

void hcps_to_psfens(std::size_t n, const std::uint8_t* hcps, std::uint8_t* psfens) {
    for_each_record(n, [&](std::size_t i) {
        const Hcp out = encode_psfen(decode_hcp(view(hcps, i)));
        std::memcpy(psfens + i * HCP_BYTES, out.data(), HCP_BYTES);
    });
}

void psfens_to_hcps(std::size_t n, const std::uint8_t* psfens, std::uint8_t* hcps) {
    for_each_record(n, [&](std::size_t i) {
        const Hcp out = encode_hcp(decode_psfen(view(psfens, i)));
        std::memcpy(hcps + i * HCP_BYTES, out.data(), HCP_BYTES);
    });
}

void moves_to_psv(std::size_t n, const std::uint16_t* moves, std::uint16_t* psv) {
    for_each_record(n, [&](std::size_t i) {
        const Move m(moves[i]);
        if (m && !is_move(m)) reject_move(m.raw(), "hcpe");
        psv[i] = m ? psv_move(m) : std::uint16_t{0};
    });
}

void moves_from_psv(std::size_t n, const std::uint16_t* psv, std::uint16_t* moves) {
    for_each_record(n, [&](std::size_t i) {
        const Move m = move_from_psv(psv[i]);
        if (!m && psv[i] != 0) reject_move(psv[i], "psv");
        moves[i] = m.raw();
    });
}

void book_keys_of(std::size_t n, const std::uint8_t* hcps, std::uint64_t* keys) {
    for_each_record(n, [&](std::size_t i) { keys[i] = book_key(decode_hcp(view(hcps, i))); });
}

std::vector<BadRecord> find_bad_records(std::size_t n, const std::uint8_t* packed, const std::uint16_t* moves, bool psv) {
    std::vector<BadRecord> bad;
    for (std::size_t i = 0; i < n; ++i) {
        try {
            const Board pos = psv ? decode_psfen(view(packed, i)) : decode_hcp(view(packed, i));
            if (moves == nullptr || (psv && moves[i] == 0)) continue;
            const Move m = psv ? move_from_psv(moves[i]) : Move(moves[i]);
            if (!is_move(m)) reject_move(moves[i], psv ? "psv" : "hcpe");
            require_legal(pos, m);
        } catch (const ParseError& e) {
            bad.push_back({i, e.what()});
        }
    }
    return bad;
}

}  // namespace fukayomi
