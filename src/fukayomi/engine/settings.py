"""The options of the USI engine, with dlshogi's names and units, and their meaning for the search and the clock."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from fukayomi import __version__
from fukayomi._native import EVAL_SCALE, MAX_MOVES, DeclarationRule, Fpu, SearchParams, centipawns
from fukayomi.book import BookLimits
from fukayomi.engine.control import BATCH_VISITS, SHARES, Margins
from fukayomi.engine.evaluators.backends.backend import BACKENDS, PRECISIONS, Plan
from fukayomi.engine.mate_threads import MateOptions
from fukayomi.shogi import BLACK, Color
from fukayomi.usi.options import Options, Suggestion, check, combo, filename, numbered, spin, string

INTERNAL_NETWORK, EMBEDDED = "<internal>", "embedded"
DEFAULT_NAMES = ("", INTERNAL_NETWORK, EMBEDDED)
"""Names of the embedded network that is taken unasked; the last needs no quotes in a shell."""
ANALYSIS_NODES, SPARSE_ANALYSIS_NODES = 800, 6400
ANALYSIS_TIME_MS = 350
"""Limits of each search in the analysis of a game. Both hold unless the user sets one: the nodes on a fast computer,
the time on a slow one, so that a game of 120 plies takes less than a minute. A sparse network searches its nodes in
less time than the embedded residual one searches 800 (``benchmarks/verdicts.py`` counts both)."""
ANALYSIS_CANDIDATES = 3
"""Candidates that an analysis keeps for each position. The search has them anyway: more cost no time."""
MOST_DEVICES = 8
RULES = {
    "NoEnteringKing": DeclarationRule.NONE,
    "CSARule24": DeclarationRule.POINTS_24,
    "CSARule24H": DeclarationRule.POINTS_24_HANDICAP,
    "CSARule27": DeclarationRule.POINTS_27,
    "CSARule27H": DeclarationRule.POINTS_27_HANDICAP,
    "TryRule": DeclarationRule.TRY,
}
"""The rules of declarations by YaneuraOu's names."""
FPUS = tuple(name.lower() for name in Fpu.__members__)
IGNORED_OPTIONS = (
    # dlshogi's: of other builds of it, or of what works in another way here.
    "Use_Book_Policy", "Save_Book_Interval", "Make_Book_Sleep", "Use_Interruption", "Book_Eval_Threshold",
    "Book_Visit_Threshold", "Book_Cutoff", "Book_Temperature", "Book_Merge_File", "Make_Book_Color", "Multi_Ponder",
    *(f"Multi_Ponder_Engine{n}{end}" for n in range(1, 10) for end in ("", "_Options")),
    "DfPn_Min_Search_Millisecs",
    # YaneuraOu's, of its books.
    "BookOnTheFly", "BookPvMoves", "IgnoreBookPly",
)  # fmt: skip
"""Options that scripts and settings made for dlshogi and YaneuraOu contain, and that mean nothing here."""
NARROW_SHARE = 0.1
"""Least share of a move with NarrowBook, as in YaneuraOu."""


def is_network_name(model: str) -> bool:
    """True if a network's name names no file, but an embedded network, or an evaluator for tests."""
    return model in DEFAULT_NAMES or (model.startswith("<") and model.endswith(">"))


def network_in_folder(model: Any, folder: Path) -> Any:
    """Network that a file of settings in this folder names; a relative path is relative to the folder."""
    from fukayomi.settings import in_folder  # the engine itself needs no pydantic

    return model if isinstance(model, str) and is_network_name(model) else in_folder(model, folder)


@dataclass(frozen=True, slots=True)
class Device:
    """A network and how it is run."""

    option: str
    """The option that names the network: DNN_Model, DNN_Model2, ..."""
    model: str
    """As `UsiSettings.model`."""
    plan: Plan
    weight: float = 1.0
    """Weight in the mean of an ensemble."""


