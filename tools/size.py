"""How large the code is: lines without docstrings, comments and blank ones.

    python tools/size.py [COMMIT]

A row for each package of fukayomi, and for the native core and the page; with a commit, beside its sizes there.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARKS = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip


def python_lines(source: str) -> int:
    """Lines of Python that do something. Texts that stand alone are docstrings."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in MARKS:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - texts)


def c_lines(source: str) -> int:
    """Lines of C++ or JavaScript that are neither blank nor a comment alone."""
    source = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    return sum(1 for line in source.splitlines() if line.strip() and not line.strip().startswith("//"))


def files(commit: str | None) -> Iterator[tuple[Path, str]]:
    """The tracked files, of the working tree or of a commit, with their texts."""
    listed = ["ls-files"] if commit is None else ["ls-tree", "-r", "--name-only", commit]
    for name in _git(*listed, "src", "native").splitlines():
        path = Path(name)
        if path.suffix in {".py", ".cpp", ".hpp", ".js"} and (commit is not None or (ROOT / path).exists()):
            yield path, (ROOT / path).read_text("utf-8") if commit is None else _git("show", f"{commit}:{name}")


def _git(*arguments: str) -> str:
    return subprocess.run(("git", *arguments), cwd=ROOT, check=True, capture_output=True, text=True).stdout


def sizes(commit: str | None = None) -> Counter[str]:
    """Lines of code by package."""
    found: Counter[str] = Counter()
    for path, text in files(commit):
        if path.suffix == ".py":
            found["(root)" if len(path.parts) == 3 else path.parts[2]] += python_lines(text)
        elif path.suffix == ".js":
            found["JavaScript"] += c_lines(text)
        else:
            found["C++ tests" if path.parts[1] == "tests" else "C++"] += c_lines(text)
    return found


def main() -> None:
    """Print the table."""
    commit = sys.argv[1] if len(sys.argv) > 1 else None
    now, before = sizes(), sizes(commit) if commit else Counter[str]()
    others = ("C++", "C++ tests", "JavaScript")
    packages = sorted((now.keys() | before.keys()) - set(others))
    totals = {"Python": packages, "all": [*packages, *others]}
    for name in (*packages, "Python", *others, "all"):
        parts = totals.get(name, [name])
        lines, earlier = sum(now[part] for part in parts), sum(before[part] for part in parts)
        print(f"{name:<12}{lines:>8}" + (f"{earlier:>8}{lines - earlier:>+8}" if commit else ""))


if __name__ == "__main__":
    main()
