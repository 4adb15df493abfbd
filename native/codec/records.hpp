// Many positions and moves at once, from one format to the other. A bad record throws ParseError, whose message begins
// with the record's index; what was written for the records before it stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/hcp.hpp"

namespace fukayomi {

// [n, 32] -> [n, 32]. Only positions that the rules allow.
void hcps_to_psfens(std::size_t n, const std::uint8_t* hcps, std::uint8_t* psfens);
void psfens_to_hcps(std::size_t n, const std::uint8_t* psfens, std::uint8_t* hcps);

// hcpe's moves [n] -> psv's [n], and back; 0 stays 0, which in psv is a position without a move. What is no move throws
// ParseError(MOVE).
void moves_to_psv(std::size_t n, const std::uint16_t* moves, std::uint16_t* psv);
void moves_from_psv(std::size_t n, const std::uint16_t* psv, std::uint16_t* moves);

// hcps [n, 32] -> keys of Apery's opening book [n].
void book_keys_of(std::size_t n, const std::uint8_t* hcps, std::uint64_t* keys);

// The records whose position the rules do not allow, or whose move (null: none is looked at) is not legal in it. With
// `psv` they are packed sfens and psv's moves (0: none, which is not bad), otherwise hcps and hcpe's moves.
struct BadRecord {
    std::size_t index;
    std::string reason;
};
std::vector<BadRecord> find_bad_records(std::size_t n, const std::uint8_t* packed, const std::uint16_t* moves, bool psv);

}  // namespace fukayomi
