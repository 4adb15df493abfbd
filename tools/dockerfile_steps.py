"""Carry out the steps of the Dockerfile without Docker.

    debootstrap --variant=minbase trixie ROOT
    python tools/dockerfile_steps.py ROOT OUT [--target TARGET] [--argument NAME=VALUE]

Every stage is a folder in OUT, a copy of the one that it is FROM; the first is a copy of ROOT. RUN is carried out in
the stage by chroot, with the stage's ARG and ENV and by its USER; COPY takes what .dockerignore leaves of the checkout.
HEALTHCHECK, EXPOSE and ENTRYPOINT are printed. Only what the Dockerfile uses is known, anything else is an error. Needs
root and a Debian like that of the image; proves that the steps work, and nothing of Docker.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CERTIFICATES = "/var/tmp/certificates.pem"
"""Where a stage finds whom this machine trusts."""


@dataclass
class Stage:
    """A stage of the build."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    arguments: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0"

    def run(self, command: list[str]) -> None:
        """Run a command in the stage.

        Raises:
            CalledProcessError: It failed.
        """
        trusted = {"PIP_CERT": CERTIFICATES} if Path(f"{self.root}{CERTIFICATES}").exists() else {}
        variables = {"HOME": "/root", **trusted, **self.arguments, **self.environment}
        words = [f"{name}={value}" for name, value in variables.items()]
        changes = f'cd "$0" && exec setpriv --reuid={self.user} --regid={self.user} --clear-groups "$@"'
        subprocess.run(
            ["chroot", self.root, "env", "-i", *words, "sh", "-c", changes, self.folder, *command], check=True
        )


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile: their names and the rest of the line."""
    joined = re.sub(r"\\\n", "", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    return [
        (name.upper(), rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines()) if name
    ]


def sources() -> list[Path]:
    """What `COPY . .` takes: the tracked and new files that .dockerignore names after `!`."""
    ignored = (CHECKOUT / ".dockerignore").read_text("utf-8").splitlines()
    wanted = [line[1:] for line in ignored if line.startswith("!")]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *wanted]
    listed = subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in listed.splitlines()]


def copied(stage: Stage, words: list[str], stages: dict[str, Stage]) -> None:
    """COPY: a folder of another stage, or the checkout."""
    if words[0].startswith("--from="):
        other = stages[words[0].removeprefix("--from=")]
        shutil.copytree(f"{other.root}{words[1]}", f"{stage.root}{words[2]}", symlinks=True)
        return
    if words != [".", "."]:
        raise SystemExit(f"COPY {' '.join(words)}: only COPY . . and COPY --from are known")
    for name in sources():
        target = Path(f"{stage.root}{stage.folder}") / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, target)


def build(first: Path, out: Path, target: str | None, given: dict[str, str]) -> Stage:
    """Carry out the Dockerfile up to a target; the last stage without one."""
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    for name, rest in instructions((CHECKOUT / "Dockerfile").read_text("utf-8")):
        words = rest.split()
        if name == "FROM":
            if stages and target == next(reversed(stages)):
                break
            origin, title = words[0], words[2]
            parent = stages.get(origin, Stage(first))
            root = out / title
            subprocess.run(["cp", "-a", "--reflink=auto", parent.root, root], check=True)
            stage = stages[title] = Stage(root, dict(parent.environment), {}, parent.folder, parent.user)
            if origin not in stages:
                prepare(root)
            print(f"== {title}", flush=True)
            continue
        if stage is None:
            raise SystemExit(f"{name} before FROM")
        print(f"{name} {rest}", flush=True)
        if name == "RUN":
            stage.run(["sh", "-c", rest])
        elif name == "COPY":
            copied(stage, words, stages)
        elif name == "ARG":
            key, _, value = rest.partition("=")
            stage.arguments[key] = given.get(key, value)
        elif name == "ENV":
            for word in shlex.split(rest):
                key, _, value = word.partition("=")
                stage.environment[key] = value.replace("$PATH", stage.environment["PATH"])
        elif name == "WORKDIR":
            stage.folder = rest
            Path(f"{stage.root}{rest}").mkdir(parents=True, exist_ok=True)
        elif name == "USER":
            stage.user = rest
        elif name in ("HEALTHCHECK", "ENTRYPOINT"):
            json.loads(rest[rest.index("[") :])
        elif name != "EXPOSE":
            raise SystemExit(f"the instruction {name} is not known")
    if stage is None:
        raise SystemExit("the Dockerfile has no stage")
    return stage


def prepare(root: Path) -> None:
    """What a stage gets from this machine: how names are found, and whom pip trusts."""
    shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
    if "PIP_CERT" in os.environ:
        shutil.copy(os.environ["PIP_CERT"], f"{root}{CERTIFICATES}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--target")
    parser.add_argument("--argument", action="append", default=[], metavar="NAME=VALUE")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    given = dict(argument.split("=", 1) for argument in asked.argument)
    print(build(asked.root.resolve(), asked.out.resolve(), asked.target, given).root)


if __name__ == "__main__":
    main()
