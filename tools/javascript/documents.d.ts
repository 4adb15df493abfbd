// What the server and its page say to each other. Written by tools/generate/page_types.py.

export interface ServerState {
  version: string;
  network: NetworkState;
  files: ServedFile[];
  book: string | null;
  handicaps: Handicap[];
}

export interface NetworkState {
  state: "loading" | "ready" | "failed";
  name: string;
  identity: string;
  text: string;
}

export interface ServedFile {
  id: number;
  name: string;
  kind: "record" | "analysis" | "runs" | "matches";
}

export interface Handicap {
  name: string;
  english: string;
  sfen: string;
}

export interface Facts {
  sfen: string;
  turn: "b" | "w";
  ply: number;
  check: boolean;
  legal: string[];
  last: string | null;
  japanese: string | null;
  english: string | null;
  repetition: "draw" | "win" | "lose" | null;
  occurrences: number;
  declaration: boolean;
  end: "mate" | "repetition" | "perpetual_check" | null;
  winner: "b" | "w" | null;
  board: string[];
  hands: Record<"b" | "w", Record<string, number>>;
}

export interface GameRecord {
  name: string;
  names: [string, string];
  header: Record<string, string>;
  start: string;
  comment: string;
  end: "none" | "resign" | "declaration" | "repetition" | "perpetual_check" | "impasse" | "draw" | "max_plies" | "mate" | "no_mate" | "time_up" | "illegal_move" | "crash" | "stall" | "protocol" | "adjudication" | "interrupted" | "taken_back" | "error" | "other" | null;
  end_word: string;
  end_comment: string;
  end_time_ms: number | null;
  illegal: IllegalEnd | null;
  winner: "b" | "w" | "draw" | null;
  main: number[];
  nodes: RecordNode[];
}

export interface IllegalEnd {
  move: string;
  japanese: string;
  by: "b" | "w";
  time_ms: number | null;
}

export interface RecordNode {
  id: number;
  parent: number | null;
  ply?: number;
  usi: string | null;
  japanese: string;
  english: string;
  sfen?: string;
  comment: string;
  bookmark?: string;
  time_ms: number | null;
  cp?: number | null;
  mate?: number | null;
}

export interface OpenedGames {
  games: GameRecord[];
  problems: string[];
  left_out: number;
  analysis?: AnalysisDocument;
}

export interface AnalysisDocument {
  black: string;
  white: string;
  event: string;
  date: string;
  result: string;
  engine: string;
  limits: string;
  total_moves: number;
  is_complete: boolean;
  sides: Record<"black" | "white", SideFigures>;
  mistakes: number[];
  moves: JudgedMove[];
  positions: AnalysedPosition[];
  record: AnalysedRecord;
}

export interface SideFigures {
  moves: number;
  average_loss: number;
  agreement: number;
  mistakes: Record<string, number>;
}

export interface JudgedMove {
  win_rate: number;
  cp: number;
  mate: number | null;
  ply: number;
  color: "black" | "white";
  move: string;
  japanese: string;
  best: string | null;
  best_japanese: string | null;
  loss: number;
  loss_cp: number;
  mistake: "inaccuracy" | "dubious" | "mistake" | "blunder" | null;
  certain: boolean;
  missed_mate: boolean;
  allowed_mate: boolean;
  recorded_cp: number | null;
}

export interface AnalysedPosition {
  win_rate: number;
  cp: number;
  mate: number | null;
  ply: number;
  sfen: string;
  nodes: number;
  limits: Record<string, number | null> | null;
  lines: AnalysedLine[];
  played: AnalysedLine | null;
  certain: boolean;
}

export interface AnalysedLine {
  win_rate: number;
  cp: number;
  mate: number | null;
  visits: number;
  pv: string[];
  japanese: string[];
}

export interface AnalysedRecord {
  moves: AnalysedMove[];
}

export interface AnalysedMove {
  move: string;
}

export interface Score {
  win_rate: number;
  cp: number;
  mate: number | null;
}

export interface JobMessage {
  type: "job";
  id: number;
  state: "waiting" | "running" | "done" | "stopped" | "failed";
  done: number;
  total: number;
  text: string;
}

export interface JobDocument {
  type: "job";
  id: number;
  state: "waiting" | "running" | "done" | "stopped" | "failed";
  done: number;
  total: number;
  text: string;
  result: AnalysisDocument | null;
}

export interface ReportMessage {
  type: "report";
  id: number;
  nodes: number;
  nps: number;
  time_ms: number;
  hashfull: number;
  visits: number;
  depth: number;
  decided?: boolean;
  stored?: boolean;
  lines: LiveLine[];
}

