"""Learning runs whose networks are computed in int8 or int16."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import learn_run
import pytest

from fukayomi._native import cpu_instructions
from fukayomi.arena.results.match_db import DATABASE, connect_read_only
from fukayomi.engine import EvaluatorError
from fukayomi.engine.evaluators.backends.network_file import NetworkFile, int8_path
from fukayomi.files.inputs import file_sha256
from fukayomi.loop import LoopError, learn, read_status
from fukayomi.loop.generation import play_here
from fukayomi.loop.journal import Journal
from fukayomi.loop.learner import TrainingFile, publish
from fukayomi.loop.matches import measure
from fukayomi.loop.run import Run, RunFolder
from fukayomi.loop.settings import GeneratorSettings
from fukayomi.selfplay.league import LeagueNetwork, LeagueSettings

MACHINE = {"device": "cpu", "devices": 1, "precision": None}


def identities(match: Path) -> list[str]:
    """What a match knows of its engines."""
    with closing(connect_read_only(match / DATABASE)) as database:
        (settings,) = database.execute("SELECT settings FROM match").fetchone()
    return [engine["identity"] for engine in json.loads(settings)["engine"]]


def begun(folder: Path, **machine: Any) -> str | None:
    """The precision of a run that begins, or goes on, with such a generator. Its first step is done then."""
    folder.mkdir(exist_ok=True)
    run = Run(learn_run.small(generator=MACHINE | machine), folder)
    run.begin()
    (folder / "journal.jsonl").write_text("a step\n")
    return run.settings.generator.precision


def begun_with_opponent(folder: Path, other: Path) -> str | None:
    """The same of a run that has a network of another run as an opponent."""
    folder.mkdir()
    league = {"network": [{"name": "main", "file": str(RunFolder(other).network(0))}]}
    run = Run(learn_run.small(generator=MACHINE, league=league), folder)
    run.begin()
    return run.settings.generator.precision


def test_each_network_has_an_int8_file_that_the_journal_knows(int8_run: Path, small_run: Path) -> None:
    folder = RunFolder(int8_run)
    networks = Journal(int8_run).networks

    assert len(networks) == 2
    for network in networks:
        int8 = int8_path(folder.verified(network))
        assert network.int8 == file_sha256(int8)
        assert NetworkFile(int8).source == network.sha256
    assert {network.int8 for network in Journal(small_run).networks} == {None}
    assert not list(small_run.glob("networks/*.int8.onnx"))


def test_games_and_matches_are_played_in_int8(int8_run: Path, tmp_path: Path) -> None:
    folder, settings = RunFolder(int8_run), learn_run.small(**learn_run.INT8)
    networks = Journal(int8_run).networks
    digests = [str(network.int8)[:16] for network in networks]

    games: dict[str, bytes] = {}
    for precision in ("int8", "fp32"):
        machine = settings.generator.model_copy(update={"precision": precision})
        out = tmp_path / precision
        play_here(
            machine, settings.selfplay, folder.network(0), out, seed=settings.seed, league=None, name="local",
            first_game=0, games=settings.games,
        )  # fmt: skip
        games[precision] = (out / "local-000001.hcpe3").read_bytes()

    assert games["int8"] == (folder.games / "local-000001.hcpe3").read_bytes() != games["fp32"]
    for match in ("gate-0001", "strength-0001"):
        found = [identity.split()[0] for identity in identities(folder.matches / match)]
        assert found == [f"{digest}-int8-cpu" for digest in reversed(digests)]


def test_anchors_are_computed_in_fp32(int8_run: Path, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(int8_run, folder.path)
    shutil.rmtree(folder.matches / "strength-0001")
    lines = (folder.path / "journal.jsonl").read_text().splitlines(keepends=True)
    (folder.path / "journal.jsonl").write_text("".join(lines[:-1]))
    anchor = {"name": "first", "network": str(folder.network(0))}
    measuring = {"device": "cpu", "anchor": [anchor], "earlier": 0, "first": False}
    settings = learn_run.small(**learn_run.INT8 | {"strength": measuring})

    assert measure(Run(settings, folder.path)).opponents == ("first",)

    found = [identity.split()[0] for identity in identities(folder.matches / "strength-0001")]
    assert [identity.partition("-")[2] for identity in found] == ["int8-cpu", "fp32-cpu"]


def test_what_reads_an_int8_file_compares_it_with_its_hash(int8_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(int8_run, folder)
    file = folder / "networks" / "network-0001.int8.onnx"
    file.write_bytes(file.read_bytes()[:-1] + b"?")

    with pytest.raises(LoopError, match=r"network-0001\.int8\.onnx: missing, or not the network of the journal"):
        learn(learn_run.small(**learn_run.INT8 | {"generations": 2}), folder)


def test_the_newest_games_show_how_large_activations_are(
    int8_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(int8_run, folder)
    calibrated: list[list[str]] = []

    def export(network: Path, path: Path, calibration: list[Path], **_: object) -> None:
        calibrated.append([file.name for file in calibration])
        raise InterruptedError

    monkeypatch.setattr("fukayomi.learning.int8.export_int8", export)
    for sizes in ([6000, 3000, 0, 1800], [20, 43], [20, 44]):
        files = [TrainingFile(Path(f"{number}.hcpe3"), size, "") for number, size in enumerate(sizes)]
        with pytest.raises(InterruptedError):
            publish(Run(learn_run.small(**learn_run.INT8), folder), 1, files)

    assert calibrated == [["1.hcpe3", "3.hcpe3"], [], ["0.hcpe3", "1.hcpe3"]]


def test_a_run_without_a_choice_begins_with_what_suits_the_cpu_and_keeps_it(
    small_run: Path, int8_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fukayomi.loop.run.cpu_features", lambda: ("AVX2", "VNNI"))
    assert begun(tmp_path / "a") == "int8"
    assert begun(tmp_path / "b", precision="fp32") == "fp32"
    assert begun(tmp_path / "c", device="cuda") == "fp32"
    assert begun(tmp_path / "h", device="native") == ("int16" if cpu_instructions("int16") else "fp32")
    assert begun_with_opponent(tmp_path / "f", small_run) == "fp32"
    assert begun_with_opponent(tmp_path / "g", int8_run) == "int8"
    monkeypatch.setattr("fukayomi.loop.run.cpu_features", lambda: ("AVX2",))
    assert [begun(tmp_path / run) for run in ("a", "b", "d")] == ["int8", "fp32", "fp32"]
    assert begun(tmp_path / "a", device="cuda") == "int8"

    assert RunFolder(tmp_path / "a").saved_settings().generator.precision == "int8"
    with pytest.raises(LoopError, match=r"generator\.precision is 'int8' in .*, and 'fp32' now"):
        begun(tmp_path / "a", precision="fp32")
    with pytest.raises(LoopError, match="precision: int8 needs the device cpu or openvino, not cuda"):
        begun(tmp_path / "e", device="cuda", precision="int8")
    with pytest.raises(LoopError, match="precision: int16 needs the device native, not cpu"):
        begun(tmp_path / "e", device="cpu", precision="int16")


@pytest.mark.skipif(not cpu_instructions("int16"), reason="the CPU gains nothing from int16")
def test_a_run_in_int16(tmp_path: Path) -> None:
    """Games, gate and measurements are computed in it, without files of their own."""
    device = {"device": "native", "precision": "int16"}
    settings = learn_run.small(
        generations=1, generator=device, gate={"device": "native"}, strength={"device": "native"}
    )
    for run in ("run", "again"):
        assert learn(settings, tmp_path / run).finished

    names = {name for match in (tmp_path / "run").glob("matches/*") for name in identities(match)}
    assert names
    assert all("-int16-native" in name for name in names), names
    assert [each.sha256 for each in Journal(tmp_path / "run").networks] == [
        each.sha256 for each in Journal(tmp_path / "again").networks
    ]


def test_a_network_that_cannot_be_quantised_is_refused(
    int8_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(int8_run, folder)
    monkeypatch.setattr("fukayomi.nn.quantization._trunk", lambda _: [])

    with (
        learn_run.few_positions(),
        pytest.raises(LoopError, match=r'no convolutions .* to quantise; set precision = "fp32" in \[generator\]'),
    ):
        publish(Run(learn_run.small(**learn_run.INT8), folder), 1, [])


def test_an_opponent_without_an_int8_file_is_named(small_run: Path, int8_run: Path, tmp_path: Path) -> None:
    opponent = LeagueNetwork(name="main", file=RunFolder(small_run).network(0))

    with pytest.raises(EvaluatorError, match=r"there is no network-0000\.int8\.onnx beside it; make it with"):
        play_here(
            GeneratorSettings(device="cpu", precision="int8"), learn_run.small().selfplay,
            RunFolder(int8_run).network(0), tmp_path, seed=1, league=LeagueSettings(networks=(opponent,)), name="local",
            games=2,
        )  # fmt: skip


def test_the_status_says_what_the_games_are_computed_in(int8_run: Path, small_run: Path) -> None:
    assert (read_status(int8_run).precision, read_status(small_run).precision) == ("int8", "fp32")
