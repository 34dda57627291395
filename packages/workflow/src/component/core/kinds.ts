/** What the component knows of a kind of step record. Default of each: no. */
interface Facts {
  /** Its function is a work of the pool; or it is executed in the transaction that arrives. */
  readonly runs?: "in pool" | "within";
  /** Its scheduled function enters it at `dueAt`. */
  readonly isTimed?: true;
  readonly takesEvents?: true;
  readonly startsRuns?: true;
  /** It stays open while the run is at a node inside it. */
  readonly holds?: "a case" | "iterations";
}

/** Every kind of record. A new kind is one entry here. */
const stepKinds = {
  /** A large input of the run: the record of no stage. */
  input: {},
  /** Reached by a scheduled function, and not executed yet. */
  entry: {},
  /** The same: its run waits for another of its key, and has not begun. */
  turn: {},
  /** The same: its run collects starts, and looks then whether it may begin. */
  collect: {},
  action: { runs: "in pool" },
  mutation: { runs: "within" },
  query: { runs: "within" },
  children: { startsRuns: true },
  sleep: { isTimed: true },
  event: { isTimed: true, takesEvents: true },
  branch: { holds: "a case" },
  loop: { holds: "iterations" },
  /** The output with which a run has ended before its last node. */
  end: {},
} as const satisfies Readonly<Record<string, Facts>>;

export type StepKind = keyof typeof stepKinds;
export const stepKindNames = Object.keys(stepKinds) as StepKind[];

interface OfKind {
  readonly kind: StepKind;
}
const factsOf = ({ kind }: OfKind): Facts => stepKinds[kind];

export const isInput = ({ kind }: OfKind): boolean => kind === "input";
export const isEntry = ({ kind }: OfKind): boolean => kind === "entry";
export const isTurn = ({ kind }: OfKind): boolean => kind === "turn";
export const isCollecting = ({ kind }: OfKind): boolean => kind === "collect";
/** The run comes to its stage later. */
export const isUnreached = (step: OfKind): boolean =>
  isEntry(step) || isTurn(step) || isCollecting(step);
export const isAction = (step: OfKind): boolean => factsOf(step).runs === "in pool";
export const runsWithin = (step: OfKind): boolean => factsOf(step).runs === "within";
export const runsFunction = (step: OfKind): boolean => factsOf(step).runs !== undefined;
export const takesEvents = (step: OfKind): boolean => factsOf(step).takesEvents === true;
export const isParent = (step: OfKind): boolean => factsOf(step).startsRuns === true;
export const isHolding = (step: OfKind): boolean => factsOf(step).holds !== undefined;
export const isBranch = (step: OfKind): boolean => factsOf(step).holds === "a case";
export const isLoop = (step: OfKind): boolean => factsOf(step).holds === "iterations";

/** Says whether the pool has an action: it waits for a slot, or runs. */
export const isInPool = (step: OfKind & { readonly state: string }): boolean =>
  isAction(step) && step.state === "running";

export type TimedKind = {
  [Kind in StepKind]: "isTimed" extends keyof (typeof stepKinds)[Kind] ? Kind : never;
}[StepKind];
export const isTimed = (step: OfKind): step is { kind: TimedKind } =>
  factsOf(step).isTimed === true;
export const timedKinds = stepKindNames
  .map((kind) => ({ kind }))
  .filter(isTimed)
  .map(({ kind }) => kind);
