#include "mate/mate_three.hpp"

#include "mate/checks.hpp"
#include "mate/mate_one.hpp"
#include "shogi/movegen.hpp"

namespace fukayomi {

namespace {

// Whether an answer to the check on the board allows a mate in one.
class AllowsMate final : public MoveTest {
  public:
    explicit AllowsMate(Board& pos) : pos_(pos) {}
    bool passes(Move defence) override {
        Undo undo;
        pos_.do_move(defence, undo);
        const bool mates = static_cast<bool>(find_mate_in_one(pos_));
        pos_.undo_move(undo);
        return mates;
    }

  private:
    Board& pos_;
};

bool mates_after_all(Board& pos) {
    AllowsMate test(pos);
    return all_legal_pass(pos, test);
}

}  // namespace

Move find_mate_in_three(const Board& pos) {
    if (const Move m = find_mate_in_one(pos)) return m;
    return find_mate_in_exactly_three(pos);
}

Move find_mate_in_exactly_three(const Board& pos) {
    if (pos.king(~pos.turn()) == NO_SQUARE) return Move();
    MoveList checks;
    generate_checks(pos, checks);
    Board board = pos;
    for (const Move m : checks) {
        Undo undo;
        board.do_move(m, undo);
        const bool mates = mates_after_all(board);
        board.undo_move(undo);
        if (mates) return m;
    }
    return Move();
}

std::vector<Move> line_of_mate_in_three(const Board& pos) {
    if (const Move m = find_mate_in_one(pos)) return {m};
    const Move check = find_mate_in_exactly_three(pos);
    if (!check) return {};
    Board board = pos;
    board.do_move(check);
    MoveList defences;
    generate_legal(board, defences);
    const Move defence = *defences.begin();
    board.do_move(defence);
    return {check, defence, find_mate_in_one(board)};
}

}  // namespace fukayomi
