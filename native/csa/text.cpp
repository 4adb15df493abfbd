#include "csa/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace fukayomi {

namespace {

bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f'); }

// White space beyond ASCII: U+0085, U+00A0, U+1680, U+2000 to 200A, U+2028, U+2029, U+202F, U+205F, U+3000.
constexpr std::array<std::string_view, 19> WIDE_SPACES = {"\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81",
                                                          "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86",
                                                          "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8",
                                                          "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// How many bytes of white space stand at the end, or at the front.
std::size_t space_at_end(std::string_view text) {
    if (is_ascii(text.back())) return is_ascii_space(text.back()) ? 1 : 0;
    const auto found =
        std::find_if(WIDE_SPACES.begin(), WIDE_SPACES.end(), [text](std::string_view space) { return text.ends_with(space); });
    return found == WIDE_SPACES.end() ? 0 : found->size();
}

std::size_t space_at_front(std::string_view text) {
    if (is_ascii(text.front())) return is_ascii_space(text.front()) ? 1 : 0;
    const auto found =
        std::find_if(WIDE_SPACES.begin(), WIDE_SPACES.end(), [text](std::string_view space) { return text.starts_with(space); });
    return found == WIDE_SPACES.end() ? 0 : found->size();
}

}  // namespace

std::string_view strip_end(std::string_view text) {
    while (!text.empty()) {
        const std::size_t space = space_at_end(text);
        if (space == 0) break;
        text.remove_suffix(space);
    }
    return text;
}

std::string_view strip(std::string_view text) {
    while (!text.empty()) {
        const std::size_t space = space_at_front(text);
        if (space == 0) break;
        text.remove_prefix(space);
    }
    return strip_end(text);
}

bool begins_with_space(std::string_view text) { return !text.empty() && space_at_front(text) > 0; }

std::vector<std::string_view> characters(std::string_view text) {
    std::vector<std::string_view> found;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + 1;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
        found.push_back(text.substr(at, end - at));
        at = end;
    }
    return found;
}

}  // namespace fukayomi
