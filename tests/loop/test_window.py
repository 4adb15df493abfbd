"""The window and the budget: how many positions the learner sees, and how often."""

from hypothesis import given
from hypothesis import strategies as st

from fukayomi.loop.settings import WindowSettings, buy_steps, newest, window_positions

windows = st.builds(
    WindowSettings,
    start=st.integers(1, 1_000_000),
    growth=st.floats(0, 1),
    exponent=st.floats(0.05, 1),
)
sizes = st.lists(st.integers(0, 1000), max_size=40)


@given(windows, st.integers(0, 10**12), st.integers(0, 10**9))
def test_the_window_grows_with_the_positions_and_never_holds_more_than_there_are(
    window: WindowSettings, total: int, more: int
) -> None:
    size = window_positions(total, window)

    assert min(total, window.start) <= size <= total
    assert size <= window_positions(total + more, window) <= size + more + 1


def test_the_window_is_katagos() -> None:
    """The values of the formula in the paper, computed with its parameters: c = 250 000, alpha = 0.75, beta = 0.4."""
    for total in (250_001, 1_000_000, 50_000_000, 241_000_000):
        paper = 250_000 * (1 + 0.4 * ((total / 250_000) ** 0.75 - 1) / 0.75)
        assert abs(window_positions(total, WindowSettings()) - paper) <= 1


@given(sizes, st.integers(0, 20_000))
def test_the_newest_chunks_are_as_few_as_hold_the_window(chunks: list[int], positions: int) -> None:
    first = newest(chunks, positions)

    assert sum(chunks[first:]) >= min(positions, sum(chunks))
    assert first == len(chunks) or sum(chunks[first + 1 :]) < positions


@given(sizes, st.floats(0.1, 20), st.integers(1, 512), st.integers(0, 5000))
def test_no_more_samples_are_drawn_than_the_positions_pay_for(
    generations: list[int], samples_per_position: float, batch: int, least: int
) -> None:
    budget, total, samples = 0.0, 0, 0
    for new in generations:
        total += new
        budget += new * samples_per_position
        steps, budget = buy_steps(budget, batch, total=total, least=least)
        samples += steps * batch
        assert steps == 0 or total >= max(least, batch)
        assert samples <= total * samples_per_position + 1e-6
        if total >= max(least, batch):
            assert total * samples_per_position - samples < batch + 1e-6
