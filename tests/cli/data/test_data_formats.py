"""``fukayomi data convert`` and ``fukayomi data check`` as commands."""

import bz2
import gzip
import json
import lzma
import zipfile
from functools import partial
from pathlib import Path

import command_runs
import pytest
from places import RECORDS

from fukayomi.data import check

run = partial(command_runs.run, "data")


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.hcpe3"
    code, out, _ = run("convert", *sorted(RECORDS.glob("*.csa")), "-o", path)
    assert code == 0
    assert "wrote" in out
    return path


def test_records_become_everything_else(games: Path, tmp_path: Path) -> None:
    for name in ("a.hcpe", "a.psv", "a.hcp", "a.sfen", "a.csa", "a.usi"):
        code, _, _ = run("convert", games, "-o", tmp_path / name)
        assert code == 0, name
        assert (tmp_path / name).stat().st_size > 0
    code, out, _ = run("convert", tmp_path / "a.psv", "-o", tmp_path / "b.hcpe", "--json")
    found = json.loads(out)
    assert (code, found["written"], found["dropped"]) == (0, found["positions"], {})
    assert (tmp_path / "a.hcpe").read_bytes() == (tmp_path / "b.hcpe").read_bytes()


def test_the_encoding_is_said(tmp_path: Path) -> None:
    game = RECORDS / "resign.csa"
    code, out, _ = run("convert", game, "-o", tmp_path / "a.kif")
    assert (code, out.endswith("wrote 1 record to " + str(tmp_path / "a.kif") + " in UTF-8\n")) == (0, True)
    code, out, _ = run("convert", game, "-o", tmp_path / "kif", "--to", "kif", "--encoding", "shift_jis")
    assert (code, out.endswith(" in Shift_JIS\n")) == (0, True)
    assert [file.name for file in (tmp_path / "kif").iterdir()] == ["resign.kif"]
    code, out, _ = run("convert", game, "-o", tmp_path / "b.ki2u", "--json")
    assert (code, json.loads(out)["encoding"]) == (0, "utf-8")
    code, _, error = run("convert", game, "-o", tmp_path / "b.kifu", "--encoding", "shift_jis")
    assert (code, ".kifu is always UTF-8" in error) == (1, True)
    code, out, _ = run("convert", game, "-o", tmp_path / "a.hcpe3", "--json")
    assert (code, "encoding" in json.loads(out)) == (0, False)


def test_replaced_characters_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.csa").write_text("N+☖\nPI\n+\n+7776FU\n%TORYO\n")
    command = ("convert", tmp_path / "a.csa", "-o", tmp_path / "a.kif", "--encoding", "shift_jis")
    code, _, error = run(*command)
    assert code == 0
    assert f"replaced in {tmp_path / 'a.csa'}: 1 character that Shift_JIS lacks: '☖' (WHITE SHOGI PIECE)\n" in error
    found = json.loads(run(*command, "--json")[1])
    assert (found["replaced"], len(found["replacements"])) == (1, 1)


def test_a_check_says_how_many_findings_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "MOST_FINDINGS", 30)
    (tmp_path / "bad.usi").write_text("startpos moves 7g7g\n" * 50)
    code, _, error = run("check", tmp_path / "bad.usi")
    assert (code, error.splitlines()[-1]) == (1, "error: 30 more; --json lists the first 30")
    found = json.loads(run("check", tmp_path / "bad.usi", "--json")[1])
    assert (found["errors"], len(found["findings"]), found["not_listed"]) == (50, 30, 20)


def test_what_cannot_be_converted_is_said(games: Path, tmp_path: Path) -> None:
    assert run("convert", games, "-o", tmp_path / "a.xyz")[0] == 1
    code, _, error = run("convert", tmp_path / "missing", "-o", tmp_path / "a.hcpe")
    assert (code, "no such file" in error) == (1, True)
    code, _, error = run("convert", games, "-o", tmp_path / "nowhere" / "a.hcpe")
    assert code == 1
    assert "no such folder to write to" in error
    assert ".tmp" not in error
    code, _, error = run("convert", games, "-o", tmp_path / "a", "--to", "nothing")
    assert code == 2
    (tmp_path / "a.usi").write_text("startpos moves 7g7f\n")
    code, out, error = run("convert", tmp_path / "a.usi", "-o", tmp_path / "a.hcpe3")
    assert (code, "nothing is left to write" in error, "skipped, ending: 1" in out) == (1, True, True)
    assert run("convert", tmp_path / "a.usi", "-o", tmp_path / "a.hcpe3", "--unfinished-as-draws")[0] == 0


def test_positions_are_made_of_games_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "openings.sfen").write_text("startpos moves 7g7f 3c3d\nstartpos moves 2g2f 8c8d 2f2e\n")
    for name in ("openings.hcp", "positions.sfen"):
        code, out, _ = run("convert", tmp_path / "openings.sfen", "-o", tmp_path / name)
        assert (code, out) == (0, f"read 2 games; wrote 5 records to {tmp_path / name}\n")


