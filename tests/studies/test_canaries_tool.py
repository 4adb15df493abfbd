"""studies/canaries.py with a few trials of games of random moves."""

import json
import sys
from pathlib import Path

import canaries
import pytest
from selfplay_chunks import deliver, new_store, random_games


def test_the_table_has_every_kind_and_the_false_alarms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    new_store(tmp_path)
    for worker in ("new", "old"):
        deliver(tmp_path, random_games(64 if worker == "new" else 16, len(worker)), worker=worker)
    chunk, old = (str(tmp_path / "games" / f"{worker}-000001.hcpe3") for worker in ("new", "old"))
    out = tmp_path / "out"
    words = ["canaries.py", chunk, "--old", old, "--out", str(out), "--workers", "4", "--games", "16", "--trials", "3"]
    monkeypatch.setattr(sys, "argv", words)
    canaries.main()
    found = json.loads((out / "canaries.json").read_text())
    kinds = [*canaries.CANARIES, canaries.OLD]
    assert [(row["kind"], row["share"]) for row in found["rows"]] == [(kind, s) for kind in kinds for s in (1.0, 0.25)]
    rows = {(row["kind"], row["share"]): row for row in found["rows"]}
    assert all(row["trials"] == 3 and row["found"] <= 3 for row in found["rows"])
    assert [rows["flipped results", share]["rejected"] for share in (1.0, 0.25)] == [3, 3]
    assert [rows[kind, 1.0]["rejected"] for kind in ("random moves", "few visits", canaries.OLD)] == [0, 0, 0]
    assert found["honest"]["16"]["workers"] == 12
    assert (out / "canaries.md").read_text() == capsys.readouterr().out
    assert (out / "roc.svg").read_bytes().startswith(b"<?xml")


def test_damaged_chunks_and_too_few_games_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_store(tmp_path)
    deliver(tmp_path, random_games(8))
    chunk = tmp_path / "games" / "w1-000001.hcpe3"
    monkeypatch.setattr(sys, "argv", ["canaries.py", str(chunk)])
    with pytest.raises(SystemExit, match="8 workers with 64 games need more than 8 games"):
        canaries.main()
    chunk.write_bytes(b"")
    with pytest.raises(SystemExit, match=r"w1-000001\.hcpe3: 0 bytes, but its sidecar says"):
        canaries.main()
