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
// Whether such a line is one that stands below a game: "LOGOUT:completed". Others there are for people: "Note: well played".
bool is_farewell(std::string_view line);
// Whether a line is a version and nothing else: "V2.2", "V3.0".
bool is_csa_version(std::string_view line);
// Whether a line has one word after #, in capitals and perhaps one more in brackets: "#SUSPEND", "#WIN(DISCONNECT)".
bool is_notice(std::string_view line);

// The word after % for the end that a word after # tells, in capitals or not; empty if it tells none.
std::string_view ending_of_notice(std::string_view word);
// The outcome that a word after # tells; empty if it tells none.
std::string_view outcome_of_notice(std::string_view word);

}  // namespace fukayomi
