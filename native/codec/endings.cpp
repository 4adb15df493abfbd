#include "codec/endings.hpp"

#include <stdexcept>

#include "codec/hcp.hpp"
#include "codec/move_bits.hpp"
#include "shogi/errors.hpp"
#include "shogi/history.hpp"
#include "shogi/illegal.hpp"
#include "shogi/movegen.hpp"

namespace fukayomi {
namespace {

GameEnding judge(Board pos, std::span<const std::uint16_t> moves) {
    GameEnding ending;
    History history;
    history.push(pos);
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const Move m(moves[i]);
        if (!is_move(m)) throw ParseError(ParseError::Kind::MOVE, "the 16 bits " + std::to_string(moves[i]) + " are not a move");
        require_legal(pos, m);
        pos.do_move(m);
        history.push(pos);
        if (i + 1 < moves.size() && ending.fourfold_before < 0 && history.fourfold() != Repetition::NONE)
            ending.fourfold_before = static_cast<int>(i) + 1;
    }
    ending.is_mated = !has_legal_move(pos);
    ending.repetition = history.fourfold();
    ending.occurrences = history.occurrences();
    ending.can_declare = pos.can_declare_win(DeclarationRule::POINTS_27) || pos.can_declare_win(DeclarationRule::POINTS_24) ||
                         pos.can_declare_win(DeclarationRule::TRY);
    ending.black_to_move = pos.turn() == BLACK;
    return ending;
}

}  // namespace

std::vector<GameEnding> judge_endings(std::span<const std::uint8_t> starts, std::span<const std::uint64_t> plies,
                                      std::span<const std::uint16_t> moves) {
    const std::size_t games = starts.size() / HCP_BYTES;
    if (plies.size() != games + 1 || plies.front() != 0 || plies.back() != moves.size())
        throw std::invalid_argument("plies must lead from 0 to the number of moves, one entry more than the games");
    std::vector<GameEnding> endings;
    endings.reserve(games);
    for (std::size_t g = 0; g < games; ++g) {
        if (plies[g] > plies[g + 1] || plies[g + 1] > moves.size()) throw std::invalid_argument("plies must not fall");
        const Board start = decode_hcp(HcpView(starts.data() + g * HCP_BYTES, HCP_BYTES));
        endings.push_back(judge(start, moves.subspan(plies[g], plies[g + 1] - plies[g])));
    }
    return endings;
}

}  // namespace fukayomi
