"""The USI engine as on a processor with fewer vector instructions: its networks compute with those that are named.

    .venv/bin/python studies/other_processor.py AVX2

`native` alone has these instructions, so give it `DNN_Provider=native`. A match of two such engines on a processor with
AVX-512 shows who is stronger where there is AVX2 alone; all else of the processor, its clock too, stays.
"""

import argparse

from fukayomi._native import cpu_instructions, sparse_instructions
from fukayomi.cli.engine.usi import main as play
from fukayomi.engine.evaluators.backends.native_model import NativeModel, ResidualModel, SparseModel

MODELS: tuple[type[NativeModel], ...] = (ResidualModel, SparseModel)


def take(instructions: str) -> None:
    """Have models that are made from now on compute with these instructions."""
    for model in MODELS:
        defaults = model.__init__.__kwdefaults__
        assert defaults is not None
        defaults["instructions"] = instructions


def main() -> None:
    """Play as `fukayomi-usi` does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [name for name in cpu_instructions("int16") if name in sparse_instructions()]
    parser.add_argument("instructions", choices=names, help="vector instructions that this processor has")
    take(parser.parse_args().instructions)
    play()


if __name__ == "__main__":
    main()
