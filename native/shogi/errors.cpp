#include "shogi/errors.hpp"

namespace fukayomi {

namespace {

constexpr std::size_t LONGEST_QUOTE = 160;  // bytes; a whole SFEN fits

bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

std::string quoted(std::string_view text) {
    std::size_t length = text.size();
    if (length > LONGEST_QUOTE) {
        length = LONGEST_QUOTE;
        while (length > 0 && continues_utf8(text[length])) --length;
    }
    std::string out = "'";
    for (char c : text.substr(0, length)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) {
            constexpr std::string_view HEX = "0123456789abcdef";
            out += {'\\', 'x', HEX[byte >> 4U], HEX[byte & 15U]};
        } else {
            out += c;
        }
    }
    return out + (length < text.size() ? "...'" : "'");
}

}  // namespace fukayomi
