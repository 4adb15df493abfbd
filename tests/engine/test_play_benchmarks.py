"""Benchmarks of searches, networks and mates keep their contract: one JSON object with the figures, on any machine."""

import json
import re
from pathlib import Path

import pytest
import sparse_files
from benchmark_figures import figures_of

from fukayomi.engine.network import embedded_network

MATE = "7k1/9/7P1/9/9/9/9/9/K8 b G 1"  # G*2b
ONE_KING = "8k/9/8P/9/9/9/9/9/9 b G 1"  # G*1b


def test_searches_at_once_beside_searches_in_turn() -> None:
    found = figures_of("batches.py", "--model", "<hash>", "--positions", "3", "--visits", "20", "--repeats", "1")
    assert set(found["per_s"]) == {"alone", "at_once", "in_turn", "small"}
    assert all(rate > 0 for rate in (*found["per_s"].values(), *found["per_cpu_s"].values()))
    assert found["positions"] == 3


def test_a_tiny_network_is_measured_as_large_ones_on_a_gpu() -> None:
    pytest.importorskip("torch")
    arguments = ("--shapes", "5x8_lk_tf", "2x8", "--device", "torch", "--seconds", "0.05", "--repeats", "1")
    found = figures_of("gpu_play.py", *arguments, "--minutes", "0.0001")
    assert (found["device"], found["left_out"]) == ("torch", ["2x8"])
    (network,) = found["networks"]
    assert (network["network"], network["seeds"]) == ("5x8_lk_tf", None)
    for name in ("ceiling_per_s", "search_per_s", "at_once_per_s"):
        assert network[name] > 0
    for counted in ("evaluations", "playouts"):
        assert network[counted]["minimum"] <= network[counted]["median"] <= network[counted]["maximum"]


@pytest.mark.soak  # each backend and precision is loaded, and measures its settings
def test_each_backend_of_a_cpu_with_and_without_a_search() -> None:
    found = figures_of("cpu_play.py", "--network", "<internal>", "--seconds", "0.2", "--repeats", "1")
    assert found["network"] == embedded_network().stem
    assert 1 <= found["cpus"] <= 2
    assert {"cpu fp32", "native fp32"} <= set(found["backends"])
    for figure in found["backends"].values():
        assert figure["evaluations_per_s"] > 0
        assert figure["alone_per_s"] > 0
        assert 1 <= figure["positions_per_batch"] <= 1024
        for ratio in ("share_of_backend", "share_of_backend_cpu", "ratio_to_ort_fp32", "ratio_to_ort_fp32_cpu"):
            assert figure[ratio] >= 0
        for plan in ("plan", "plan_alone"):
            assert re.fullmatch(r"[12] threads, [12] in flight, batch \d+", figure[plan])


def test_networks_on_one_core(tmp_path: Path) -> None:
    sparse = sparse_files.write(tmp_path, sparse_files.SMALL).path
    found = figures_of("cpu_networks.py", "--sparse", sparse, "--seconds", "0.001", "--repeats", "1")
    assert found["network"] == embedded_network().name
    assert {"cpu fp32", "native fp32"} <= set(found["backends"])
    for name, figure in found["backends"].items():
        assert set(figure["positions_per_cpu_s"]) == set(figure["ratio"]) == {"1", "2", "4", "8", "16", "32"}
        assert min(figure["positions_per_cpu_s"].values()) > 0
        assert figure["same_move"] >= (1.0 if name.endswith("fp32") else 0.8)
        assert figure["value_error"] < (1e-4 if name.endswith("fp32") else 0.1)


def test_searches_with_and_without_the_cache_of_evaluations() -> None:
    found = figures_of("eval_cache.py", "--nodes", "60", "--game-nodes", "20", "--plies", "4")
    assert set(found) == {"start", "middle game", "many drops", "game, two trees", "game, one tree"}
    for figure in found.values():
        assert set(figure) == {"nodes_per_cpu_s", "without_cache", "share_from_cache", "ratio"}
        assert min(figure["nodes_per_cpu_s"], figure["without_cache"], figure["ratio"]) > 0
        assert 0 <= figure["share_from_cache"] < 1
    assert found["game, two trees"]["share_from_cache"] > 0, "the second side searches what the first one did"


def test_mate_searches_near_the_end_of_a_game() -> None:
    found = figures_of("search_mates.py", "--positions", "1", "--ms", "20", "--nodes", "30")
    assert found["positions"] == 1
    assert set(found["announced"]) == {"mate in one", "mate in three", "root", "pv"}
    assert all(mates >= 0 and mated >= 0 and mates + mated <= 1 for mates, mated in found["announced"].values())
    assert set(found["walked_into"]) == {"0", "64", "256", "1024"}
    assert all(walk["positions"] in (0, 1) and walk["nodes"] >= 0 for walk in found["walked_into"].values())
    assert len(found["leaves"]) == 5
    assert all(0 <= leaf["proven"] < 1 and leaf["us_per_node"] > 0 for leaf in found["leaves"].values())
    assert set(found["df_pn"]) == {"mean_nodes", "mean_ms", "open"}
    assert 0 <= found["df_pn"]["mean_nodes"] <= 262_144
    assert 0 <= found["df_pn"]["open"] <= 1


def test_mate_problems_beside_another_solver(tmp_path: Path) -> None:
    pytest.importorskip("cshogi")
    (tmp_path / "mate").mkdir()
    for plies in (3, 5, 7):
        (tmp_path / "mate" / f"mate-{plies}-ply.txt").write_text(f"{MATE}\n{MATE}\n{MATE}\n")
    (tmp_path / "tsume").mkdir()
    (tmp_path / "tsume" / "tsume.jsonl").write_text(json.dumps({"sfen": ONE_KING, "plies": 1}) + "\n")
    found = figures_of("mate.py", "--data", str(tmp_path), "--nodes", "1000", "--tsume-nodes", "1000", "--most", "2")
    assert found.pop("ratio") == found["mate-7"]["ratio"]
    assert {name: group["problems"] for name, group in found.items()} == {
        "mate-3": 2,
        "mate-5": 2,
        "mate-7": 2,
        "tsume-1": 1,
    }
    for group in found.values():
        assert (group["ours_solved"], group["cshogi_solved"]) == (1.0, 1.0)
        assert min(group["ours_per_s"], group["cshogi_per_s"], group["ratio"]) > 0
