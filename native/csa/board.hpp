// Pieces and boards as CSA writes them: two letters a piece; `PI`, `P1-KY-KE...`, `P+77FU00AL`.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "shogi/types.hpp"

namespace fukayomi {

// A message about a text: by turns words of ours and pieces of the text, which whoever shows the message quotes.
using CsaMessage = std::vector<std::string>;

// What a statement has wrong.
struct CsaRefusal {
    CsaMessage why;
};

PieceType piece_from_csa(std::string_view name);  // NO_PIECE_TYPE if there is none of this name
std::string_view csa_name(PieceType t);
inline char csa_sign(Color c) { return c == BLACK ? '+' : '-'; }

// The number of a square like 77; NO_SQUARE if it is none.
Square square_from_csa(std::string_view text);

// What the statements before the first move put on the board and into the hands, whether the rules allow it or not.
class CsaBoard {
  public:
    // Reads one P statement. Throws CsaRefusal.
    void set_up(std::string_view statement);
    void set_even();
    std::string sfen(Color turn) const;

  private:
    using Characters = std::vector<std::string_view>;
    void take_away(std::string_view pieces);
    void set_any_row(int rank, std::string_view row);
    static std::vector<Piece> visible_squares(std::string_view row);
    void set_row(int rank, const Characters& row);
    void put_pieces(Color color, std::string_view pieces);
    void give_the_rest(Color color);
    Piece& at(Square s) { return board_[static_cast<std::size_t>(s)]; }

    std::array<Piece, SQUARES> board_{};
    std::array<std::array<std::size_t, PIECE_TYPES>, 2> hands_{};
};

}  // namespace fukayomi