@dataclass(frozen=True)
class UsiSettings:
    """Values of the engine's USI options; each field is one option, or one of each further device. `parameter` is the
    parameter of the search that it sets, divided by `scale`; that, and what is `of_tree`, changes the tree.

    >>> UsiSettings(c_init=200, draw_ply=256).search_params().c_init
    2.0
    """

    # The network.
    model: str = filename("DNN_Model", INTERNAL_NETWORK)
    """File in ONNX or of a sparse network; "<internal>" is the embedded network for this computer, "<5x64>" the one of
    this name, "<hash>" and "<uniform>" are evaluators for tests."""
    provider: str = combo("DNN_Provider", "auto", ("auto", *BACKENDS))
    """Library and device that run the network; "auto": measured when the network is first loaded."""
    precision: str = combo("DNN_Precision", "auto", ("auto", *PRECISIONS))
    """Precision in which it is computed; "auto": measured."""
    batch_size: int = spin("DNN_Batch_Size", 0, 0, 1024)
    """Positions per batch; 0: measured when the network is loaded."""
    slots: int = spin("UCT_Threads", 0, 0, 16)
    """Batches in flight; 0: measured."""
    threads: int = spin("Threads", 0, 0, 512)
    """CPU threads for one batch; 0: measured."""
    gpu: int = spin("DNN_GPU", 0, 0, 63)
    """Number of the GPU that the first device is, from 0; further devices are those after it."""
    review_model: str = filename("Review_Model", "")
    """Residual network whose policy counts in positions with Review_Visits visits where the network is a sparse one;
    empty: none."""
    # Further devices: used if a network or batches in flight are set.
    further_models: tuple[str, ...] = numbered(MOST_DEVICES, filename("DNN_Model", ""))
    """Network of the second to eighth device; empty: that of the first."""
    further_slots: tuple[int, ...] = numbered(MOST_DEVICES, spin("UCT_Threads", 0, 0, 16))
    """Batches in flight of the second to eighth device; 0: measured if it has a network, otherwise it is not used."""
    further_batch_sizes: tuple[int, ...] = numbered(MOST_DEVICES, spin("DNN_Batch_Size", 0, 0, 1024))
    """Positions per batch of the second to eighth device; 0: as the first."""
    ensemble: bool = check("DNN_Ensemble", False)
    """Evaluate each position on all devices and take the weighted mean; otherwise evaluate it on one of them."""
    weight: int = spin("DNN_Weight", 100, 1, 10_000)
    further_weights: tuple[int, ...] = numbered(MOST_DEVICES, spin("DNN_Weight", 100, 1, 10_000))
    """Weight of a device's network in the mean; only ratios count."""
    # The search.
    hash_mb: int = spin("USI_Hash", 1024, 16, 65_536, of_tree=True)
    """Memory of the tree, MiB."""
    cache_mb: int = spin("Eval_Cache", 64, 0, 65_536)
    """Memory of the evaluation cache, MiB; 0: none. It belongs to the network: all searches with it share the cache."""
    node_limit: int = spin("UCT_NodeLimit", 1_000_000_000, 10, 1_000_000_000, of_tree=True)
    """Most visits of the root."""
    reuse_subtree: bool = check("ReuseSubtree", True, of_tree=True)
    """Keep the part of the tree that is still valid when the position changes."""
    leaf_mate_plies: int = spin("Leaf_Mate_Plies", 3, 0, 3, parameter="leaf_mate_plies")
    """Longest mate to look for at each new position, plies; 0: none."""
    leaf_mate_nodes: int = spin("Leaf_Mate_Nodes", 0, 0, 10_000, parameter="leaf_mate_nodes")
    """Positions to search at each new one for a longer mate, with Leaf_Mate_Plies 3; 0: none."""
    root_move_mate_nodes: int = spin("Root_Move_Mate_Nodes", 0, 0, 10_000, parameter="root_move_mate_nodes")
    """Positions to search for the opponent's mate after a move of 16, 64, 256, ... visits, for each visit; 0: none."""
    mate_root_plies: int = spin("Mate_Root_Search", 33, 0, 1023)
    """Longest mate of the root to look for beside the search, plies; 0: none."""
    pv_mate_threads: int = spin("PV_Mate_Search_Threads", 0, 0, 64)
    """Threads that look for mates along the principal variation."""
    pv_mate_plies: int = spin("PV_Mate_Search_Depth", 33, 1, 1023)
    """Longest mate that they look for, plies."""
    pv_mate_nodes: int = spin("PV_Mate_Search_Nodes", 500_000, 1, 1_000_000_000)
    """Most positions that they search for each mate."""
    mate_hash_mb: int = spin("DfPn_Hash", 256, 1, 65_536)
    """Most memory of a mate search, MiB."""
    batch_visits: int = spin("Batch_Visits", BATCH_VISITS, 0, 1_000_000, of_tree=True)
    """A batch takes at most one position for so many visits of the root; 0: as many as it has room for."""
    multipv: int = spin("MultiPV", 1, 1, MAX_MOVES)
    """Lines to report."""
    softmax_temperature: int = spin("Softmax_Temperature", 174, 1, 1000, parameter="softmax_temperature", scale=100)
    """Divisor of the policy's logits, percent."""
    softmax_temperature_root: int = spin(
        "Softmax_Temperature_root", 0, 0, 1000, parameter="softmax_temperature_root", scale=100
    )
    """Divisor of the policy's logits at the root, percent; 0: Softmax_Temperature."""
    softmax_temperature_deep: int = spin(
        "Softmax_Temperature_deep", 0, 0, 1000, parameter="softmax_temperature_deep", scale=100
    )
    """The same far below the root, to which each 4 plies halve the difference, percent; 0: Softmax_Temperature."""
    c_init: int = spin("C_init", 144, 0, 10_000, parameter="c_init", scale=100)
    """Exploration below the root, percent."""
    c_base: int = spin("C_base", 28288, 1, 10_000_000, parameter="c_base")
    """Visits over which exploration grows, below the root."""
    fpu: str = combo("FPU", "parent", FPUS, parameter="fpu")
    """Value of moves without visits, below the root: their position's less a reduction, 0.5, a loss, or a win."""
    c_fpu_reduction: int = spin("C_fpu_reduction", 45, 0, 100, parameter="fpu_reduction", scale=100)
    """Reduction where FPU is "parent", below the root, percent of the square root of the visited moves' priors."""
    c_init_root: int = spin("C_init_root", 116, 0, 10_000, parameter="c_init_root", scale=100)
    """Exploration at the root, percent."""
    c_base_root: int = spin("C_base_root", 25617, 1, 10_000_000, parameter="c_base_root")
    """Visits over which exploration grows, at the root."""
    fpu_root: str = combo("FPU_root", "parent", FPUS, parameter="fpu_root")
    """Value of moves without visits, at the root."""
    c_fpu_reduction_root: int = spin("C_fpu_reduction_root", 0, 0, 100, parameter="fpu_reduction_root", scale=100)
    """Reduction where FPU_root is "parent", at the root, percent."""
    fpu_visit_mass: bool = check("FPU_Visit_Mass", False, parameter="fpu_visit_mass")
    """Count a move's prior in the reduction once for each visit, as dlshogi does, instead of once."""
    c_exponent: int = spin("C_exponent", 50, 0, 100, parameter="c_exponent", scale=100)
    """Exponent of the visits in the exploration, percent; 50: their square root."""
    c_variance: int = spin("C_variance", 0, 0, 100, parameter="c_variance", scale=100)
    """Influence of the spread of a position's values on exploration, percent; 0: none."""
    c_stdev: int = spin("C_stdev", 80, 1, 500, parameter="c_stdev", scale=1000)
    """Expected standard deviation of values, per mille, for C_variance and LCB_Stdevs."""
    value_correction: int = spin("Value_Correction", 0, 0, 200, parameter="value_correction", scale=100)
    """Share of the mean error of like positions by which the value of a new one is corrected, percent; 0: none."""
    policy_history: int = spin("Policy_History", 7, 0, 100, parameter="policy_history")
    """Nats that the prior of a move gains for each win rate of 1 that it gained elsewhere in the tree; 0: none."""
    review_visits: int = spin("Review_Visits", 32, 0, 1_000_000_000, parameter="review_visits")
    """Visits after which a position gets the policy of Review_Model; 0: never."""
    lcb_stdevs: int = spin("LCB_Stdevs", 0, 0, 10_000, parameter="lcb_stdevs", scale=100)
    """Standard errors below a move's value at which it is judged for the choice, percent; 0: by visits."""
    lcb_visits: int = spin("LCB_Visits", 15, 0, 100, parameter="lcb_visits", scale=100)
    """Visits that a move needs to be chosen so, percent of the most visits."""
    # The rules of the game.
    draw_ply: int = spin("Draw_Ply", 0, 0, 100_000, parameter="draw_ply")
    """Moves after which a game is drawn; 0: no limit."""
    draw_value_black: int = spin("Draw_Value_Black", 500, 0, 1000, parameter="draw_value_black", scale=1000)
    """Value of a draw for Black, per mille."""
    draw_value_white: int = spin("Draw_Value_White", 500, 0, 1000, parameter="draw_value_white", scale=1000)
    """Value of a draw for White, per mille."""
    entering_king_rule: str = combo("EnteringKingRule", "CSARule27", tuple(RULES), of_tree=True)
    """Rule of declarations (入玉宣言)."""
    resign_threshold: int = spin("Resign_Threshold", 10, 0, 1000)
    """Win rate below which the engine resigns, per mille; a game that was lost when it took over is played on."""
    # Time.
    const_playout: int = spin("Const_Playout", 0, 0, 1_000_000_000)
    """Nodes per move, whatever the clock shows; 0: off."""
    byoyomi_margin_ms: int = spin("Byoyomi_Margin", -1, -1, 100_000)
    """Unused part of byoyomi and of movetime, for the communication with the GUI; -1: a tenth, at most 100 ms."""
    time_margin_ms: int = spin("Time_Margin", 1000, 0, 100_000)
    """Unused part of a clock without byoyomi."""
    time_shares: int = spin("Time_Shares", SHARES, 1, 100)
    """A move gets the remaining time divided by this number, and less before ply 30; the increment comes on top."""
    time_instability: int = spin("Time_Instability", 0, 0, 100)
    """Change of the time for a move: longer if the best move is contested, shorter if settled, percent; 0: only one
    extension."""
    kld_min_gain: int = spin("KLD_Min_Gain", 0, 0, 1_000_000)
    """With a clock, stop when a visit changes the shares of visits by less than this, billionths of a nat; 0: off."""
    early_stop_nodes: bool = check("Early_Stop_Nodes", False)
    """Stop a search by nodes also when the nodes that are left cannot change the best move."""
    ponder: bool = check("USI_Ponder", False)
    """Allow the engine to think in the opponent's time; `go ponder` is obeyed without it."""
    stochastic_ponder: bool = check("Stochastic_Ponder", False)
    """With USI_Ponder: search the opponent's position in the opponent's time, and name no expected answer."""
    # The opening book.
    own_book: bool = check("USI_OwnBook", False, aliases=("OwnBook",))
    """Play from a book."""
    book_file: str = filename("Book_File", "book.bin", aliases=("BookFile",))
    """YaneuraOu's text book or Apery's book.bin; "no_book": none."""
    book_dir: str = string("BookDir", "")
    """Folder of Book_File, unless that is a full path."""
    best_book_move: bool = check("Best_Book_Move", True)
    """Play the move with the highest count, of several the one with the best score; otherwise choose at random."""
    consider_book_move_count: bool = check("ConsiderBookMoveCount", True)
    """Choose random moves in proportion to their counts; otherwise with equal chances."""
    book_consider_draw: bool = check("Book_Consider_Draw", False)
    """Play the move with the best score, where a move that repeats a position has that of a draw."""
    book_consider_draw_depth: int = spin("Book_Consider_Draw_Depth", 0, 0, 256)
    """Moves of the book that are followed after each move for that; 0: only the move itself is looked at."""
    min_book_score: int = spin("Min_Book_Score", -3000, -30_000, 30_000)
    """Least score of a move, centipawns."""
    book_moves: int = spin("BookMoves", 10_000, 0, 10_000)
    """Last move that is played from the book."""
    book_eval_diff: int = spin("BookEvalDiff", 99_999, 0, 99_999)
    """Largest difference by which a move's score may be below that of the first move, centipawns."""
    book_eval_black_limit: int = spin("BookEvalBlackLimit", -99_999, -99_999, 99_999)
    """Least score of a move of Black, centipawns."""
    book_eval_white_limit: int = spin("BookEvalWhiteLimit", -99_999, -99_999, 99_999)
    """Least score of a move of White, centipawns from White's side."""
    book_depth_limit: int = spin("BookDepthLimit", 0, 0, 99_999)
    """Least depth of the first move of a position."""
    narrow_book: bool = check("NarrowBook", False)
    """Leave out moves with less than a tenth of the counts."""
    book_ignore_rate: int = spin("BookIgnoreRate", 0, 0, 100)
    """Probability of a search although the book has a move, percent."""
    flipped_book: bool = check("FlippedBook", True)
    """Look for the same position with the colours exchanged too."""
    # Moves chosen at random, so that games differ.
    random_ply: int = spin("Random_Ply", 0, 0, 1000)
    """Moves up to this number are chosen at random among the good ones."""
    random_temperature: int = spin("Random_Temperature", 10_000, 0, 100_000)
    """A move is chosen with a probability proportional to visits^(1000 / Random_Temperature)."""
    random_temperature_drop: int = spin("Random_Temperature_Drop", 1000, 0, 100_000)
    """Decrease of the temperature with each move of the same side; it does not fall below 100."""
    random_cutoff: int = spin("Random_Cutoff", 15, 0, 1000)
    """Largest difference by which a chosen move's win rate may be below that of the best move, per mille."""
    random_cutoff_drop: int = spin("Random_Cutoff_Drop", 0, 0, 1000)
    """Decrease of the cutoff with each move of the same side, per mille."""
    random2_ply: int = spin("Random2_Ply", 0, 0, 1000)
    """Moves after Random_Ply, up to this number, are sometimes chosen at random."""
    random2_probability: int = spin("Random2_Probability", 40, 0, 1000)
    """Probability that such a move is chosen at random, per mille."""
    random2_temperature: int = spin("Random2_Temperature", 10_000, 0, 100_000)
    """As Random_Temperature."""
    random2_cutoff: int = spin("Random2_Cutoff", 30, 0, 1000)
    """As Random_Cutoff, per mille."""
    random2_value_limit: int = spin("Random2_Value_Limit", 750, 0, 1000)
    """From this win rate on the best move is played, per mille."""
    random_seed: int = spin("Random_Seed", 0, 0, 2_147_483_647)
    """Seed of all random choices; 0: a different one each time."""
    # Output.
    engine_name: str = string("Engine_Name", f"fukayomi {__version__}")
    """The name that the engine gives itself."""
    pv_interval_ms: int = spin("PV_Interval", 500, 0, 100_000)
    """Time between info lines; 0: only at the end."""
    eval_coef: int = spin("Eval_Coef", round(EVAL_SCALE), 1, 10_000)
    """Scale of centipawns: a win rate p is Eval_Coef * ln(p / (1 - p))."""
    debug: bool = check("DebugMessage", False)
    """Write the time budget and the reason why a search ended."""

    def evaluator_key(self) -> tuple[object, ...]:
        """The options of the network: if they change, it must be loaded again."""
        return self.devices(), self.ensemble, self.cache_mb, self.reviewer()

    def plan(self) -> Plan:
        """Plan for running the network of the first device."""
        return Plan(self.provider, self.precision, self.threads, self.slots, self.batch_size, self.gpu)

    def reviewer(self) -> str:
        """The network that reviews positions of a sparse network's search; "": none."""
        return self.review_model if self.review_visits else ""

    def devices(self) -> tuple["Device", ...]:
        """The devices that are used, the first one always."""
        found = [Device("DNN_Model", self.model, self.plan(), self.weight)]
        further = zip(
            self.further_models, self.further_slots, self.further_batch_sizes, self.further_weights, strict=True
        )
        for number, (model, slots, batch_size, weight) in enumerate(further, 1):
            if model or slots:
                batch_size = batch_size or self.batch_size
                plan = replace(self.plan(), slots=slots, batch_size=batch_size, gpu=self.gpu + number)
                option = f"DNN_Model{number + 1}" if model else "DNN_Model"
                found.append(Device(option, model or self.model, plan, weight))
        return tuple(found)

    def tree_key(self) -> tuple[object, ...]:
        """The options of the tree: if they change, the tree is lost."""
        found = (field for field in fields(self) if not {"parameter", "of_tree"}.isdisjoint(field.metadata))
        return tuple(getattr(self, field.name) for field in found)

    @property
    def ponders_stochastically(self) -> bool:
        """True if the opponent's position is searched after each move."""
        return self.ponder and self.stochastic_ponder

    @property
    def book_choice(self) -> Literal["count", "score", "random", "even"]:
        """Rule for the choice among the moves of the book."""
        if self.book_consider_draw:
            return "score"
        if self.best_book_move:
            return "count"
        return "random" if self.consider_book_move_count else "even"

    def book_limits(self) -> BookLimits:
        """Limits on the moves of the book that may be played."""
        return BookLimits(
            last_ply=self.book_moves,
            least_score_black_cp=max(self.min_book_score, self.book_eval_black_limit),
            least_score_white_cp=max(self.min_book_score, self.book_eval_white_limit),
            most_loss_cp=self.book_eval_diff,
            least_depth=self.book_depth_limit,
            least_share=NARROW_SHARE if self.narrow_book else 0.0,
        )

    def draw_cp(self, color: Color) -> int:
        """Value of a draw for a side, centipawns."""
        value = self.draw_value_black if color == BLACK else self.draw_value_white
        return centipawns(value / 1000, self.eval_coef)

    def mate_options(self) -> MateOptions:
        """The mates to search beside the tree; none under the try rule, where the king may escape to its goal."""
        has_mates = self.declaration_rule() is not DeclarationRule.TRY
        return MateOptions(
            root_plies=self.mate_root_plies if has_mates else 0,
            pv_threads=self.pv_mate_threads if has_mates else 0,
            pv_plies=self.pv_mate_plies,
            pv_nodes=self.pv_mate_nodes,
            memory_mb=self.mate_hash_mb,
        )

    def margins(self, late_ms: float = 0.0) -> Margins:
        """The margins of the clock, after answers that were this late."""
        byoyomi_ms = None if self.byoyomi_margin_ms < 0 else self.byoyomi_margin_ms
        return Margins(byoyomi_ms=byoyomi_ms, clock_ms=self.time_margin_ms, late_ms=late_ms)

    def declaration_rule(self) -> DeclarationRule:
        """The rule of declaration wins (入玉宣言)."""
        return RULES[self.entering_king_rule]

    def search_params(self) -> SearchParams:
        """The parameters of the native search, as fractions instead of percent."""
        params = SearchParams()
        for field in fields(self):
            if (name := field.metadata.get("parameter")) is not None:
                kind = getattr(params, name).__class__
                value, scale = getattr(self, field.name), field.metadata.get("scale", 1)
                setattr(params, name, kind[value.upper()] if isinstance(value, str) else kind(value / scale))
        params.declaration_rule = self.declaration_rule()
        if params.declaration_rule is DeclarationRule.TRY:  # a king in check may win by its answer
            params.leaf_mate_plies = min(1, params.leaf_mate_plies)
            params.leaf_mate_nodes = params.root_move_mate_nodes = 0
        return params


def usi_options() -> Options[UsiSettings]:
    """The options of the engine with their default values."""
    return Options(UsiSettings(), IGNORED_OPTIONS)


def read_suggestions(path: Path) -> tuple[list[Suggestion], list[str]]:
    """Read the options that a file beside a network suggests: lines NAME=VALUE, empty lines, comments after # or ;.

    A relative path of a network is relative to the folder of the file.

    Returns:
        The suggestions, and the problems of the other lines.

    Raises:
        OSError: The file cannot be read.
    """
    suggestions: list[Suggestion] = []
    problems: list[str] = []
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        option, found, value = (part.strip() for part in line.partition("="))
        if not found or not option:
            problems.append(f"{path}:{number}: {line!r} is not NAME=VALUE")
            continue
        if value and option.lower() == "review_model" and not is_network_name(value):
            value = str(path.parent / value)
        suggestions.append(Suggestion(f"{path}:{number}", option, value))
    return suggestions, problems
