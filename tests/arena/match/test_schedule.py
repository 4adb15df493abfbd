"""The schedule: pairs, fairness wherever it is cut, and that it never changes."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from match_samples import openings_of, settings_of

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.match.settings import MatchSettings, ScheduledGame, schedule

OPENINGS = openings_of(7)


@st.composite
def matches(draw: st.DrawFn) -> MatchSettings:
    names = [f"engine {number}" for number in range(draw(st.integers(2, 7)))]
    return settings_of(
        *names,
        games=draw(st.integers(1, 300)),
        tournament=draw(st.sampled_from(["round-robin", "gauntlet"])),
        opening_order=draw(st.sampled_from(["sequential", "random"])),
        seed=draw(st.integers(0, 9)),
    )


def pairings(settings: MatchSettings) -> set[frozenset[str]]:
    names = [engine.name for engine in settings.engines]
    both = combinations(names, 2) if settings.tournament == "round-robin" else ((names[0], name) for name in names[1:])
    return set(map(frozenset, both))


@given(matches())
def test_a_match_is_fair_wherever_it_is_cut(settings: MatchSettings) -> None:
    games = list(schedule(settings, OPENINGS))
    assert [game.number for game in games] == list(range(1, settings.games + 1))
    met = Counter(frozenset((game.black, game.white)) for game in games)
    assert set(met) <= pairings(settings)
    counts = [met[pairing] for pairing in pairings(settings)]
    assert max(counts) - min(counts) <= 2, "no two engines are more than a pair of games behind others"
    colors = Counter((game.black, game.white) for game in games)
    for black, white in colors:
        assert abs(colors[black, white] - colors[white, black]) <= 1
    if settings.tournament == "round-robin":
        busy = Counter(name for game in games for name in (game.black, game.white))
        played = [busy[engine.name] for engine in settings.engines]
        assert max(played) - min(played) <= 4, "a pair for the round in play, and one for who sits out"


@given(matches())
def test_an_opening_is_played_with_both_colours_by_all_before_the_next(settings: MatchSettings) -> None:
    games = list(schedule(settings, OPENINGS))
    for first, second in zip(games[::2], games[1::2], strict=False):
        assert first.pair == second.pair
        assert (first.black, first.white) == (second.white, second.black)
        assert first.opening == second.opening
    assert len({game.pair for game in games}) == (len(games) + 1) // 2
    a_cycle = 2 * len(pairings(settings))
    cycles = [games[start : start + a_cycle] for start in range(0, len(games), a_cycle)]
    openings = [{game.opening for game in cycle} for cycle in cycles]
    assert all(len(one) == 1 for one in openings)
    order = [next(iter(one)) for one in openings]
    first_round = order[: len(OPENINGS)]
    assert len({opening.number for opening in first_round}) == len(first_round), "each once before any comes again"
    if settings.opening_order == "sequential":
        assert [opening.number for opening in order] == [index % len(OPENINGS) for index in range(len(order))]


@given(matches(), st.integers(0, 300))
def test_more_games_go_on_with_the_same_schedule(settings: MatchSettings, more: int) -> None:
    longer = settings.model_copy(update={"games": settings.games + more})
    assert list(schedule(longer, OPENINGS))[: settings.games] == list(schedule(settings, OPENINGS))


def test_the_first_games_of_a_round_robin_of_four() -> None:
    games = schedule(settings_of("a", "b", "c", "d", games=12), OPENINGS)
    assert " ".join(game.black + game.white for game in games) == "ad da bc cb ac ca db bd ab ba cd dc"


def test_a_gauntlet_is_about_the_first_engine() -> None:
    games = schedule(settings_of("new", "x", "y", games=6, tournament="gauntlet"), [Opening()])
    assert [(game.number, game.pair, game.black, game.white, game.opening.round) for game in games] == [
        (1, 1, "new", "x", 0), (2, 1, "x", "new", 0), (3, 2, "new", "y", 0), (4, 2, "y", "new", 0),
        (5, 3, "new", "x", 1), (6, 3, "x", "new", 1),
    ]  # fmt: skip


def test_the_seed_decides_the_random_order() -> None:
    def numbers(seed: int) -> list[int]:
        games: list[ScheduledGame] = list(schedule(settings_of(games=14, opening_order="random", seed=seed), OPENINGS))
        return [game.opening.number for game in games[::2]]

    assert numbers(1) == numbers(1)
    assert numbers(1) != numbers(2)
    assert sorted(numbers(1)) == list(range(7))


@pytest.mark.parametrize("engines", [["a"], ["a", "a"]], ids=["alone", "twice"])
def test_engines_must_be_two_and_have_different_names(engines: list[str]) -> None:
    with pytest.raises(ValueError, match=r"at least 2|different names"):
        settings_of(*engines)


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "\ta"], ids=["empty", "before", "after", "line", "tab"])
def test_names_are_one_line(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        settings_of(name, "b")


@given(matches(), st.integers(0, 20))
def test_openings_can_be_left_out_at_first(settings: MatchSettings, start: int) -> None:
    a_cycle = 2 * len(pairings(settings))
    longer = settings.model_copy(update={"games": settings.games + a_cycle * start})
    later = schedule(settings.model_copy(update={"opening_start": start}), OPENINGS)
    assert [game.opening for game in later] == [game.opening for game in schedule(longer, OPENINGS)][a_cycle * start :]


def test_engines_that_only_meet_in_pairs_play_openings_of_their_own() -> None:
    settings = settings_of("a", "b", "c", "d", games=10, tournament="pairs")
    games = [(game.black, game.white, game.pair, game.opening.number) for game in schedule(settings, OPENINGS)]
    first, second = OPENINGS[0].number, OPENINGS[1].number
    assert games[:4] == [("a", "b", 1, first), ("b", "a", 1, first), ("c", "d", 2, second), ("d", "c", 2, second)]
    assert games[8:] == [("a", "b", 5, OPENINGS[4].number), ("b", "a", 5, OPENINGS[4].number)]
    with pytest.raises(ValueError, match="pairs need an even number of engines, not 3"):
        settings_of("a", "b", "c", games=10, tournament="pairs")