export interface LiveLine {
  move: string;
  visits: number;
  prior: number;
  win_rate: number | null;
  cp: number | null;
  mate: number | null;
  depth: number;
  pv: string[];
  japanese: string[];
  english: string[];
}

export interface EndMessage {
  type: "end";
  id: number;
  reason: "limit" | "stopped" | "taken" | "error";
  text: string;
}

export interface StateMessage {
  type: "state";
  state: ServerState;
}

export interface PlayMessage {
  type: "play";
  id: string;
  version: number;
  color: "black" | "white";
  phase: "reader" | "engine" | "over";
  turn: "black" | "white";
  start: string;
  first: number;
  moves: PlayedMove[];
  can_declare: boolean;
  can_take_back: boolean;
  end: "none" | "resign" | "declaration" | "repetition" | "perpetual_check" | "impasse" | "draw" | "max_plies" | "mate" | "no_mate" | "time_up" | "illegal_move" | "crash" | "stall" | "protocol" | "adjudication" | "interrupted" | "taken_back" | "error" | "other" | null;
  winner: "black" | "white" | "draw" | null;
  names: [string, string];
  clocks: Record<"black" | "white", ClockState | null>;
  elapsed_ms: number;
  error: string;
}

export interface PlayedMove {
  usi: string;
  japanese: string;
  english: string;
  time_ms: number | null;
  cp: number | null;
  mate: number | null;
}

export interface ClockState {
  main_ms: number;
  byoyomi_ms: number;
  increment_ms: number;
}

export interface PlayHint {
  ply: number;
  usi: string;
  pv: string[];
  japanese: string[];
  english: string[];
  win_rate: number;
  cp: number;
  nodes: number;
}

export interface Measured {
  time_ms: number;
  cores: number;
  opponent: string;
  opponent_ms: number;
  won: number;
  lost: number;
  drawn: number;
  score: number;
}

export interface MateAnswer {
  reason: "mate" | "no_mate" | "nodes" | "time" | "stopped";
  nodes: number;
  moves: string[];
  japanese: string[];
  english: string[];
}

export interface BookAnswer {
  moves: PageBookMove[];
  problem: string | null;
}

export interface PageBookMove {
  usi: string;
  japanese: string;
  english: string;
  cp: number | null;
  depth: number | null;
  count: number;
  reply: string | null;
  reply_japanese: string | null;
  reply_english: string | null;
}

export interface BookAdded {
  number: number;
  count: number;
  is_new: boolean;
}

export interface WorthAnswer {
  positions: WorthPosition[];
  differences: WorthDifference[];
  svg: string;
}

export interface WorthPosition {
  sfen: string;
  ply: number;
  network: string;
  win_rate: number;
  cp: number;
  pieces: WorthPiece[];
  together: WorthTogether[];
}

export interface WorthPiece {
  place: string;
  color: "black" | "white";
  piece: string;
  count: number;
  japanese: string;
  worth_cp: number | null;
  worth_win_rate: number | null;
  relative_cp: number | null;
  change_cp: number | null;
}

export interface WorthTogether {
  pieces: string[];
  japanese: string[];
  color: "black" | "white";
  worth_cp: number | null;
  worth_win_rate: number | null;
  sum_cp: number | null;
  extra_cp: number | null;
}

export interface WorthDifference {
  piece: string;
  place: string;
  first_cp: number | null;
  second_cp: number | null;
  difference_cp: number | null;
}

export interface RunList {
  version: string;
  runs: ListedRun[];
}

export interface ListedRun {
  id: string;
  kind: "training" | "learning" | "selfplay" | "match" | "league";
  name: string;
  parent: string | null;
}

export interface DamagedDocument {
  version: string;
  id: string;
  kind: "training" | "learning" | "selfplay" | "match" | "league";
  name: string;
  error: string;
}

export interface TrainingDocument {
  version: string;
  id: string;
  kind: "training";
  name: string;
  last_step: number;
  steps: number | null;
  batch: number | null;
  smooth: number;
  seconds: CurvePoints;
  curves: Record<string, MeasuredCurve>;
  settings: Record<string, string>;
}

export interface CurvePoints {
  step: number[];
  value: number[];
}

export interface MeasuredCurve {
  train?: CurveLine;
  test?: CurveLine;
}

export interface CurveLine {
  step: number[];
  value: number[];
  smooth?: CurvePoints;
}

