#include "search/leaf.hpp"

#include <algorithm>

#include "mate/mate_one.hpp"
#include "mate/mate_three.hpp"
#include "shogi/movegen.hpp"

namespace fukayomi {

namespace {

Proof proof_of(Repetition repetition) {
    switch (repetition) {
        case Repetition::DRAW: return Proof::DRAW;
        case Repetition::WIN:
        case Repetition::SUPERIOR: return Proof::WIN;
        case Repetition::LOSE:
        case Repetition::INFERIOR: return Proof::LOSS;
        case Repetition::NONE: break;
    }
    return Proof::NONE;
}

// Whether generate_useful omitted the same move without promotion.
bool has_omitted_twin(const Board& pos, Move m) {
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

// The moves of a leaf's edges. Returns whether they are all legal moves.
bool generate_edges(const Board& pos, MoveList& moves) {
    moves.clear();
    // In check there are few moves, and proofs of mate depend on them: omit none.
    if (pos.is_check()) {
        generate_legal(pos, moves);
        return true;
    }
    generate_useful(pos, moves);
    for (const Move m : moves)
        if (has_omitted_twin(pos, m)) return false;
    return true;
}

}  // namespace

void Leaf::put_mate_first() {
    if (!mate) return;
    for (std::size_t i = 0; i < edges.size(); ++i)
        if (edges[i] == mate) {
            mate_edge = packed[i];
            packed[i] = make_edge(1.0F, mate);
        }
}

Verdict verdict_of_fourth(const History& history) {
    const Proof proof = proof_of(history.fourfold());
    return {proof, proof == Proof::WIN || proof == Proof::LOSS ? NO_MATE_DISTANCE : std::uint16_t{0}};
}

bool reaches_fourth_occurrence(Board board, History& history, std::span<const Move> moves) {
    const std::size_t size = history.size();
    bool ends = false;
    for (std::size_t i = 0; i < moves.size() && !ends; ++i) {
        board.do_move(moves[i]);
        history.push(board);
        ends = history.fourfold() != Repetition::NONE;
    }
    history.truncate(size);
    return ends;
}

std::vector<Move> find_long_mate(MateSolver& solver, const Board& pos, const SearchParams& params, std::uint64_t nodes) {
    if (pos.king(~pos.turn()) == NO_SQUARE) return {};
    MateLimits limits;
    limits.nodes = nodes;
    if (params.draw_ply > 0) limits.plies = std::min(params.draw_ply + 1 - pos.ply(), MateSolver::MAX_PLIES);
    return solver.solve(pos, limits).line;
}

void LeafReader::judge(const Root& root, const SearchParams& params, Leaf& leaf) {
    replay(root, leaf.moves);
    leaf.turn = board_.turn();
    leaf.mate = Move();
    leaf.mate_edge = 0;
    leaf.verdict = {};
    leaf.recurrence = {};
    leaf.value.reset();
    leaf.kind = 0;
    // The root is exempt: whether to play on in a repeated or declarable position is the engine's decision.
    if (leaf.moves.empty()) {
        if (params.leaf_mate_plies > 0) leaf.mate = params.leaf_mate_plies < 3 ? find_mate_in_one(board_) : find_mate_in_three(board_);
        leaf.edges = root.moves;
        leaf.is_complete = true;
        return;
    }
    leaf.verdict = verdict(root, params);
    if (!leaf.is_open()) return;
    const Recurrence recurrence = history_.recurrence(static_cast<int>(leaf.moves.size()));
    leaf.recurrence = {proof_of(recurrence.kind), static_cast<std::uint16_t>(recurrence.plies)};
    if (!leaf.is_open()) return;
    leaf.is_complete = generate_edges(board_, leaf.edges);
    if (leaf.edges.empty()) leaf.verdict = {Proof::LOSS, 0};
    if (params.value_correction > 0.0F) leaf.kind = kind_of(board_, leaf.moves);
}

void LeafReader::write(const Root& root, Leaf& leaf, SlotInput& input, std::size_t row) {
    replay(root, leaf.moves);
    leaf.turn = board_.turn();
    write(leaf, input, row);
}

void LeafReader::look_up(EvalCache& cache, const SearchParams& params, Leaf& leaf) const {
    if (!leaf.is_open()) return;
    leaf.key = EvalKey::of(board_, leaf.edges, params.temperature_at(leaf.moves.size()));
    leaf.value = cache.find(leaf.key, leaf.edges, leaf.packed);
}

void LeafReader::replay(const Root& root, std::span<const Move> moves) {
    board_ = root.board;
    history_.truncate(root.history.size());
    for (const Move m : moves) {
        board_.do_move(m);
        history_.push(board_);
    }
}

// What the rules make of the position. (docs/usi-options.md, "Repetition", has the table.)
Verdict LeafReader::verdict(const Root& root, const SearchParams& params) {
    if (root.most_occurrences > 1)
        if (const Verdict v = verdict_of_fourth(history_); v.proof != Proof::NONE) return v;
    if (params.draw_ply > 0 && board_.ply() > params.draw_ply) {
        // Mate by the last move still counts.
        if (board_.is_check() && !has_legal_move(board_)) return {Proof::LOSS, 0};
        return {Proof::DRAW, 0};
    }
    if (params.declaration_rule != DeclarationRule::NONE && board_.can_declare_win(params.declaration_rule)) return {Proof::WIN, 1};
    if (params.leaf_mate_plies == 0) return {};
    if (find_mate_in_one(board_)) return {Proof::WIN, 1};
    if (params.leaf_mate_plies < 3 || (params.draw_ply > 0 && board_.ply() + 2 > params.draw_ply)) return {};
    if (find_mate_in_exactly_three(board_) && may_mate_in_three(root)) return {Proof::WIN, 3};
    if (params.leaf_mate_nodes == 0) return {};
    const std::vector<Move> mate = find_long_mate(solver(), board_, params, static_cast<std::uint64_t>(params.leaf_mate_nodes));
    if (mate.empty() || (root.most_occurrences > 1 && reaches_fourth_occurrence(board_, history_, mate))) return {};
    return {Proof::WIN, static_cast<std::uint16_t>(mate.size())};
}

bool LeafReader::may_mate_in_three(const Root& root) {
    return root.most_occurrences <= 1 || !reaches_fourth_occurrence(board_, history_, line_of_mate_in_three(board_));
}

void LeafReader::find_mate(const Root& root, const SearchParams& params, MateCheck& check) {
    replay(root, {&check.move, 1});
    check.mate = find_long_mate(solver(), board_, params, check.nodes);
    if (check.mate.empty()) return;
    check.key = board_.key();
    board_.do_move(check.mate.front());
    check.key_after = board_.key();
}

MateSolver& LeafReader::solver() {
    if (!solver_) solver_ = std::make_unique<MateSolver>(LEAF_SOLVER_MB);
    return *solver_;
}

}  // namespace fukayomi
