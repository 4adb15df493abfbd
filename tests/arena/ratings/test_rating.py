"""Ratings compared with general optimisers and simulations, and players without a maximum-likelihood rating."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fukayomi.arena.ratings.bayes import PRIOR_DRAWS
from fukayomi.arena.ratings.estimate import draw_chances
from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.arena.ratings.rating import PlayerRating, rate_pairs, rate_tally
from fukayomi.arena.ratings.tally import Tally
from fukayomi.arena.statistics.intervals import estimate_strength
from fukayomi.listener import Listener

QUICK = RatingOptions(simulations=0)


def tally(*results: tuple[str, str, int, int, int]) -> Tally:
    """Of games by first, second, and the first's wins, draws and losses."""
    found = Tally()
    for first, second, *counts in results:
        for points, games in zip((1, 0.5, 0), counts, strict=True):
            found.add(first, second, points, games)
    return found


def by_name(games: Tally, options: RatingOptions = QUICK) -> dict[str, PlayerRating]:
    return {player.name: player for player in rate_tally(games, options).players}


LEAGUE = tally(
    ("a", "b", 14, 3, 5), ("b", "a", 9, 4, 8), ("a", "c", 12, 1, 4), ("c", "a", 6, 2, 11), ("b", "c", 10, 2, 7),
    ("c", "b", 8, 5, 6), ("d", "a", 2, 1, 9), ("b", "d", 7, 2, 1), ("d", "c", 3, 0, 6),
)  # fmt: skip


def test_the_likelihood_is_the_greatest() -> None:
    pairings, point = LEAGUE.pairings(), QUICK.point
    count = len(pairings.names)

    def badness(values: np.ndarray) -> float:
        gap = values[pairings.first] - values[pairings.second] + values[-1]
        losses = pairings.games - pairings.points
        return float(pairings.points @ np.logaddexp(0, -gap) + losses @ np.logaddexp(0, gap))

    best = minimize(badness, np.zeros(count + 1), tol=1e-10).x
    expected = (best[:-1] - best[:-1].mean()) / point
    found = rate_tally(LEAGUE, QUICK)
    ours = {player.name: player.rating for player in found.players}
    assert [ours[name] for name in pairings.names] == pytest.approx(expected.tolist(), abs=1e-3)
    assert found.first_mover_advantage == pytest.approx(best[-1] / point, abs=1e-3)


@pytest.mark.parametrize("draw_rate", [None, 30.0], ids=["estimated", "given"])
@pytest.mark.parametrize("advantage", [None, 20.0], ids=["first move estimated", "first move given"])
@pytest.mark.parametrize("anchors", [{}, {"a": 100.0, "c": -50.0}], ids=["average", "anchors"])
def test_by_results_they_are_the_likeliest(
    draw_rate: float | None, advantage: float | None, anchors: dict[str, float]
) -> None:
    options = QUICK.changed(by_results=True, anchors=anchors, draw_rate=draw_rate, first_mover_advantage=advantage
    )  # fmt: skip
    pairings, point, names = LEAGUE.pairings(), QUICK.point, LEAGUE.names
    count = len(names)

    def unpack(values: np.ndarray) -> tuple[np.ndarray, float, float]:
        """In points, and in percent."""
        ratings = values[:count] / point
        ratings = np.array([anchors.get(name, rating) for name, rating in zip(names, ratings, strict=True)])
        share = 100 / (1 + np.exp(-values[-1])) if draw_rate is None else draw_rate
        return ratings, values[-2] / point if advantage is None else advantage, float(share)

    def badness(values: np.ndarray) -> float:
        ratings, first, share = unpack(values)
        expected = 1 / (1 + np.exp(-point * (ratings[pairings.first] - ratings[pairings.second] + first)))
        draw = draw_chances(expected, share / 100)
        win, loss = expected - draw / 2, 1 - expected - draw / 2
        return -float(pairings.wins @ np.log(win) + pairings.draws @ np.log(draw) + pairings.losses @ np.log(loss))

    ratings, first, share = unpack(minimize(badness, np.append(np.zeros(count + 1), -1.0), tol=1e-10).x)
    found = rate_tally(LEAGUE, options)
    ours = {player.name: player.rating for player in found.players}
    expected = ratings if anchors else ratings - ratings.mean()
    assert [ours[name] for name in names] == pytest.approx(expected.tolist(), abs=2e-3)
    assert found.first_mover_advantage == pytest.approx(first, abs=2e-3)
    assert found.draw_rate == pytest.approx(share, abs=1e-3)
    assert "fitted to win/draw/loss counts" in found.notes[0]


