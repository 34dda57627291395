/** How a node is drawn: it runs, starts other runs, waits, decides, repeats, or ends the run. */
export type Shape = "run" | "fanOut" | "wait" | "decision" | "loop" | "end";

/** What the compiler knows of a kind of stage, besides how it is read and written. */
interface StageKind {
  /**
   * `queued`: as an action. `within`: in the transaction that arrives, as a function of its own;
   * `decided`: by a function of the definition. `waiting`: it waits until something comes back by
   * the stage's name; `woken`: that is an execution of its own.
   */
  readonly goes: "queued" | "within" | "waiting" | "woken" | "decided";
  /** What it takes at worst. `runs`: as long as those that it starts. */
  readonly takes: "attempts" | "transaction" | "duration" | "timeout" | "run" | "runs" | "nothing";
  readonly shape: Shape;
  readonly makesNothing?: true;
  /** The run ends there. */
  readonly endsRun?: true;
  /**
   * The nodes inside it: one of its `cases` runs, its `iteration` again and again; a run of its own
   * runs each of its `branches` or `rivals`, of which one counts, or its `item` for each item.
   */
  readonly bodies?: "cases" | "iteration" | "branches" | "rivals" | "item";
  /** Which of the options that not every node has are for it. */
  readonly options: readonly ("retry" | "timeout" | "isolate" | "limits" | "waitAtMost")[];
  /** Says what it waits for, if that is something else than to be tried again. */
  readonly waits?: (time: string | undefined, events: string) => string;
}

const ofChildren: Pick<StageKind, "goes" | "takes" | "shape" | "options" | "waits"> = {
  goes: "woken",
  takes: "runs",
  shape: "fanOut",
  options: ["timeout"],
  waits: () => "waiting for its children",
};

/** Every kind of stage. A new kind is one entry here. */
const stageKinds = {
  action: {
    goes: "queued",
    takes: "attempts",
    shape: "run",
    options: ["retry", "timeout", "limits", "waitAtMost"],
  },
  mutation: { goes: "within", takes: "transaction", shape: "run", options: ["isolate"] },
  query: { goes: "within", takes: "transaction", shape: "run", options: ["isolate"] },
  // They are started by the transaction that arrives. When the last one has ended, the run goes on.
  children: ofChildren,
  parallel: { ...ofChildren, bodies: "branches" },
  race: { ...ofChildren, bodies: "rivals", waits: () => "waiting for one of its cases" },
  each: { ...ofChildren, bodies: "item" },
  sleep: {
    goes: "woken",
    takes: "duration",
    shape: "wait",
    makesNothing: true,
    options: [],
    waits: (time) => (time === undefined ? "sleeping" : `sleeping for ${time}`),
  },
  // It goes on in the transaction of whoever sends the event.
  event: {
    goes: "waiting",
    takes: "timeout",
    shape: "wait",
    options: ["timeout"],
    waits: (time, events) => `waiting for the event ${events}${time ? `, at most ${time}` : ""}`,
  },
  branch: { goes: "decided", takes: "nothing", shape: "decision", bodies: "cases", options: [] },
  loop: {
    goes: "decided",
    takes: "nothing",
    shape: "loop",
    bodies: "iteration",
    options: ["timeout"],
  },
  child: { goes: "woken", takes: "run", shape: "fanOut", options: [] },
  end: {
    goes: "decided",
    takes: "nothing",
    shape: "end",
    makesNothing: true,
    endsRun: true,
    options: [],
  },
} as const satisfies Readonly<Record<string, StageKind>>;

export type StageKindName = keyof typeof stageKinds;

export const stageKindNames = Object.keys(stageKinds) as [StageKindName, ...StageKindName[]];

export const stageKind = (name: StageKindName): StageKind => stageKinds[name];

/** Returns the kind of a step record, unless it is one that no stage has. */
export const recordKind = (name: string): StageKind | undefined => {
  const kinds: Readonly<Partial<Record<string, StageKind>>> = stageKinds;
  return kinds[name];
};

/** Says whether nodes are inside it that the same run goes through. */
export const hasBodies = ({ bodies }: StageKind): boolean =>
  bodies === "cases" || bodies === "iteration";

interface Staged {
  readonly stages: readonly { readonly kind: StageKindName }[];
}

/** Says whether a node has a stage of such a kind. */
export const hasStage =
  (isSuch: (kind: StageKind) => boolean) =>
  ({ stages }: Staged): boolean =>
    stages.some(({ kind }) => isSuch(stageKind(kind)));

/** Says whether its bodies are cases, one of which runs. */
export const hasCases = hasStage(({ bodies }) => bodies === "cases");
/** Returns what a stage is called: that of a `match` runs as a branch does. */
export const calledAs = (kind: StageKindName, node: { readonly kind: string }): string =>
  stageKind(kind).bodies === "cases" ? node.kind : kind;
/** Says whether its bodies are cases or branches, which have names. */
export const hasKeys = hasStage(({ bodies = "item" }) => !["iteration", "item"].includes(bodies));
export const hasBranches = hasStage(({ bodies }) => bodies === "branches");
export const hasRivals = hasStage(({ bodies }) => bodies === "rivals");
export const isEach = hasStage(({ bodies }) => bodies === "item");
export const isLoop = hasStage(({ bodies }) => bodies === "iteration");
/** Says whether its bodies are run by runs of their own. */
export const isApart = hasStage(({ bodies = "cases" }) => !["cases", "iteration"].includes(bodies));
export const startsRuns = hasStage(({ shape }) => shape === "fanOut");
/** Says whether what it starts are runs of workflows, its own or others. */
export const startsWorkflows = hasStage(
  ({ takes, bodies }) => ["run", "runs"].includes(takes) && bodies === undefined,
);
export const startsOne = hasStage(({ takes }) => takes === "run");
export const takesEvents = hasStage(({ goes }) => goes === "waiting");
/** Says whether a run ends there, so that nothing follows it. */
export const endsRun = hasStage((kind) => kind.endsRun === true);
/** Says whether no node can read what it makes. */
export const makesNothing = hasStage((kind) => kind.makesNothing === true);
