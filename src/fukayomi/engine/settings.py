"""The options of the engine, with dlshogi's names and units, and what they mean for the search and the clock."""

from dataclasses import dataclass

from fukayomi._native import EVAL_SCALE, MAX_MOVES, DeclarationRule, SearchParams
from fukayomi.engine.clock import Margins
from fukayomi.usi.options import check, combo, filename, spin

INTERNAL_NETWORK = "<internal>"
ANALYSIS_NODES = 800
ANALYSIS_TIME_MS = 350
"""Limits of each search in the analysis of a game. Both hold unless the user sets one: the nodes on a fast computer,
the time on a slow one, so that a game of 120 plies takes less than a minute."""
RULES = ("NoEnteringKing", "CSARule24", "CSARule27")


@dataclass(frozen=True)
class Settings:
    """Values of the options; a comment gives the unit where it is not plain."""

    # What evaluates. "<internal>" is the embedded network; "<hash>" and "<uniform>" stand for networks in tests.
    model: str = filename("DNN_Model", INTERNAL_NETWORK)
    provider: str = combo("DNN_Provider", "auto", ("auto", "cpu", "cuda", "tensorrt"))
    batch_size: int = spin("DNN_Batch_Size", 0, 0, 1024)  # 0: measured, as for the next two
    slots: int = spin("UCT_Threads", 0, 0, 16)  # batches in flight
    threads: int = spin("Threads", 0, 0, 512)  # CPU threads that evaluate a batch
    # The tree.
    hash_mb: int = spin("USI_Hash", 1024, 16, 65_536)
    node_limit: int = spin("UCT_NodeLimit", 10_000_000, 10, 1_000_000_000)
    reuse_subtree: bool = check("ReuseSubtree", True)
    multipv: int = spin("MultiPV", 1, 1, MAX_MOVES)
    softmax_temperature: int = spin("Softmax_Temperature", 174, 1, 1000)  # per cent
    c_init: int = spin("C_init", 144, 0, 10_000)  # per cent
    c_base: int = spin("C_base", 28288, 1, 10_000_000)
    c_fpu_reduction: int = spin("C_fpu_reduction", 27, 0, 100)  # per cent
    c_init_root: int = spin("C_init_root", 116, 0, 10_000)  # per cent
    c_base_root: int = spin("C_base_root", 25617, 1, 10_000_000)
    c_fpu_reduction_root: int = spin("C_fpu_reduction_root", 0, 0, 100)  # per cent
    # The game.
    draw_ply: int = spin("Draw_Ply", 0, 0, 100_000)  # moves after which a game is drawn; 0: never
    draw_value_black: int = spin("Draw_Value_Black", 500, 0, 1000)  # per mille
    draw_value_white: int = spin("Draw_Value_White", 500, 0, 1000)  # per mille
    entering_king_rule: str = combo("EnteringKingRule", "CSARule27", RULES)
    resign_threshold: int = spin("Resign_Threshold", 10, 0, 1000)  # per mille
    # Time. The margins are what the way to the GUI and back may take.
    const_playout: int = spin("Const_Playout", 0, 0, 1_000_000_000)  # nodes a move, whatever the clock says; 0: off
    byoyomi_margin_ms: int = spin("Byoyomi_Margin", 100, 0, 100_000)
    time_margin_ms: int = spin("Time_Margin", 1000, 0, 100_000)
    ponder: bool = check("USI_Ponder", False)
    stochastic_ponder: bool = check("Stochastic_Ponder", False)
    # What is said.
    pv_interval_ms: int = spin("PV_Interval", 500, 0, 100_000)  # 0: only at the end
    eval_coef: int = spin("Eval_Coef", round(EVAL_SCALE), 1, 10_000)
    debug: bool = check("DebugMessage", False)

    def evaluator_key(self) -> tuple[object, ...]:
        """What the loaded evaluator depends on: if it changes, load again."""
        return self.model, self.provider, self.batch_size, self.slots, self.threads

    def tree_key(self) -> tuple[object, ...]:
        """What the tree depends on: if it changes, the tree is lost."""
        names = ("hash_mb", "node_limit", "reuse_subtree", "softmax_temperature", "c_init", "c_base", "c_fpu_reduction")
        names += ("c_init_root", "c_base_root", "c_fpu_reduction_root")
        names += ("draw_ply", "draw_value_black", "draw_value_white", "entering_king_rule")
        return tuple(getattr(self, name) for name in names)

    def margins(self) -> Margins:
        """The margins of the clock."""
        return Margins(byoyomi_ms=self.byoyomi_margin_ms, clock_ms=self.time_margin_ms)

    def declaration_rule(self) -> DeclarationRule:
        """The rule of declaration (入玉宣言) in the core's terms."""
        rules = (DeclarationRule.NONE, DeclarationRule.POINTS_24, DeclarationRule.POINTS_27)
        return rules[RULES.index(self.entering_king_rule)]

    def search_params(self) -> SearchParams:
        """The parameters of the search in the core's terms: fractions, not per cent."""
        params = SearchParams()
        params.softmax_temperature = self.softmax_temperature / 100
        params.c_init = self.c_init / 100
        params.c_base = float(self.c_base)
        params.fpu_reduction = self.c_fpu_reduction / 100
        params.c_init_root = self.c_init_root / 100
        params.c_base_root = float(self.c_base_root)
        params.fpu_reduction_root = self.c_fpu_reduction_root / 100
        params.draw_value_black = self.draw_value_black / 1000
        params.draw_value_white = self.draw_value_white / 1000
        params.draw_ply = self.draw_ply
        params.declaration_rule = self.declaration_rule()
        return params


def read_suggestions(text: str, name: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Read the file that suggests options for a model: NAME=VALUE lines; empty lines and # ; comments are skipped.

    Args:
        text: the content.
        name: the file, for messages.

    Returns:
        The pairs, and what is wrong with the lines that are none.
    """
    pairs: list[tuple[str, str]] = []
    complaints: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        option, found, value = line.partition("=")
        if found and option.strip():
            pairs.append((option.strip(), value.strip()))
        else:
            complaints.append(f"{name}:{number}: {line!r} is not of the form NAME=VALUE")
    return pairs, complaints