def test_by_results_nothing_changes_without_draws_nor_where_all_is_drawn() -> None:
    for games in (
        tally(("a", "b", 3, 0, 1), ("b", "a", 2, 0, 2), ("c", "b", 1, 0, 1), ("d", "a", 4, 0, 0)),
        tally(("a", "b", 0, 3, 0), ("b", "a", 0, 2, 0), ("c", "b", 0, 1, 0)),
    ):
        options = RatingOptions(simulations=100)
        one, other = rate_tally(games, options), rate_tally(games, options.changed(by_results=True))
        assert [player.rating for player in other.players] == [player.rating for player in one.players]
        assert other.draw_rate == one.draw_rate


def test_by_results_there_are_ratings_where_the_stronger_never_lost() -> None:
    """The likeliest draw rate of equals is 1 then, and the score that was the likeliest to the last: 3 to 1."""
    even = np.log(3) / QUICK.point / 2
    games = tally(("a", "b", 5, 5, 0), ("b", "a", 0, 5, 5))
    found = rate_tally(games, RatingOptions(simulations=100, by_results=True))
    assert [player.rating for player in found.players] == pytest.approx([even, -even], abs=0.1)
    assert found.draw_rate == pytest.approx(99.9)
    assert all(player.error is not None for player in found.players)


def test_bayes_elo_is_rao_and_kupper_s_model_with_virtual_draws() -> None:
    """By the description: P(win) = 1 / (1 + 10^((-d - adv + draw) / 400)); 2 draws, by opponents in proportion."""
    options = QUICK.changed(bayes=True, first_mover_advantage=20.0, scale=200.2419)
    found = rate_tally(LEAGUE, options)
    share = found.draw_rate / 100
    margin = 400 * np.log10((1 + share) / (1 - share))
    names = LEAGUE.names
    games = {(one, other): np.zeros(3) for one in names for other in names if one != other}
    pairings = LEAGUE.pairings()
    for row in zip(pairings.first, pairings.second, pairings.wins, pairings.draws, pairings.losses, strict=True):
        games[names[row[0]], names[row[1]]] += row[2:]
    met = {pair: games[pair].sum() + games[pair[::-1]].sum() for pair in games}
    for player in names:
        played = sum(count for (one, _), count in met.items() if one == player)
        for other in names:
            if other != player:  # half of the prior is the player's own, half comes from the opponents' priors
                for pair in ((player, other), (other, player)):
                    games[pair][1] += PRIOR_DRAWS / 4 * met[pair] / played

    def badness(values: np.ndarray) -> float:
        elo = dict(zip(names, values, strict=True))
        total = 0.0
        for (one, other), (wins, draws, losses) in games.items():
            gap = elo[one] - elo[other] + 20
            win, loss = 1 / (1 + 10 ** ((margin - gap) / 400)), 1 / (1 + 10 ** ((margin + gap) / 400))
            total -= wins * np.log(win) + draws * np.log(1 - win - loss) + losses * np.log(loss)
        return total

    best = minimize(badness, np.zeros(len(names)), tol=1e-9).x
    ours = {player.name: player.bayes for player in found.players}
    assert [ours[name] for name in names] == pytest.approx((best - best.mean()).tolist(), abs=0.05)


def test_bayes_elo_keeps_a_sweep_finite_and_anchors_where_they_are() -> None:
    games = tally(("a", "b", 5, 0, 0), ("b", "a", 0, 0, 5), ("b", "c", 3, 0, 3), ("c", "b", 3, 1, 3))
    found = by_name(games, QUICK.changed(bayes=True, anchors={"c": 1000.0}))
    assert found["a"].bound == ">"
    assert found["a"].bayes is not None
    assert 1100 < found["a"].bayes < 1600
    assert found["c"].bayes == pytest.approx(1000)
    assert found["c"].rating == pytest.approx(1000)


@pytest.mark.parametrize("by_results", [False, True], ids=["points", "results"])
def test_the_intervals_hold_the_truth_as_often_as_they_say(by_results: bool) -> None:
    """100 leagues of known strength: their 95 % errors, from an average, hold it in 95 %."""
    rng = np.random.default_rng(5)
    truth = np.array([-150.0, -20.0, 40.0, 130.0])
    inside = total = 0
    for league in range(100):
        games = Tally()
        for first in range(4):
            for second in range(4):
                if first != second:
                    expected = 1 / (1 + np.exp(-QUICK.point * (truth[first] - truth[second] + 30)))
                    draw = draw_chances(np.array([expected]), 0.2)[0]
                    counts = rng.multinomial(30, [expected - draw / 2, draw, 1 - expected - draw / 2])
                    for points, count in zip((1, 0.5, 0), counts, strict=True):
                        games.add(str(first), str(second), points, int(count))
        for player in rate_tally(games, RatingOptions(simulations=100, seed=league, by_results=by_results)).players:
            assert player.error is not None
            inside += abs(player.rating - truth[int(player.name)]) <= player.error
            total += 1
    assert 0.92 <= inside / total <= 0.975


