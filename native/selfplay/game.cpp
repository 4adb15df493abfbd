#include "selfplay/game.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "codec/evaluation.hpp"
#include "codec/hcp.hpp"
#include "shogi/movegen.hpp"

namespace fukayomi {

namespace {

constexpr double LEAST_TEMPERATURE = 0.1;  // dlshogi's
constexpr int MOST_EXTENSIONS = 2;
constexpr double LEAST_PRIOR = 1e-5;          // where a move that the network leaves out is as surprising as can be
constexpr std::size_t BYTES_PER_NODE = 1024;  // twice what a node with eighty moves takes

// Plies count from the start of the game, whatever number its text has: max_move does so, and hcp keeps none.
Position renumbered(const Position& opening) {
    Board start = opening.start();
    start.set_ply(1);
    Position position(start);
    for (const Undo& undo : opening.moves()) position.push_legal(undo.move);
    return position;
}

std::size_t memory_mb(const SelfplayParams& params) {
    const std::size_t visits = static_cast<std::size_t>(params.playouts) * (params.extension > 0.0F ? 2 : 1);
    return std::min(2 + visits * (params.reuse ? 2 : 1) * BYTES_PER_NODE / (1U << 20), Search::MAX_MEMORY_MB);
}

SearchParams search_params(const SearchParams& params, const SelfplayParams& game, std::uint64_t seed) {
    SearchParams own = params;
    own.seed = seed;
    if (own.draw_ply == 0 || own.draw_ply > game.max_move) own.draw_ply = game.max_move;
    return own;
}

// A random number that depends on all bits of both.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t index) { return mix64(mix64(seed) + index * 0x9E3779B97F4A7C15ULL); }

bool is_checkmate(Board board, std::span<const Move> line) {
    for (const Move m : line) {
        if (!board.is_legal(m)) return false;
        board.do_move(m);
    }
    return board.is_check() && !has_legal_move(board);
}

}  // namespace

void Game::validate(const SelfplayParams& params, const GameSetup& setup) {
    const std::size_t plies = setup.opening.moves().size();
    if (plies >= static_cast<std::size_t>(params.max_move))
        throw std::invalid_argument("an opening of " + std::to_string(plies) + " plies leaves no move: max_move is " +
                                    std::to_string(params.max_move));
    if (!has_legal_move(setup.opening.board()))
        throw std::invalid_argument("an opening ends in a position without legal moves: " + setup.opening.usi());
    for (const SelfplayPlayer& player : setup.players)
        if (player.network < OUTSIDE)
            throw std::invalid_argument("network " + std::to_string(player.network) + " is not the number of a network");
    if (setup.players[BLACK].network == OUTSIDE && setup.players[WHITE].network == OUTSIDE)
        throw std::invalid_argument("one of the players must be a network");
    encode_hcp(setup.opening.start());  // throws if a king is missing
}

Game::Game(const SelfplayParams& params, const SearchParams& search, GameSetup setup, std::array<EvalCache*, 2> caches)
    : params_(params), setup_(std::move(setup)), position_(renumbered(setup_.opening)), record_(position_),
      opening_plies_(static_cast<int>(record_.plies())), random_(mixed(params.seed, setup_.index)),
      is_played_out_(random_.uniform() < params.play_out) {
    const SearchParams own = search_params(search, params, random_.bits());
    for (const Color c : {BLACK, WHITE}) {
        const int network = setup_.players[c].network;
        if (network == OUTSIDE) continue;
        if (c == WHITE && network == setup_.players[BLACK].network)
            minds_[c] = minds_[BLACK];
        else
            minds_[c] = std::make_shared<Mind>(own, memory_mb(params), static_cast<std::size_t>(params.leaves), caches[c]);
    }
}

std::size_t Game::bytes() const {
    std::size_t sum = 0;
    for (const Color c : {BLACK, WHITE})
        if (minds_[c] && !(c == WHITE && minds_[c] == minds_[BLACK])) sum += minds_[c]->search.bytes_used();
    return sum;
}

// ------------------------------------------------------------------------------------------------ between searches

// From a new position on to the next search, the next move of an outside player, or the end of the game.
void Game::begin_position(MateSolver& solver) {
    for (;;) {
        if (is_over_by_rules()) return;
        if (network() == OUTSIDE) {
            state_ = State::WAITING;
            return;
        }
        MoveList moves;
        generate_legal(position_.board(), moves);
        if (moves.size() > 1) break;
        play(moves[0], -record_.last_eval());
    }
    if (play_mate(solver)) return;
    begin_search();
}

bool Game::is_over_by_rules() {
    const Board& board = position_.board();
    if (!has_legal_move(board)) {
        finish(~board.turn(), GameReason::MATE);
        return true;
    }
    switch (position_.history().first_recurrence()) {
        case Repetition::DRAW: finish(std::nullopt, GameReason::REPETITION); return true;
        case Repetition::WIN: finish(board.turn(), GameReason::REPETITION); return true;
        case Repetition::LOSE: finish(~board.turn(), GameReason::REPETITION); return true;
        // Only the search gives up a position that came back with fewer pieces in hand.
        case Repetition::SUPERIOR:
        case Repetition::INFERIOR:
        case Repetition::NONE: break;
    }
    const Mind& either = minds_[BLACK] ? *minds_[BLACK] : *minds_[WHITE];
    const DeclarationRule rule = either.search.params().declaration_rule;
    if (board.can_declare_win(rule)) {
        finish(board.turn(), GameReason::DECLARATION);
        return true;
    }
    if (static_cast<int>(record_.plies()) >= params_.max_move || (params_.plies > 0 && ply() >= params_.plies)) {
        finish(std::nullopt, GameReason::MAX_PLIES);
        return true;
    }
    return false;
}

bool Game::play_mate(MateSolver& solver) {
    if (params_.mate_depth == 0) return false;
    MateLimits limits;
    limits.nodes = static_cast<std::uint64_t>(params_.mate_nodes);
    limits.plies = std::min(params_.mate_depth, params_.max_move - static_cast<int>(record_.plies()));
    const std::vector<Move> line = solver.solve(position_.board(), limits).line;
    if (line.empty()) return false;
    play_line(line);
    return true;
}

// A mate to its end: the record then proves the result.
void Game::play_line(std::span<const Move> line) {
    const Color winner = turn();
    for (const Move m : line) play(m, turn() == winner ? MATE_CP : -MATE_CP);
    finish(winner, GameReason::MATE);
}

void Game::play(Move move, int eval, std::span<const Candidate> targets, double surprise) {
    const bool is_soft = params_.soft_playouts > 0 && resigner_;
    record_.add(move, eval, targets, is_soft ? params_.soft_weight : 1.0F, surprise);
    position_.push_legal(move);
}

void Game::answer(Move move, int eval, MateSolver& solver) {
    if (state_ != State::WAITING) throw std::logic_error("the game is not waiting for a move");
    if (!move) return finish(~turn(), GameReason::RESIGNATION);
    position_.push(move);  // throws if it is not legal
    record_.add(move, std::clamp(eval, -MATE_CP, MATE_CP));
    state_ = State::SEARCHING;
    begin_position(solver);
}

void Game::finish(std::optional<Color> winner, GameReason reason) {
    state_ = State::FINISHED;
    finished_.index = setup_.index;
    finished_.winner = winner;
    finished_.reason = reason;
    finished_.opening_plies = opening_plies_;
    finished_.moves = record_.moves();
    finished_.weights = record_.weights(params_.surprise);
    finished_.is_played_out = resigner_.has_value();
    finished_.is_wrong_resignation = resigner_ && winner != ~*resigner_;
    const int opponent = setup_.players[BLACK].teaches == setup_.players[WHITE].teaches ? 0 : setup_.players[BLACK].teaches ? 2 : 1;
    finished_.data = record_.hcpe3(result_byte(winner, reason), static_cast<std::uint8_t>(opponent));
    for (auto nodes = nodes_.rbegin(); nodes != nodes_.rend(); ++nodes)
        finished_.kept.insert(finished_.kept.end(), nodes->begin(), nodes->end());
    nodes_ = {};
    minds_ = {};
}

FinishedGame Game::take_finished() {
    if (state_ != State::FINISHED) throw std::logic_error("the game is not over");
    return std::move(finished_);
}

// ------------------------------------------------------------------------------------------------ searching

void Game::begin_search() {
    Search& search = mind().search;
    // Gumbel plans all visits; those of an earlier search would be in their place.
    if (!params_.reuse || search.params().root_rule == RootRule::GUMBEL) search.forget();
    const bool is_soft = params_.soft_playouts > 0 && resigner_;
    const bool teaches = setup_.players[turn()].teaches;
    is_cheap_ = teaches && params_.cheap > 0.0F && random_.uniform() < params_.cheap;
    limit_ = static_cast<std::uint32_t>(params_.playouts);
    if (is_cheap_) limit_ = std::min(limit_, static_cast<std::uint32_t>(params_.cheap_playouts));
    if (is_soft) limit_ = std::min(limit_, static_cast<std::uint32_t>(params_.soft_playouts));
    playouts_ = limit_;
    // The root takes one more visit, which evaluates it.
    search.set_position(position_, {}, limit_ + 1, teaches && !is_cheap_ && !is_soft);
    kept_ = search.root_visits();
    extensions_ = 0;
    check_at_ = 0;
    state_ = State::SEARCHING;
}

bool Game::is_search_done(const Search::Standing& now) {
    const std::uint32_t visits = now.root_visits > 0 ? now.root_visits - 1 : 0;
    if (now.is_decided) return true;
    if (mind().search.params().root_rule == RootRule::GUMBEL) return visits >= limit_;  // it has planned with them
    if (visits < check_at_) return false;
    if (visits >= limit_) {
        const bool is_close = static_cast<float>(now.best) < params_.extension * static_cast<float>(now.second);
        if (!is_close || extensions_ == MOST_EXTENSIONS) return true;
        ++extensions_;
        limit_ += playouts_ / 2;
        return visits >= limit_;
    }
    if (!params_.early_stop) {
        check_at_ = limit_;
        return false;
    }
    const std::uint32_t rest = limit_ - visits, lead = now.best - now.second;
    if (lead > rest) return true;
    // A visit makes the lead greater by one at most, and the rest smaller by one.
    check_at_ = std::min(limit_, visits + (rest - lead) / 2 + 1);
    return false;
}

std::size_t Game::gather(SlotInput& input, std::size_t first, std::size_t limit, MateSolver& solver) {
    const int network = this->network();
    while (state_ == State::SEARCHING && this->network() == network) {
        Search& search = mind().search;
        Batch& batch = mind().batch;
        const Search::Standing now = search.standing(check_at_ + 1);
        if (is_search_done(now)) {
            end_search(solver);
            continue;
        }
        const std::uint32_t root = now.root_visits;
        const std::size_t left = limit_ + 1 - std::min(root, limit_);
        const std::size_t leaves = std::min({limit, left, static_cast<std::size_t>(params_.leaves)});
        const int rows = search.gather(batch, input, first, leaves, leaves, limit_ + 1 - std::min(kept_, limit_));
        if (rows > 0) return static_cast<std::size_t>(rows);
        // Without a row or a new visit there is nothing left to search: the memory is full.
        if (batch.hits() == 0 && search.root_visits() == root && !search.is_decided()) end_search(solver);
    }
    return 0;
}

void Game::apply(const float* logits, const float* values) {
    Search& search = mind().search;
    std::vector<std::uint8_t> leaves;
    if (params_.keep_leaves) leaves = search.labelled_leaves(mind().batch, logits, values);
    search.apply(mind().batch, logits, values);  // throws at output that is unusable, and the batch comes again
    finished_.kept.insert(finished_.kept.end(), leaves.begin(), leaves.end());
}

void Game::cancel() { mind().search.cancel(mind().batch); }

void Game::end_search(MateSolver& solver) {
    Search& search = mind().search;
    const std::vector<RootMove> moves = search.root_moves();
    if (moves.empty()) throw std::logic_error("a search of a game has found no move: its memory is too small");
    const std::uint32_t visits = search.root_visits();
    ++finished_.searches;
    finished_.playouts += visits - std::max(kept_, std::uint32_t{1});
    finished_.evaluations += search.evaluations();
    if (params_.keep_nodes > 0) nodes_.push_back(search.labelled_nodes(static_cast<std::uint32_t>(params_.keep_nodes)));

    const std::optional<Move> low = draw_low(moves);
    const std::size_t chosen = low ? moves.size() : choose(moves);
    const Move move = low ? *low : moves[chosen].move;
    const double winrate = moves.front().winrate;
    const int eval = centipawns(winrate, EVAL_SCALE);
    const bool is_random = (ply() < params_.random || low) && !params_.train_random;
    const bool is_target = setup_.players[turn()].teaches && !is_random && !is_cheap_;
    double surprise = 0.0;
    const std::vector<Candidate> targets = is_target ? taught(move, surprise) : std::vector<Candidate>();
    if (chosen == 0 && moves.front().proof == Proof::WIN && moves.front().has_mate) {
        const std::vector<Move> line = search.lines(1).front().pv;
        const bool fits = record_.plies() + line.size() <= static_cast<std::size_t>(params_.max_move);
        if (fits && is_checkmate(position_.board(), line)) {
            play(move, eval, targets, surprise);
            const std::span<const Move> rest = std::span(line).subspan(1);
            for (std::size_t i = 0; i < rest.size(); ++i) play(rest[i], i % 2 == 0 ? -MATE_CP : MATE_CP);
            return finish(~turn(), GameReason::MATE);
        }
    }
    const Color searcher = turn(), loser = winrate < 0.5 ? searcher : ~searcher;
    play(move, eval, targets, surprise);
    if (std::abs(2.0 * winrate - 1.0) > params_.threshold && may_decide(searcher, loser)) {
        if (!is_played_out_ && params_.soft_playouts == 0) return finish(~loser, GameReason::RESIGNATION);
        if (!resigner_) resigner_ = loser;
    }
    begin_position(solver);
}

// Whether what one side believes may end the game. Another network decides for itself whether it has lost; a USI engine would
// often play on to mate.
bool Game::may_decide(Color searcher, Color loser) const {
    const int own = setup_.players[searcher].network, other = setup_.players[~searcher].network;
    return searcher == loser || own == other || other == OUTSIDE;
}

// The place of the move to play among those of the root, of which the best is the first.
std::size_t Game::choose(std::span<const RootMove> moves) {
    if (moves.front().proof == Proof::WIN) return 0;
    if (ply() < params_.random) {
        const int step = ply() / 2;
        const double temperature = params_.random_temperature - params_.random_temperature_drop * static_cast<float>(step);
        const double cutoff = params_.random_cutoff - params_.random_cutoff_drop * static_cast<float>(step);
        ++finished_.random_plies;
        return draw(moves, std::max(LEAST_TEMPERATURE, temperature), std::max(0.0, cutoff));
    }
    if (!setup_.players[turn()].teaches || moves.size() < 2 || moves[1].proof == Proof::LOSS) return 0;
    const double best = moves[0].visits, second = moves[1].visits;
    if (!(best < params_.random2 * second)) return 0;
    ++finished_.random_plies;
    return random_.uniform() * (best + second) < best ? 0 : 1;
}

// Now and then any legal move but the best and those that are proven to lose.
std::optional<Move> Game::draw_low(std::span<const RootMove> moves) {
    if (params_.low_moves <= 0.0F || !setup_.players[turn()].teaches || ply() < params_.random) return std::nullopt;
    if (moves.front().proof == Proof::WIN || random_.uniform() >= params_.low_moves) return std::nullopt;
    MoveList legal;
    generate_legal(position_.board(), legal);
    std::vector<Move> others;
    for (const Move move : legal) {
        const auto is_it = [move](const RootMove& m) { return m.move == move; };
        const auto known = std::find_if(moves.begin(), moves.end(), is_it);
        if (known == moves.end() || (known != moves.begin() && known->proof != Proof::LOSS)) others.push_back(move);
    }
    if (others.empty()) return std::nullopt;
    ++finished_.random_plies;
    const auto place = static_cast<std::size_t>(random_.uniform() * static_cast<double>(others.size()));
    return others[std::min(others.size() - 1, place)];
}

std::size_t Game::draw(std::span<const RootMove> moves, double temperature, double cutoff) {
    const double least = moves.front().winrate - cutoff;
    const double most = std::max<double>(moves.front().visits, 1.0);
    std::vector<double> weights;
    for (const RootMove& m : moves) {
        const bool is_good = m.visits > 0 && m.proof != Proof::LOSS && m.winrate >= least;
        weights.push_back(is_good ? std::pow(m.visits / most, 1.0 / temperature) : 0.0);
    }
    double sum = 0.0;
    for (const double weight : weights) sum += weight;
    double left = random_.uniform() * sum;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] > 0.0 && left < weights[i]) return i;
        left -= weights[i];
    }
    return 0;
}

// The policy target. It holds the move played, even where that has no weight. `surprise`: its divergence (Kullback and Leibler)
// from the network's policy.
std::vector<Candidate> Game::taught(Move played, double& surprise) {
    std::vector<Candidate> targets;
    bool has_played = false;
    const std::vector<TaughtMove> moves = mind().search.teaching();
    double sum = 0.0;
    for (const TaughtMove& taught : moves) sum += taught.weight;
    for (const TaughtMove& taught : moves) {
        targets.push_back({taught.move, taught.weight});
        has_played = has_played || taught.move == played;
        const double p = taught.weight / sum;
        surprise += p * std::log(p / std::max(taught.prior, LEAST_PRIOR));
    }
    surprise = std::max(surprise, 0.0);
    if (!has_played) targets.push_back({played, 1});
    return targets;
}

}  // namespace fukayomi
