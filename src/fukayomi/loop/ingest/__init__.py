"""Chunks of games on their way into a run: checked, entered in a manifest or put into quarantine, workers compared.

A store is a folder with `games/`, into which workers write chunks, and a manifest, which names what may be learnt from:

    >>> import tempfile
    >>> from pathlib import Path
    >>> store = Path(tempfile.mkdtemp())
    >>> from fukayomi.loop.ingest import Manifest, ingest
    >>> (store / "games").mkdir()
    >>> manifest = Manifest(store)
    >>> manifest.add_network("0" * 64, generation=0)
    >>> result = ingest(store)
    >>> len(result.accepted), len(result.quarantined), manifest.chunks()
    (0, 0, [])
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.loop.ingest.deliveries import IngestResult, IngestSettings, ingest
    from fukayomi.loop.ingest.manifest import ChunkEntry, Manifest, ManifestError, QuarantinedEntry
    from fukayomi.loop.ingest.tripwires import Comparison, Tripwires, check_workers
    from fukayomi.loop.ingest.validation import Fault, RejectedError, ValidChunk, validate_chunk

__all__ = [
    "ChunkEntry",
    "Comparison",
    "Fault",
    "IngestResult",
    "IngestSettings",
    "Manifest",
    "ManifestError",
    "QuarantinedEntry",
    "RejectedError",
    "Tripwires",
    "ValidChunk",
    "check_workers",
    "ingest",
    "validate_chunk",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".deliveries": ("IngestResult", "IngestSettings", "ingest"),
        ".manifest": ("ChunkEntry", "Manifest", "ManifestError", "QuarantinedEntry"),
        ".tripwires": ("Comparison", "Tripwires", "check_workers"),
        ".validation": ("Fault", "RejectedError", "ValidChunk", "validate_chunk"),
    },
)