ELO_SCALE = 200 * np.log10(0.76 / 0.24) * 2
"""The scale on which ratings are Elo."""


@pytest.mark.parametrize(
    "games",
    [
        [("new", "old", 5, 0, 0), ("old", "new", 1, 0, 4)],
        [("new", "old", 0, 0, 10)],
        [("new", "old", 9, 0, 1)],
        [("new", "old", 4, 4, 2)],
        [("new", "old", 30, 3, 7)],
    ],
    ids=["9-1", "0-10", "9-1 in one colour", "draws", "forty"],
)
def test_few_games_have_the_errors_of_a_match(games: list[tuple[str, str, int, int, int]]) -> None:
    """Of two players with a fixed first-move advantage, in Elo: Wilson's interval."""
    played = tally(*games)
    options = RatingOptions(anchors={"old": 0.0}, first_mover_advantage=0.0, scale=float(ELO_SCALE), simulations=200)
    found, pairings = by_name(played, options)["new"], played.pairings()
    new_first = pairings.first == pairings.names.index("new")
    wins, losses = (int(np.where(new_first, *pair).sum()) for pair in (
        (pairings.wins, pairings.losses), (pairings.losses, pairings.wins),
    ))  # fmt: skip
    strength = estimate_strength([losses, int(pairings.draws.sum()), wins])
    if found.bound:
        assert found.error is None
        return
    assert found.rating == pytest.approx(strength.elo, abs=1e-6)
    assert found.low is not None
    assert found.high is not None
    assert (found.high - found.low) / 2 == pytest.approx(found.error)
    if wins == 9:
        assert (found.low, found.high) == pytest.approx((strength.elo_low, strength.elo_high), abs=0.01)
    else:  # simulated under the draw model
        assert found.error == pytest.approx(strength.elo_error, rel=0.2)


def test_after_nine_wins_and_a_loss_the_reader_is_told() -> None:
    found = rate_tally(tally(("new", "old", 5, 0, 0), ("old", "new", 1, 0, 4)), RatingOptions(anchors={"old": 0.0}))
    assert f"{found['new'].rating:.0f} {found['new'].error:.0f}" == "385 317", "points are 0.9 % smaller than Elo"
    assert found.notes[0] == "Too few games to estimate the first-move advantage; 0 is used."
    assert found.notes[1].startswith("35% of the simulations had no finite ratings")
    assert found["new"].cfs == pytest.approx(98.1, abs=0.1)


def test_small_leagues_hold_the_truth_as_often_as_they_say() -> None:
    """Leagues of three players with four games in each order; of those with an error, 93 % or more are within it."""
    rng = np.random.default_rng(3)
    inside = total = 0
    for league in range(80):
        strengths = rng.uniform(-200, 200, 3)
        truth = dict(zip("abc", strengths - strengths.mean(), strict=True))
        played = Tally()
        for first in truth:
            for second in truth:
                if first != second:
                    expected = 1 / (1 + np.exp(-QUICK.point * (truth[first] - truth[second])))
                    wins = int(rng.binomial(4, expected))
                    played.add(first, second, 1, wins)
                    played.add(first, second, 0, 4 - wins)
        found = rate_tally(played, RatingOptions(simulations=10, seed=league)).players
        if not any(player.bound for player in found):
            inside += sum(player.low <= truth[player.name] <= player.high for player in found)
            total += 3
    assert total >= 120
    assert inside / total >= 0.93


def test_several_anchors_hold_and_have_no_error() -> None:
    found = by_name(LEAGUE, RatingOptions(anchors={"a": 1000.0, "c": 700.0}, simulations=50))
    assert (found["a"].rating, found["c"].rating) == pytest.approx((1000, 700))
    assert found["a"].error is None
    assert found["c"].error is None
    assert found["b"].error is not None
    far = by_name(LEAGUE, RatingOptions(anchors={"a": 90_000.0, "c": -90_000.0}, simulations=50))
    assert (far["a"].rating, far["c"].rating) == pytest.approx((90_000, -90_000))
    assert far["a"].error is None