export interface LearningDocument {
  version: string;
  id: string;
  kind: "learning";
  name: string;
  is_running: boolean;
  generation: number;
  generations: number;
  now: Now | null;
  network: string | null;
  games: number;
  positions: number;
  quarantined: number;
  games_an_hour: number | null;
  samples_a_second: number | null;
  ratings: PlayerRating[];
  history: GenerationRow[];
  league: LeagueRow[];
  flags: WorkerFlag[];
  series: GenerationSeries;
  kept: number[];
  anchors: PlayerRating[];
  settings: Record<string, string>;
}

export interface Now {
  generation: number;
  step: string;
  seconds: number;
  stage: string | null;
  done: number | null;
  total: number | null;
}

export interface PlayerRating {
  name: string;
  rating: number;
  error: number | null;
  points: number;
  played: number;
  cfs: number | null;
  wins: number;
  draws: number;
  losses: number;
  bound: string;
  pool: number;
  low: number | null;
  high: number | null;
  bayes: number | null;
}

export interface GenerationRow {
  generation: number;
  games: number | null;
  positions: number | null;
  plies_a_game: number | null;
  draws: number | null;
  reanalyzed: number | null;
  moved: number | null;
  steps: number | null;
  policy_loss: number | null;
  policy_accuracy: number | null;
  value_accuracy: number | null;
  gate: string | null;
  gate_score: number | null;
  gate_games: number | null;
  gate_llr: number | null;
  rating: number | null;
  error: number | null;
  bound: string;
  seconds: number;
}

export interface LeagueRow {
  generation: number;
  opponent: string;
  wins: number;
  draws: number;
  losses: number;
  win_rate: number | null;
  low: number;
  high: number;
}

export interface WorkerFlag {
  generation: number;
  text: string;
}

export interface GenerationSeries {
  fresh: Record<string, ([number, number])[]>;
  test: Record<string, ([number, number])[]>;
  plies: ([number, number])[];
  endings: Record<string, ([number, number])[]>;
  window: Record<string, ([number, number])[]>;
  wrong: ([number, number])[];
}

export interface SelfplayDocument {
  games: number;
  positions: number;
  plies_a_game: number | null;
  black_wins: number;
  white_wins: number;
  draws: number;
  endings: Record<string, number>;
  wrong_resignations: [number, number];
  version: string;
  id: string;
  kind: "selfplay";
  name: string;
  chunks: number;
  damaged: number;
  opponents: SelfplayOpponent[];
  workers: Record<string, number>;
  networks: Record<string, number>;
  points: SelfplayPoint[];
}

export interface SelfplayOpponent {
  name: string;
  wins: number;
  draws: number;
  losses: number;
  win_rate: number | null;
  low: number;
  high: number;
}

export interface SelfplayPoint {
  games: number;
  positions: number;
  plies_a_game: number | null;
  black_wins: number;
  white_wins: number;
  draws: number;
  endings: Record<string, number>;
  wrong_resignations: [number, number];
  time: number;
  games_before: number;
}

export interface EloRange {
  elo: number | null;
  elo_error: number | null;
  elo_low: number | null;
  elo_high: number | null;
  score_low: number | null;
  score_high: number | null;
}

export interface MatchDocument {
  version: string;
  id: string;
  kind: "match" | "league";
  name: string;
  playing: boolean;
  games: number;
  scheduled: number;
  players: MatchPlayer[];
  pairs: MatchPair[];
  first_mover?: MatchScore;
  terminations?: Record<string, number>;
  failures?: MatchFailure[];
  warnings?: string[];
  sprt?: MatchTest | null;
  ratings?: MatchRatings | null;
  strategies?: MatchStrategies | null;
  settings?: Record<string, string>;
  damaged?: number;
  matches?: number;
  members?: MatchMember[];
}

export interface MatchPlayer {
  games: number;
  wins: number;
  losses: number;
  draws: number;
  score: number | null;
  elo: number | null;
  elo_error: number | null;
  elo_low: number | null;
  elo_high: number | null;
  score_low: number | null;
  score_high: number | null;
  name: string;
  as_black: MatchScore;
  as_white: MatchScore;
  failures: number;
  forfeits: Record<string, number>;
  rests_on_forfeits: boolean;
  without_forfeits: WithoutForfeits;
  time: Times | null;
  overhead: Times | null;
}

export interface MatchScore {
  games: number;
  wins: number;
  losses: number;
  draws: number;
  score: number | null;
}

export interface WithoutForfeits {
  elo: number | null;
  elo_error: number | null;
  elo_low: number | null;
  elo_high: number | null;
  score_low: number | null;
  score_high: number | null;
  games: number;
}

