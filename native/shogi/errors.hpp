#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace fukayomi {

// A text or a record from outside that cannot be what it should be. The message quotes it and says what is wrong.
// Python sees InvalidSfenError, InvalidMoveError, ... (all ValueErrors); the kind chooses among them.
class ParseError : public std::invalid_argument {
  public:
    enum class Kind { SFEN, MOVE, ILLEGAL_MOVE, PACKED };
    ParseError(Kind kind, const std::string& message) : std::invalid_argument(message), kind_(kind) {}
    Kind kind() const { return kind_; }

  private:
    Kind kind_;
};

// The text in quotation marks for a message: cut after about 160 bytes; control characters and what is no UTF-8 escaped.
std::string quoted(std::string_view text);
// The first character of a text that is not empty, in quotation marks.
std::string quoted_character(std::string_view text);

}  // namespace fukayomi