def test_a_hidden_player_counts_and_is_not_there() -> None:
    found, everybody = by_name(LEAGUE, QUICK.changed(hidden=frozenset("b"))), by_name(LEAGUE)
    assert set(found) == {"a", "c", "d"}
    assert all(found[name].rating == everybody[name].rating for name in found)
    assert rate_tally(LEAGUE, QUICK.changed(hidden=frozenset("abcd"))).players == ()


def test_each_two_alone() -> None:
    pairs = rate_pairs(LEAGUE, QUICK.changed(hidden=frozenset("d")))
    assert [{player.name for player in pair.players} for pair in pairs] == [{"a", "b"}, {"a", "c"}, {"b", "c"}]
    one, other = pairs[0].players
    alone = rate_tally(LEAGUE.between("a", "b"), QUICK)
    assert (one.rating, other.rating) == (alone.players[0].rating, -alone.players[0].rating)
    assert one.played == 43
    assert pairs[0].first_mover_advantage != rate_tally(LEAGUE, QUICK).first_mover_advantage


def test_groups_that_never_met_are_told_and_each_has_the_average() -> None:
    found = rate_tally(tally(("a", "b", 3, 0, 1), ("b", "a", 2, 0, 2), ("c", "d", 1, 1, 1), ("d", "c", 1, 0, 2)), QUICK)
    assert {player.name: player.pool for player in found.players} == {"a": 1, "b": 1, "c": 2, "d": 2}
    assert found.players[0].rating == pytest.approx(-found.players[1].rating)
    assert "(1) a, b; (2) c, d" in found.notes[-1]


def test_a_chain_of_sweeps_is_placed_outward() -> None:
    games = tally(
        ("a", "b", 4, 0, 0), ("b", "c", 4, 0, 0), ("c", "d", 2, 0, 2), ("d", "c", 2, 0, 2), ("d", "e", 3, 0, 0)
    )  # fmt: skip
    found = rate_tally(games, RatingOptions(simulations=100))
    assert [(player.name, player.bound) for player in found.players] == [
        ("a", ">"), ("b", ">"), ("d", ""), ("c", ""), ("e", "<"),
    ]  # fmt: skip
    assert all((player.error is None) == bool(player.bound) for player in found.players)
    assert found.players[2].error is not None
    assert found.players[1].rating - found.players[2].rating > 100, "d and c are equal: d has more points"


@pytest.mark.parametrize("first_mover_advantage", [None, 0.0], ids=["estimated", "none"])
def test_one_game_has_an_answer(first_mover_advantage: float | None) -> None:
    options = RatingOptions(simulations=20, bayes=True, first_mover_advantage=first_mover_advantage)
    winner, loser = rate_tally(tally(("a", "b", 1, 0, 0)), options).players
    assert (winner.name, winner.bound, loser.bound) == ("a", ">", "<")
    assert winner.rating == -loser.rating
    assert winner.error is None
    assert winner.bayes is not None
    drawn = rate_tally(tally(("a", "b", 0, 1, 0)), options)
    assert [player.rating for player in drawn.players] == [0.0, 0.0]
    assert drawn.draw_rate == 100.0


def test_figures_do_not_depend_on_the_order_of_games() -> None:
    one = tally(("a", "b", 3, 1, 2), ("c", "a", 2, 0, 1), ("b", "c", 2, 2, 2))
    other = tally(("b", "c", 2, 2, 2), ("c", "a", 2, 0, 1), ("a", "b", 3, 1, 2))
    assert rate_tally(one).players == rate_tally(other).players


def league(players: int, games: int, seed: int = 0) -> tuple[Tally, dict[str, float]]:
    """Random games between players within about 300 points of each other, and the true ratings."""
    rng = np.random.default_rng(seed)
    strengths = rng.normal(0, 100, players)
    first, second = rng.integers(0, players, games), rng.integers(1, players, games)
    second = (first + second) % players
    found = Tally()
    for one, other, chance in zip(first, second, rng.random(games), strict=True):
        expected = 1 / (1 + np.exp(-QUICK.point * (strengths[one] - strengths[other] + 20)))
        found.add(
            f"p{one:05}", f"p{other:05}", 1 if chance < expected - 0.05 else 0 if chance > expected + 0.05 else 0.5
        )
    return found, {f"p{player:05}": float(strengths[player]) for player in range(players)}


