#include "search/leaf.hpp"

#include "mate/mate_one.hpp"
#include "shogi/movegen.hpp"

namespace fukayomi {

namespace {

// How far back a repetition is looked for, in plies. dlshogi looks as far.
constexpr int REPETITION_WINDOW = 16;

Verdict judge_repetition(Repetition repetition) {
    switch (repetition) {
        case Repetition::DRAW: return {Proof::DRAW, 0};
        case Repetition::WIN:
        case Repetition::SUPERIOR: return {Proof::WIN, NO_MATE_DISTANCE};
        case Repetition::LOSE:
        case Repetition::INFERIOR: return {Proof::LOSS, NO_MATE_DISTANCE};
        case Repetition::NONE: break;
    }
    return {};
}

// Whether generate_useful left the same move without promotion out.
bool has_omitted_twin(const Position& pos, Move m) {
    if (!m.is_promotion()) return false;
    const int rank = relative_rank(pos.turn(), rank_of(m.to()));
    switch (type_of(pos.piece_on(m.from()))) {
        case PAWN: return rank > 0;
        case LANCE: return rank == 1;
        case BISHOP:
        case ROOK: return true;
        default: return false;
    }
}

}  // namespace

void LeafReader::set_root(const Root& root) { history_ = root.history; }

const Position& LeafReader::go_to(const Root& root, std::span<const Move> moves) {
    position_ = root.position;
    history_.truncate(root.history.size());
    for (const Move m : moves) {
        position_.do_move(m);
        history_.push(position_);
    }
    return position_;
}

Verdict LeafReader::judge(const SearchParams& params) const {
    if (const Verdict v = judge_repetition(history_.first_recurrence(REPETITION_WINDOW)); v.proof != Proof::NONE) return v;
    if (params.draw_ply > 0 && position_.ply() > params.draw_ply) {
        // Mate by the last move still counts.
        if (position_.is_check() && !has_legal_move(position_)) return {Proof::LOSS, 0};
        return {Proof::DRAW, 0};
    }
    if (params.declaration_rule != DeclarationRule::NONE && position_.can_declare_win(params.declaration_rule))
        return {Proof::WIN, 1};
    if (params.mate_in_one && find_mate_in_one(position_)) return {Proof::WIN, 1};
    return {};
}

bool generate_edges(const Position& pos, MoveList& moves) {
    moves.clear();
    // In check there are few moves, and proofs of mate hang on them: none is left out.
    if (pos.is_check()) {
        generate_legal(pos, moves);
        return true;
    }
    generate_useful(pos, moves);
    for (const Move m : moves)
        if (has_omitted_twin(pos, m)) return false;
    return true;
}

}  // namespace fukayomi