def test_damage_that_ends_a_conversion_names_the_remedy(games: Path, tmp_path: Path) -> None:
    psv = tmp_path / "rows.psv"
    assert run("convert", games, "-o", psv)[0] == 0
    for source in (games, psv):
        damaged = tmp_path / f"damaged{source.suffix}"
        damaged.write_bytes(source.read_bytes() + b"\0" * 40)
        code, _, error = run("convert", damaged, "-o", tmp_path / "out.hcpe")
        assert (code, "data check FILE --good NEW" in error) == (1, True)


def test_a_check_says_what_is_wrong_and_where(games: Path, tmp_path: Path) -> None:
    code, out, _ = run("check", games)
    assert (code, "0 errors" in out) == (0, True)
    good = tmp_path / "good.hcpe3"
    damaged = tmp_path / "damaged.hcpe3"
    damaged.write_bytes(games.read_bytes() + b"\0" * 40)
    code, out, error = run("check", damaged, "--good", good)
    assert code == 1
    assert f"(offset {games.stat().st_size})" in error
    assert good.read_bytes() == games.read_bytes()
    code, out, _ = run("check", damaged, "--json")
    found = json.loads(out)
    assert (code, found["errors"], found["findings"][0]["offset"]) == (1, 1, games.stat().st_size)
    assert run("check", damaged, "--good", damaged)[0] == 2
    assert run("check", tmp_path / "missing")[0] == 1


def test_records_are_checked_as_they_are(tmp_path: Path) -> None:
    code, out, error = run("check", RECORDS, "--good", tmp_path / "good.hcpe3")
    assert (code, "4 good, 0 errors, 1 remark," in out, "README.md" in error) == (0, True, True)
    (tmp_path / "a.csa").write_text("PI\n+\n+7776FU\n-3335FU\n%TORYO\n")
    code, out, error = run("check", tmp_path / "a.csa")
    assert (code, "a.csa, record 0, move 1, line 4: illegal move" in error) == (1, True)
    code, out, _ = run("check", tmp_path / "a.csa", "--json")
    (finding,) = json.loads(out)["findings"]
    assert (code, finding["ply"], finding["line"], finding["offset"]) == (1, 1, 4, None)
    assert run("check", tmp_path / "missing.csa")[0] == 1


def test_a_file_of_another_kind_is_not_overwritten(games: Path) -> None:
    before = games.read_bytes()
    code, _, error = run("convert", games, "-o", games)
    assert (code, "is also an input" in error) == (2, True)
    assert games.read_bytes() == before


DAMAGED = "V2.2\nPI\n+\n+7776FX\n%TORYO\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("stats",), ("stats", "--json"), ("print",), ("print", "--json"), ("check",), ("check", "--json"),
        ("convert", "-o", "out.hcpe3"), ("csa-to-hcpe", "-o", "out.hcpe"), ("merge", "-o", "out.csa"),
        ("shuffle", "-o", "out.csa"), ("sample", "-n", "1", "-o", "out.csa"), ("split", "-o", "out.csa", "-o", "b.csa"),
        ("filter", "--min-plies", "1", "-o", "out.csa"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_nothing_but_damaged_records_is_an_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "a.csa").write_text(DAMAGED)
    outs = [str(tmp_path / each) if each.endswith((".csa", ".hcpe", ".hcpe3")) else each for each in arguments[1:]]
    code, out, error = run(arguments[0], tmp_path / "a.csa", *outs)
    assert code == 1
    assert "not a move: '+7776FX'" in (out if arguments == ("check", "--json") else error)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csa"]
    assert "wrote" not in out


def test_some_damaged_records_are_named_and_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.csa").write_text(f"{DAMAGED}/\nV2.2\nPI\n+\n+7776FU\n%TORYO\n")
    for verb in ("stats", "print"):
        code, out, error = run(verb, tmp_path / "a.csa")
        assert (code, "skipped" in error) == (0, True)
        assert "1" in out


@pytest.mark.parametrize(("name", "level"), [("a.csa", "error"), ("a.kif", "error"), ("a.txt", "remark")])
def test_garbage_is_judged_by_its_name_however_it_is_packed(tmp_path: Path, name: str, level: str) -> None:
    garbage = bytes(range(256)) * 4
    (tmp_path / name).write_bytes(garbage)
    for suffix, compress in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        (tmp_path / f"{name}{suffix}").write_bytes(compress(garbage))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr(name, garbage)
    code, out, _ = run("check", tmp_path, "--json")
    assert [finding["level"] for finding in json.loads(out)["findings"]] == [level] * 5
    assert code == (level == "error")
