#pragma once

#include <stdexcept>
#include <string>

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

}  // namespace fukayomi
