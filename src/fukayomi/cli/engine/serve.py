"""``fukayomi serve``: the analysis service, JSON lines on standard input and output."""

from dataclasses import dataclass
from typing import Annotated

import typer

from fukayomi.cli.common.errors import exit_at_sigterm
from fukayomi.cli.common.options import Model
from fukayomi.cli.common.streams import open_streams


@dataclass(frozen=True)
class ServeOptions:
    """Options for the network and the memory of searches."""

    model: Model = None
    memory_mb: Annotated[
        int | None, typer.Option("--memory", metavar="MiB", min=2, max=65_536, show_default="1024")
    ] = None
    """Memory of all trees together."""
    at_once: Annotated[
        int | None, typer.Option(min=1, max=4096, show_default="as many as fill the network's batches")
    ] = None
    """Most positions that are searched at once."""
    evaluator: Annotated[str, typer.Option(hidden=True)] = ""
    """Search without a network, for tests: hash or uniform."""


def serve(options: ServeOptions) -> None:
    """Search positions for another program: it writes queries, a JSON object a line, and reads answers.

    \b
    fukayomi serve
    {"id": "a", "moves": ["7g7f", "3c3d"], "turns": [0, 1, 2], "visits": 400}
    {"id": "a", "action": "terminate"}

    Many positions are searched at once, in common batches. When the input ends, what was asked is answered, and the
    program ends.
    """
    from fukayomi.cli.engine.analysis_run import open_network
    from fukayomi.engine.service.service import AnalysisService
    from fukayomi.engine.service.session import ServiceSession

    exit_at_sigterm()
    stdin, stdout = open_streams()
    lines = open(stdin.fileno(), "rb", closefd=False)  # noqa: SIM115 - another thread may wait for it at the end
    with (
        open_network(options.model, options.evaluator) as network,
        AnalysisService(network, memory_mb=options.memory_mb, at_once=options.at_once) as service,
    ):
        ServiceSession(service, lines, stdout).run()
