"""The example for Kubernetes and the Dockerfile: valid by the schemas of others and our own, and naming what exists."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fukayomi.loop.settings import build_settings, read_settings

ROOT = Path(__file__).resolve().parents[2]
FLEET = ROOT / "examples" / "kubernetes" / "fleet.yaml"
KUBERNETES = "1.30"


def _documents() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return list(yaml.safe_load_all(FLEET.read_text("utf-8")))


def _of_kind(kind: str) -> dict[str, Any]:
    return next(document for document in _documents() if document["kind"] == kind)


def test_kubernetes_takes_the_objects_and_the_pods_of_the_fleet() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    cluster = _of_kind("RayCluster")["spec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": group["template"]["spec"]}
        for group in groups
    ]
    others = [document for document in _documents() if document["kind"] != "RayCluster"]
    assert (len(pods), len(others)) == (2, 3)
    for document in (*pods, *others):
        validate.validate(document, KUBERNETES, strict=True)
    wrong = {**pods[0], "spec": {**pods[0]["spec"], "container": []}}
    with pytest.raises(validate.ValidationError):
        validate.validate(wrong, KUBERNETES, strict=True)


def test_the_run_of_the_fleet_has_valid_settings(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(_of_kind("ConfigMap")["data"]["run.toml"])
    settings = build_settings(read_settings(path))
    assert settings.fleet is not None
    assert settings.fleet.ray == f"ray://{_of_kind('RayCluster')['metadata']['name']}-head-svc:10001"
    worker = _of_kind("RayCluster")["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    assert settings.fleet.cpus == int(worker["resources"]["requests"]["cpu"])


def test_the_volumes_that_containers_mount_exist() -> None:
    cluster, job = _of_kind("RayCluster")["spec"], _of_kind("Job")["spec"]
    templates = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"], job]
    for spec in (template["template"]["spec"] for template in templates):
        mounted = {mount["name"] for container in spec["containers"] for mount in container.get("volumeMounts", ())}
        assert mounted == {volume["name"] for volume in spec.get("volumes", ())}
    claims = {volume.get("persistentVolumeClaim", {}).get("claimName") for volume in job["template"]["spec"]["volumes"]}
    assert _of_kind("PersistentVolumeClaim")["metadata"]["name"] in claims


def test_the_cluster_has_the_version_of_ray_that_is_installed_by_the_image() -> None:
    pinned = re.search(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    assert pinned is not None
    assert _of_kind("RayCluster")["spec"]["rayVersion"] == pinned[1]


def test_the_dockerfile_copies_files_that_exist_and_runs_no_server_as_root() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    assert kept
    assert all((ROOT / name).exists() for name in kept)
    stages = re.split(r"^FROM .* AS (\w+)$", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    assert stages[1::2] == ["base", "build", "worker", "web"]
    worker, web = stages[6], stages[8]
    assert "\nUSER 1000\n" in worker
    assert "USER" not in web
    for stage in (worker, web):
        for command in re.findall(r"^(?:HEALTHCHECK .*CMD|ENTRYPOINT) (\[.*\])$", stage, re.MULTILINE):
            assert all(isinstance(word, str) for word in json.loads(command))
