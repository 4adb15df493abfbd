#include "csa/protocol.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "csa/text.hpp"

namespace fukayomi {

namespace {

using Meaning = std::pair<std::string_view, std::string_view>;

// WIN and LOSE are those of the client that wrote the log, whoever that was; so is CENSORED.
constexpr std::array<Meaning, 31> ENDINGS = {{
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
    {"DISCONNECTED", "CHUDAN"},
    {"SUSPEND", "CHUDAN"},
    {"SUSPENDED", "CHUDAN"},
    {"ABORT", "CHUDAN"},
    {"ABORTED", "CHUDAN"},
    {"ADJOURN", "CHUDAN"},
    {"ADJOURNED", "CHUDAN"},
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
    const auto is_same = [word](const Meaning& meaning) {
        return std::equal(word.begin(), word.end(), meaning.first.begin(), meaning.first.end(),
                          [](char c, char capital) { return c == capital || (c >= 'a' && c <= 'z' && c - 'a' + 'A' == capital); });
    };
    const auto found = std::find_if(meanings.begin(), meanings.end(), is_same);
    return found == meanings.end() ? std::string_view() : found->second;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

bool is_farewell(std::string_view line) {
    constexpr std::array<std::string_view, 8> BEGINNINGS = {
        "LOGOUT:", "LOGIN:", "START:", "REJECT:", "BEGIN ", "END ", "CHALLENGE:", "Game_ID:"};
    return std::any_of(BEGINNINGS.begin(), BEGINNINGS.end(), [line](std::string_view key) { return line.starts_with(key); });
}

bool is_csa_version(std::string_view line) {
    if (line.size() < 2 || line[0] != 'V' || line[1] < '1' || line[1] > '3') return false;
    line = strip_end(line.substr(2));
    return std::all_of(line.begin(), line.end(), [](char c) { return c == '.' || is_digit(c); });
}

bool is_notice(std::string_view line) {
    const auto take_word = [&line] {
        const auto is_other = [](char c) { return c != '_' && (c < 'A' || c > 'Z'); };
        const auto end = std::find_if(line.begin(), line.end(), is_other);
        const auto size = static_cast<std::size_t>(end - line.begin());
        line.remove_prefix(size);
        return size;
    };
    line = strip_end(line);
    if (!line.starts_with('#')) return false;
    line.remove_prefix(1);
    if (take_word() < 2) return false;
    if (line.empty()) return true;
    if (!line.starts_with('(')) return false;
    line.remove_prefix(1);
    return take_word() > 0 && line == ")";
}

std::string_view ending_of_notice(std::string_view word) { return meaning_of(word, ENDINGS); }

std::string_view outcome_of_notice(std::string_view word) { return meaning_of(word, OUTCOMES); }

}  // namespace fukayomi
