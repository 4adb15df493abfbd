#include "csa/protocol.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace fukayomi {

namespace {

using Meaning = std::pair<std::string_view, std::string_view>;

// WIN and LOSE are those of the client that wrote the log, whoever that was; so is CENSORED.
constexpr std::array<Meaning, 24> ENDINGS = {{
    {"RESIGN", "TORYO"},
    {"TORYO", "TORYO"},
    {"TIME_UP", "TIME_UP"},
    {"TIMEUP", "TIME_UP"},
    {"ILLEGAL_MOVE", "ILLEGAL_MOVE"},
    {"ILLEGAL_ACTION", "ILLEGAL_MOVE"},
    {"ILLEGAL", "ILLEGAL_MOVE"},
    {"SENNICHITE", "SENNICHITE"},
    {"OUTE_SENNICHITE", "OUTE_SENNICHITE"},
    {"JISHOGI", "JISHOGI"},
    {"KACHI", "KACHI"},
    {"DECLARATION", "KACHI"},
    {"MAX_MOVES", "MAX_MOVES"},
    {"TSUMI", "TSUMI"},
    {"MATE", "TSUMI"},
    {"CHUDAN", "CHUDAN"},
    {"DISCONNECT", "CHUDAN"},
    {"ABNORMAL", "CHUDAN"},
    {"ERROR", "ERROR"},
    {"TRY", "TRY"},
    {"CATCH", "CATCH"},
    {"WIN", "WIN"},
    {"LOSE", "LOSE"},
    {"CENSORED", "CENSORED"},
}};
constexpr std::array<Meaning, 7> OUTCOMES = {{
    {"SENTE_WIN", CSA_BLACK_WIN},
    {"BLACK_WIN", CSA_BLACK_WIN},
    {"GOTE_LOSE", CSA_BLACK_WIN},
    {"GOTE_WIN", CSA_WHITE_WIN},
    {"WHITE_WIN", CSA_WHITE_WIN},
    {"SENTE_LOSE", CSA_WHITE_WIN},
    {"DRAW", CSA_DRAW},
}};

template <std::size_t N>
std::string_view meaning_of(std::string_view word, const std::array<Meaning, N>& meanings) {
    const auto found = std::find_if(meanings.begin(), meanings.end(), [word](const Meaning& m) { return m.first == word; });
    return found == meanings.end() ? std::string_view() : found->second;
}

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

}  // namespace

bool is_protocol(std::string_view line) {
    if (line.size() < 2 || !is_letter(line[0])) return false;
    if (line[1] == '+' || line[1] == '-') return line[0] != 'N' && line[0] != 'P' && line[0] != 'T' && line[0] != 'V';
    if (!is_letter(line[1])) return false;
    if (line.starts_with("BEGIN ") || line.starts_with("END ")) return true;
    std::size_t end = 0;
    while (end < line.size() && is_letter(line[end])) ++end;
    if (end < line.size() && (line[end] == '+' || line[end] == '-')) ++end;
    return end < line.size() && line[end] == ':';
}

std::string_view ending_of_notice(std::string_view word) { return meaning_of(word, ENDINGS); }

std::string_view outcome_of_notice(std::string_view word) { return meaning_of(word, OUTCOMES); }

}  // namespace fukayomi
