"""Settings of learning runs: layers, presets, files, and what is said of mistakes."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from fukayomi.loop.run import Run
from fukayomi.loop.settings import (
    LoopError,
    build_settings,
    preset_names,
    read_settings,
)
from fukayomi.settings import differences


def test_a_file_wins_over_its_preset_and_later_layers_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('preset = "tiny"\ngames = 64\n\n[learner]\nsamples_per_position = 3\n')

    settings = build_settings(read_settings(file), {"generations": 2})

    tiny = build_settings({"preset": "tiny"})
    assert (settings.games, settings.generations, settings.learner.samples_per_position) == (64, 2, 3)
    assert (settings.network, settings.learner.threads) == (tiny.network, tiny.learner.threads)


@pytest.mark.parametrize("name", preset_names())
def test_saved_settings_are_read_as_the_same_settings(name: str, tmp_path: Path) -> None:
    settings = build_settings({"preset": name}, {"strength": {"anchor": [{"name": "us", "network": "embedded"}]}})
    file = tmp_path / "run.toml"
    file.write_text(settings.text())

    again = build_settings(read_settings(file))

    assert again == settings
    assert not list(differences(settings.plain(), again.plain()))


def test_the_presets_are_those_of_the_documentation() -> None:
    assert preset_names() == ["cpu", "fleet", "gpu", "tiny"]


@pytest.mark.parametrize("name", sorted({*preset_names()} - {"tiny"}))
def test_long_runs_are_measured_against_an_anchor(name: str) -> None:
    (anchor,) = build_settings({"preset": name}).strength.anchors

    assert (anchor.name, anchor.network) == ("embedded", "embedded")


def test_differences_name_the_settings() -> None:
    one, other = build_settings(), build_settings({"games": 256, "gate": {"mode": "off"}})

    assert list(differences(one.plain(), other.plain())) == [("games", 1024, 256), ("gate.mode", "binding", "off")]


def test_files_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    (tmp_path / "test.hcpe").write_bytes(bytes(38))
    file.write_text(
        '[learner]\ntest = ["test.hcpe"]\n[gate]\nopenings = "a.sfen"\n[[strength.anchor]]\nname="x"\nnetwork="b.onnx"'
    )

    settings = build_settings(read_settings(file))

    assert settings.learner.test == (str(tmp_path / "test.hcpe"),)
    assert settings.gate.openings == tmp_path / "a.sfen"
    assert settings.strength.anchors[0].network == str(tmp_path / "b.onnx")


def test_a_league_is_read_and_saved_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    (tmp_path / "engine").touch()
    file.write_text(
        '[league]\nshare = 0.25\nclock = "nodes=10"\npast = 3\n'
        '[[league.engine]]\nname = "a"\ncommand = "./engine --fast"\ndirectory = "here"\nclock = "depth=4"\n'
        "options = { USI_Hash = 16 }\n"
    )

    settings = build_settings(read_settings(file))
    (tmp_path / "saved.toml").write_text(settings.text())

    league = settings.league
    assert league
    assert (league.past, league.share, league.clock.nodes) == (3, 0.25, (10,))
    engine = league.engines[0]
    assert (engine.command[1:], engine.directory, engine.options) == (
        ("--fast",),
        tmp_path / "here",
        {"USI_Hash": "16"},
    )
    assert Path(engine.command[0]).samefile(tmp_path / "engine")
    assert build_settings(read_settings(tmp_path / "saved.toml")) == settings


def test_a_command_with_an_open_quote_is_named(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[[league.engine]]\nname = 'a'\ncommand = \"'engine\"\n")

    with pytest.raises(LoopError, match=r"run\.toml: league.engine.0.command: "):
        read_settings(file)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gams": 1}, "gams: unknown setting; did you mean games? There are network, training"),
        ({"learner": {"sample": 1}}, "learner.sample: unknown setting; there are samples_per_position"),
        ({"games": 0}, "games: Input should be greater than or equal to 1, not 0"),
        ({"games": 300}, "games is 300, which is not a multiple of selfplay.chunk_games, 256"),
        ({"selfplay": {"playout": 5}}, "selfplay.playout: unknown setting; did you mean playouts? There are playouts"),
        ({"gate": {"games": 3}}, "gate.games: Input should be a multiple of 2, not 3"),
        ({"gate": {"mode": "hard"}}, "gate.mode: Input should be 'off', 'advisory' or 'binding', not 'hard'"),
        ({"gate": {"elo0": 5, "elo1": 1}}, "gate: elo0 must be less than elo1"),
        ({"gate": {"rollback": True, "mode": "off"}}, 'gate: rollback needs mode = "binding"'),
        ({"window": {"exponent": 0}}, "window.exponent: Input should be greater than 0, not 0"),
        ({"strength": {"anchor": [{"name": "x"}]}}, "strength.anchor.x: an anchor has a network or a command"),
        (
            {"strength": {"anchor": [{"nme": "x"}]}},
            "strength.anchor.0.nme: unknown setting; did you mean name?",
        ),
        ({"training": {"steps": 5}}, "training.steps: cannot be set here"),
        ({"training": {"seed": 5}}, "training.seed: cannot be set here"),
        ({"training": {"schedule": "cosine"}}, 'training.schedule: "cosine" needs to know the last step'),
        ({"targets": {"layer": "new"}}, "targets.layer: a learning run makes its layers itself"),
        ({"training": {"lr": "x"}}, "training.lr: Input should be a valid number"),
        ({"training": {"batch": 0}}, "training.batch: Input should be greater than or equal to 1, not 0"),
        ({"network": {"blocks": 0}}, "network.blocks: Input should be greater than or equal to 1, not 0"),
        ({"learner": {"supervised": ["a.hcpe"]}}, "learner: supervised and supervised_share belong together"),
        ({"learner": {"test": ["/nowhere/a.hcpe*0"]}}, "learner.test: /nowhere/a.hcpe*0: '0' is not a weight"),
        ({"reanalysis": {"share": 0}}, "reanalysis.share: Input should be greater than 0, not 0"),
        ({"reanalysis": {"select": "luck"}}, "reanalysis.select: Input should be 'random', 'age' or 'surprise'"),
        (
            {"reanalysis": {"noodles": 1}},
            "reanalysis.noodles: unknown setting; did you mean nodes?",
        ),
        ({"league": {}}, "league: the league has no opponent: set past, or add a table [[league.engine]]"),
        ({"league": {"past": 21}}, "league.past: Input should be less than or equal to 20, not 21"),
        (
            {"league": {"past": 1, "shar": 1}},
            "league.shar: unknown setting; did you mean share? There are share",
        ),
        ({"league": {"past": 1, "share": 0}}, "league.share: Input should be greater than 0, not 0"),
        ({"league": {"past": 1, "clock": "fast"}}, "league.clock: time control 'fast'"),
        ({"league": {"engine": [{"name": "a"}]}}, "league.engine.a: the command is missing"),
        (
            {"league": {"engine": [{"nme": "a"}]}},
            "league.engine.0.nme: unknown setting; did you mean name?",
        ),
        ({"league": {"engine": [{"name": "network-1", "command": ["a"]}]}}, 'do not begin with "network-"'),
        ({"generations": True}, "generations: Input should be a number, not True"),
        ({"generations": "3"}, "generations: Input should be a number, not '3'"),
        ({"gate": {"elo1": "30"}}, "gate.elo1: Input should be a number, not '30'"),
        ({"league": {"past": 1, "share": True}}, "league.share: Input should be a number, not True"),
        ({"league": {"past": 1, "share": "0.5"}}, "league.share: Input should be a number, not '0.5'"),
        ({"learner": {"most_steps": "9"}}, "learner.most_steps: Input should be a number, not '9'"),
        ({"preset": "huge"}, "preset 'huge' does not exist; there are cpu, fleet, gpu, tiny"),
        ({"learner": 3}, "learner: Input should be a valid dictionary"),
    ],
)
def test_mistakes_are_named_with_their_key(values: dict[str, Any], message: str) -> None:
    with pytest.raises(LoopError) as raised:
        build_settings(values)

    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("content", "message"), [(b"games = ", "run.toml: "), (b"\xff", "run.toml: "), (None, "cannot read the settings")]
)
def test_a_file_that_is_no_toml_is_named(content: bytes | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(LoopError, match=message):
        read_settings(file)


EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples" / "learn").glob("*.toml"))


def test_there_is_an_example_of_a_supervised_network_with_a_league() -> None:
    settings = build_settings(read_settings(next(file for file in EXAMPLES if file.stem == "supervised-league")))

    assert str(settings.learner.initial) == "embedded"
    assert settings.league
    assert settings.league.engines[0].options["UCI_Variant"] == "shogi"
    assert settings.league.engines[0].clock.nodes


@pytest.fixture(params=EXAMPLES, ids=lambda file: file.stem)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An example of the documentation."""
    return Path(shutil.copy(request.param, tmp_path / "example.toml"))


def test_a_run_can_begin_with_each_example(example: Path, tmp_path: Path) -> None:
    settings = build_settings(read_settings(example))
    (tmp_path / "run").mkdir()
    run = Run(settings, tmp_path / "run")

    run.begin()

    assert run.settings == run.folder.saved_settings()


def test_the_examples_of_the_documentation_are_valid(example: Path, tmp_path: Path) -> None:
    settings = build_settings(read_settings(example))
    (tmp_path / "saved.toml").write_text(settings.text())

    assert build_settings(read_settings(tmp_path / "saved.toml")) == settings
