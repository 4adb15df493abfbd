// Lines of the protocol of servers that stand in records: 81Dojo's files have them, and so have logs of clients.
#pragma once

#include <string_view>

namespace fukayomi {

// What a server says about the winner, as `CsaGame::outcome` has it.
inline constexpr std::string_view CSA_BLACK_WIN = "black_win";
inline constexpr std::string_view CSA_WHITE_WIN = "white_win";
inline constexpr std::string_view CSA_DRAW = "draw";

// Whether a line is for the client alone: "To_Move:+", "BEGIN Time", "I+1249,840".
bool is_protocol(std::string_view line);

// The word after % for the end that a word after # tells; empty if it tells none.
std::string_view ending_of_notice(std::string_view word);
// The outcome that a word after # tells; empty if it tells none.
std::string_view outcome_of_notice(std::string_view word);

}  // namespace fukayomi