export interface Times {
  count: number;
  mean_ms: number;
  median_ms: number;
  greatest_ms: number;
}

export interface MatchPair {
  games: number;
  wins: number;
  losses: number;
  draws: number;
  score: number | null;
  elo: number | null;
  elo_error: number | null;
  elo_low: number | null;
  elo_high: number | null;
  score_low: number | null;
  score_high: number | null;
  first: string;
  second: string;
  pentanomial: number[];
  nelo: number | null;
  nelo_error: number | null;
  los: number | null;
  without_forfeits: WithoutForfeits;
}

export interface MatchFailure {
  game: number;
  engine: string;
  kind: string;
}

export interface MatchTest {
  first: string;
  second: string;
  pairs: number[];
  elo0: number;
  elo1: number;
  alpha: number;
  beta: number;
  model: "logistic" | "normalized";
  llr: number;
  lower: number;
  upper: number;
  decision: "continue" | "H0" | "H1";
  elo: SequentialElo | null;
}

export interface SequentialElo {
  elo: number;
  low: number;
  high: number;
  los: number;
}

export interface MatchRatings {
  players: PlayerRating[];
  first_mover_advantage: number;
  draw_rate: number;
  notes: string[];
}

export interface MatchStrategies {
  games: number;
  combinations: number;
  rows: StrategyRow[];
}

export interface StrategyRow {
  name: string;
  english: string;
  games: number;
  share: number;
  black_rate: number | null;
  black_low: number | null;
  black_high: number | null;
  white_rate: number | null;
  draw_rate: number | null;
}

export interface MatchMember {
  id: string;
  name: string;
}

export interface GamePage {
  games: ListedGame[];
  more: boolean;
}

export interface ListedGame {
  number: number;
  black: string;
  white: string;
  result: number;
  termination: string;
  date: string | number;
  plies: number;
}

export interface AddQuestion {
  sfen?: string;
  moves?: string[];
  usi: string;
}

export interface Analyse {
  id: number;
  sfen?: string;
  moves?: string[];
  multipv?: number;
  limit?: Limit | null;
}

export interface Limit {
  nodes?: number | null;
  time_ms?: number | null;
}

export interface JobQuestion {
  kind: "analyse-game";
  record: RecordTree;
  limits?: JobLimits;
  known?: number | null;
}

export interface RecordTree {
  name?: string;
  names?: [string, string];
  header?: Record<string, string>;
  start?: string;
  comment?: string;
  end?: "none" | "resign" | "declaration" | "repetition" | "perpetual_check" | "impasse" | "draw" | "max_plies" | "mate" | "no_mate" | "time_up" | "illegal_move" | "crash" | "stall" | "protocol" | "adjudication" | "interrupted" | "taken_back" | "error" | "other" | null;
  end_word?: string;
  end_comment?: string;
  end_time_ms?: number | null;
  illegal?: IllegalMove | null;
  winner?: "b" | "w" | "draw" | null;
  main?: number[];
  nodes?: Node[];
}

export interface IllegalMove {
  move?: string;
  time_ms?: number | null;
}

export interface Node {
  id: number;
  parent?: number | null;
  usi?: string | null;
  comment?: string;
  bookmark?: string;
  time_ms?: number | null;
  cp?: number | null;
  mate?: number | null;
}

export interface JobLimits {
  nodes?: number | null;
  time_ms?: number | null;
  multipv?: number | null;
}

export interface MoveQuestion {
  usi: string;
  ply: number;
}

export interface PlayQuestion {
  color?: "black" | "white";
  sfen?: string;
  moves?: string[];
  nodes?: number | null;
  time_ms?: number | null;
  temperature?: number;
  main_ms?: number;
  byoyomi_ms?: number;
  increment_ms?: number;
  declaration?: "27" | "24" | "27H" | "24H" | "try" | "none";
  name?: string;
}

export interface PositionQuestion {
  sfen?: string;
  moves?: string[];
}

export interface SaveQuestion {
  record: RecordTree;
  format: "kif" | "csa" | "jkf" | "usi";
  encoding?: "utf-8" | "shift_jis";
  analysis?: Record<string, unknown> | null;
}

export interface Stop {
  id: number;
  type: "stop";
}

export interface TakeBackQuestion {
  number: number;
}

export interface TriedQuestion {
  sfen?: string;
  moves?: string[];
  tried: string;
}

export interface WorthQuestion {
  sfen?: string;
  moves?: string[];
  together?: string[];
  view?: "worth" | "relative" | "change";
  flip?: boolean;
  beside?: Place | null;
}

export interface Place {
  sfen?: string;
  moves?: string[];
}
