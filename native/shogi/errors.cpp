#include "shogi/errors.hpp"

namespace fukayomi {

namespace {

constexpr std::size_t LONGEST_QUOTE = 160;  // bytes; a whole SFEN fits

// Length of the well-formed UTF-8 character at the front of a text; 0 if there is none (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) {
    const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xC2 && lead <= 0xDF ? 2 : lead >= 0xE0 && lead <= 0xEF ? 3 : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
    const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
    const bool no_character = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
    return overlong || no_character ? 0 : length;
}

std::string escaped(char c) {
    constexpr std::string_view HEX = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return {'\\', 'x', HEX[byte >> 4U], HEX[byte & 15U]};
}

}  // namespace

std::string quoted(std::string_view text) {
    std::string out = "'";
    while (!text.empty() && out.size() <= LONGEST_QUOTE) {
        const std::size_t length = utf8_length(text);
        const auto first = static_cast<unsigned char>(text[0]);
        const bool is_control = first < 0x20 || first == 0x7F;
        if (length == 0 || is_control)
            out += escaped(text[0]);
        else
            out += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += text.empty() ? "'" : "...'";
    return out;
}

std::string quoted_character(std::string_view text) {
    const std::size_t length = utf8_length(text);
    return quoted(text.substr(0, length == 0 ? 1 : length));
}

}  // namespace fukayomi