class Heard(Listener):
    """What a listener is told, in order."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def note(self, text: str) -> None:
        self.events.append(text)

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self.events.append(f"{stage} {done} of {total}")


def test_a_large_league_is_bounded_work_and_says_it_before_it_begins() -> None:
    """3 143 players of few games: most simulations would have no finite ratings."""
    games, _ = league(3168, 8000)
    heard = Heard()
    found = rate_tally(games, RatingOptions(), listener=heard)
    assert heard.events[0].startswith("3,143 players: ")
    assert "simulations, each one step of Newton's method" in heard.events[0]
    assert found.simulations is not None
    assert heard.events[-1] == f"simulating {found.simulations} of {found.simulations}"
    assert 200 <= found.simulations < 1000
    assert any("one step of Newton's method" in note for note in found.notes)
    assert all((player.error is None) == bool(player.bound) for player in found.players)
    assert all(player.cfs is None or 0 <= player.cfs <= 100 for player in found.players)


def test_a_chain_of_players_has_ratings_and_errors() -> None:
    """Iterative solutions need as many rounds as the chain is long."""
    games = Tally()
    for player in range(1500):
        games.add(f"{player:04}", f"{player + 1:04}", 1)
        games.add(f"{player + 1:04}", f"{player:04}", 1)
    found = by_name(games, RatingOptions(simulations=200))
    assert max(abs(player.rating) for player in found.values()) < 1e-6
    ends, middle = found["0000"].error, found["0750"].error
    assert ends is not None
    assert middle is not None
    assert ends > middle > 100


def test_ratings_of_many_players_equal_those_of_dense_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    games, _ = league(120, 900)
    options = QUICK.changed(bayes=True)
    sparse = rate_tally(games, options)
    monkeypatch.setattr("fukayomi.arena.ratings.design.MOST_DENSE", 1000)
    dense = rate_tally(games, options)
    for one, other in zip(sparse.players, dense.players, strict=True):
        assert one.name == other.name
        assert one.rating == pytest.approx(other.rating, abs=1e-6)
        assert one.bayes == pytest.approx(other.bayes, abs=1e-6)
    assert sparse.first_mover_advantage == pytest.approx(dense.first_mover_advantage, abs=1e-6)


@pytest.mark.parametrize("by_results", [False, True], ids=["points", "results"])
def test_errors_of_one_step_are_those_of_new_ratings(monkeypatch: pytest.MonkeyPatch, by_results: bool) -> None:
    games, _ = league(30, 900)
    options = RatingOptions(by_results=by_results)
    fitted = rate_tally(games, options)
    monkeypatch.setattr("fukayomi.arena.ratings.rating.MOST_REFITTED", 0)
    stepped = rate_tally(games, options)
    for one, other in zip(fitted.players, stepped.players, strict=True):
        assert other.error == pytest.approx(one.error, rel=0.2)
        assert other.cfs is None or other.cfs == pytest.approx(one.cfs, abs=3)
    assert stepped.first_mover_deviation == pytest.approx(fitted.first_mover_deviation, rel=0.15)
    assert stepped.draw_rate_deviation == pytest.approx(fitted.draw_rate_deviation, rel=0.15)


def test_errors_of_a_large_league_hold_the_truth_as_often_as_they_say() -> None:
    inside = total = 0
    for seed in range(4):
        games, truth = league(200, 1500, seed)
        found = [player for player in rate_tally(games, RatingOptions(seed=seed)).players if not player.bound]
        average = np.mean([truth[player.name] for player in found])
        for player in found:
            assert player.error is not None
            inside += abs(player.rating - truth[player.name] + average) <= player.error
            total += 1
    assert total > 700
    assert 0.92 <= inside / total <= 0.975


def test_pairs_of_many_players_are_those_who_met() -> None:
    games, _ = league(120, 300)
    heard = Heard()
    pairs = rate_pairs(games, RatingOptions(), listener=heard)
    met = {frozenset((first, second)) for first, second in names_of(games)}
    assert {frozenset(player.name for player in pair.players) for pair in pairs} == met
    assert heard.events[0] == f"{len(met)} pairs of players: each simulation is one step of Newton's method"
    assert heard.events[-1] == f"rating pairs {len(met)} of {len(met)}"


def names_of(games: Tally) -> list[tuple[str, str]]:
    pairings = games.pairings()
    return [
        (pairings.names[one], pairings.names[other]) for one, other in zip(pairings.first, pairings.second, strict=True)
    ]


def test_thousands_of_pools_and_of_players_who_won_everything() -> None:
    games = Tally()
    for number in range(1500):
        games.add(f"a{number:04}", f"b{number:04}", 1)
    for number in range(1500):
        games.add(f"c{number:04}", f"c{number + 1:04}", 1)
    found = rate_tally(games, RatingOptions(simulations=10))
    assert max(player.pool for player in found.players) == 1501
    assert len(found.notes[-1]) < 2500
    chain = [player for player in found.players if player.name.startswith("c")]
    assert [player.name for player in chain] == sorted(player.name for player in chain), "each beat the next"
