"""The files of the page, from memory: they are half a megabyte, and a page asks for dozens of them at once.

What is not among the files that were there at the start does not exist, so no path leads anywhere else.
"""

import hashlib
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

TYPES = {".js": "text/javascript", ".LICENSE": "text/plain", ".ts": "text/plain"}
"""Types that depend on the computer's registry, or that it does not know."""


@dataclass(frozen=True)
class _File:
    content: bytes
    type: str
    tag: str


class StaticFiles:
    """Answers requests for files below some folders.

    Args:
        folders: The folders, which are read once.
        more: Further files by name, such as those of other packages.
        joined: Files by name that are several of the folders', one after the other.
    """

    def __init__(self, folders: Sequence[Path], more: Mapping[str, Path], joined: Mapping[str, Sequence[str]]) -> None:
        found = {
            path.relative_to(folder).as_posix(): path
            for folder in folders
            for path in folder.rglob("*")
            if path.is_file()
        }
        contents = {name: path.read_bytes() for name, path in (found | dict(more)).items()}
        contents |= {name: b"\n".join(contents[part] for part in parts) for name, parts in joined.items()}
        self._files = {name: _file(name, content) for name, content in contents.items()}

    async def answer(self, request: Request) -> Response:
        """The file that ``path`` names, or that the browser's copy is still right."""
        file = self._files.get(request.path_params["path"])
        if file is None:
            raise HTTPException(404)
        headers = {"etag": file.tag}
        given = request.headers.get("if-none-match", "")
        if file.tag in (tag.strip().removeprefix("W/") for tag in given.split(",")):
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.type, headers=headers)


def _file(name: str, content: bytes) -> _File:
    kind = TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return _File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
