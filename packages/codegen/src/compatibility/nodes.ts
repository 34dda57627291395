import { quote } from "../diagnostics/diagnostic.js";
import { inPath, MAX_ITERATIONS } from "../plan/constants.js";
import type { Change, LinePair, NodeThen, Placed } from "./lines.js";
import { longestCommon } from "./lines.js";
import { otherOutputs } from "./outputs.js";
import { inThem, readersAfter, workWithout } from "./readers.js";
import { find, missingIn, partOf, renamesOf, sameCode } from "./renames.js";
import { takenChanges } from "./schemas.js";
import {
  endsRun,
  hasBranches,
  hasRivals,
  isApart,
  isLoop,
  makesNothing,
  stageKind,
  startsRuns,
  takesEvents,
} from "../plan/stage-kinds.js";

type Rule = (line: LinePair) => Omit<Change, "workflow">[];

/** @param events the names of all that the workflow takes now */
export function compareLine(
  line: LinePair,
  workflow: string,
  events: ReadonlySet<string>,
): Change[] {
  const taken: Rule = (each) => takenChanges(each, events);
  const named = [goneNodes, renamedNodes, changedNodes, movedNodes, addedNodes, otherBranches];
  const rules: readonly Rule[] = [...named, otherOutputs, taken];
  return rules.flatMap((rule) => rule(line)).map((change) => ({ workflow, ...change }));
}

const safe = (node: string, message: string) => ({ node, compatibility: "safe", message }) as const;

/** A removed node stops the runs that are at it, unless it has another name now. */
function goneNodes(line: LinePair): ReturnType<Rule> {
  const { ends = "", before, now } = line;
  const renames = renamesOf(line);
  const same = sameCode(renames);
  return missingIn(now, before).map((gone) => {
    const { path: node } = gone;
    const renamed = renames.get(gone);
    if (renamed !== undefined) {
      const name = quote(renamed.node.name);
      const message = `the node seems to be renamed to ${name}: runs that are at it stop${ends}, and ${name} has no result in runs that are past it`;
      const readers = same.has(gone) ? (readersPast(renamed, line) ?? []) : [];
      const told = readers.length === 0 ? message : `${message}: ${inThem(readers)}`;
      return { node, compatibility: "rename", message: told, hint: sayRenamed(gone, renamed) };
    }
    if (!isOftenAt(gone, line)) {
      const message =
        "the node is removed: runs go on without it, but for one that is just at it or paused there, which stops";
      return safe(node, message);
    }
    const which = gone.node.bodies === undefined ? "at it" : "at it or inside it";
    const message = `the node is removed: runs that are ${which} stop${ends}; those before or after it go on`;
    const hint = waitsForEver(gone)
      ? "nothing wakes runs that wait for it: call `workflow.repair(ctx, workflows)` after the deploy, and they end"
      : "keep the node until no run is at it any more, or restart those runs";
    return { node, compatibility: "stops", message, hint };
  });
}

const waitsForEver = ({ node }: Placed): boolean =>
  takesEvents(node) && !("timeout" in node.options);

const key = (path: string): string => (path.includes(".") ? quote(path) : path);

const sayRenamed = (old: Placed, now: Placed): string =>
  `say so in the options of the workflow: \`renamed: { ${key(old.path)}: ${quote(now.path)} }\``;

/** Says whether a node has the code that another one had: they seem to have changed names. */
function isOther(other: Placed, old: Placed, placed: Placed, now: readonly Placed[]): boolean {
  const { kind, hash } = placed.node;
  const isLike = other.node.kind === kind && !makesNothing(other.node) && other.node.hash === hash;
  return isLike && old.node.hash !== hash && find(now, other.stored)?.node.hash !== hash;
}

function renamedNodes({ before, now }: LinePair): ReturnType<Rule> {
  return before.flatMap(({ node, stored, path }) => {
    const placed = find(now, stored);
    if (placed === undefined || placed.node.name === node.name) return [];
    const message = `renamed to ${quote(placed.path)}: runs that are at it go on there, and those that are past it keep its result`;
    return safe(path, message);
  });
}

/** A node under the same name goes on with its new code if what a run waits for is still there. */
function changedNodes({ ends = "", before, now }: LinePair): ReturnType<Rule> {
  return before.flatMap((old): ReturnType<Rule> => {
    const placed = find(now, old.stored);
    if (placed === undefined || own(old) === own(placed)) return [];
    const { path: node } = placed;
    const stopping = [lostStages, tooManyIterations, toleratesNone].flatMap((stopped) =>
      stopped(old, placed),
    );
    const keep = "give the changed node a new name, and keep the old one until no run is at it";
    if (stopping.length > 0)
      return stopping.map((message) => {
        return { node, compatibility: "stops", message: `${message}${ends}`, hint: keep };
      });
    const other = before.find((each) => isOther(each, old, placed, now));
    if (other !== undefined) {
      const message = `the node seems to be what ${quote(other.path)} was: runs that have done ${quote(old.path)} hand the result of that to the readers of ${quote(node)}`;
      return [{ node, compatibility: "rename", message, hint: sayRenamed(other, placed) }];
    }
    const message =
      newHandler(old, placed) ??
      `changed: runs in flight go on, and run the new code when they get there${endsAsItWould(old, placed)}${stopsJustAt(old, placed)}${mayStop(old, placed)}${keepsTime(old, placed)}${keepsRule(old, placed)}${undoesFromNow(old, placed)}`;
    const reuses = old.node.hash === placed.node.hash ? {} : { reuses: true as const };
    return [{ ...safe(node, message), ...reuses }];
  });
}

/** A wait keeps its time, and a timeout that is new holds for those that begin. */
function keepsTime({ node: old }: Placed, { node }: Placed): string {
  const takesTime = ({ kind }: Stage) => ["duration", "timeout"].includes(stageKind(kind).takes);
  const isOther = old.options["timeout"] !== node.options["timeout"] && !node.stages.some(isAction);
  if (!isOther && !(node.stages.some(takesTime) && old.hash !== node.hash)) return "";
  // One that is computed is not seen.
  const isSeen = [old, node].some(({ options }) => "timeout" in options) || !takesEvents(node);
  return `; a wait that has begun keeps its ${isSeen ? "time" : "timeout, if it has one"}`;
}

/** A race is decided as it began; what it gives is told by the code that is there then. */
function keepsRule({ node: { options: was } }: Placed, { node }: Placed): string {
  const isSame = (name: string) => was[name] === node.options[name];
  if (!hasRivals(node) || ["first", "compensateLosers"].every(isSame)) return "";
  const fails = isSame("first") || was["first"] === undefined;
  const then = fails ? "" : ", and stops its run if a case that failed has won";
  return `; a race that has begun keeps its rule${then}`;
}

/** Each attempt notes as it begins if it can be undone. */
function undoesFromNow(old: Placed, now: Placed): string {
  const canUndo = ({ node }: Placed) => node.stages.some((stage) => partOf(stage) === "compensate");
  if (canUndo(old) || !canUndo(now)) return "";
  return "; its new compensation undoes only what is begun or tried again from now on";
}

const isAction = ({ kind }: Stage): boolean => stageKind(kind).goes === "queued";

function lostStages(old: Placed, now: Placed): string[] {
  const lost = old.node.stages.filter((stage) => {
    const same = sameStage(stage, now);
    if (same !== undefined)
      return same.kind !== stage.kind && isWaitedAt(stage) && !isReplaced(stage, now);
    const part = partOf(stage);
    // A removed compensation has a change of its own.
    if (part === "compensate" || isReplaced(stage, now)) return false;
    return isWaitedAt(stage) || part === undefined || stage.isolate === true;
  });
  if (lost.length === 0) return [];
  const stages = lost.map(({ name, kind }) => `${name} (${kind})`).join(" and ");
  return [`runs that are at ${stages} stop: it is not there any more`];
}

/**
 * Says whether runs at a stage go on: an action is a query now, or a handler came before children.
 */
function isReplaced(stage: Stage, now: Placed): boolean {
  const same = sameStage(stage, now);
  if (isAction(stage)) return same !== undefined && stageKind(same.kind).goes === "within";
  return partOf(stage) === "output" && now.node.stages.some(({ kind }) => kind === "children");
}

/** What becomes of an action that runs, if it is not there any more. */
function endsAsItWould(old: Placed, now: Placed): string {
  const replaced = old.node.stages.filter((each) => isAction(each) && isReplaced(each, now));
  return replaced.length === 0
    ? ""
    : `; an action that runs ends as it would, and its result counts`;
}

/** A finalize runs in the transaction in which children end, unless that is full. */
function stopsJustAt(old: Placed, now: Placed): string {
  const gone = old.node.stages.find(
    (each) => partOf(each) === "finalize" && sameStage(each, now) === undefined,
  );
  return gone === undefined ? "" : `; one that is just at ${gone.name} or paused there stops`;
}

/** Says what a `maxIterations` may do that is computed in both plans: it may be another. */
function mayStop({ node: old }: Placed, { node }: Placed): string {
  const isUnseen = [old, node].every(({ options }) => !("maxIterations" in options));
  if (old.hash === node.hash || !isLoop(node) || !isUnseen) return "";
  return `; its maxIterations cannot be seen: ${ifLower}`;
}

const ifLower = "if it is lower now, runs that have made as many iterations stop";

function tooManyIterations(old: Placed, now: Placed): string[] {
  const [was, is] = [old.node.options["maxIterations"], now.node.options["maxIterations"]];
  // None can have been higher.
  if (is === MAX_ITERATIONS) return [];
  if (typeof was !== typeof is && isLoop(old.node) && isLoop(now.node)) {
    const what = typeof was === "number" ? `was ${was}, and is` : `is ${String(is)}, and was`;
    return [
      `its maxIterations ${what} one that cannot be seen: ${ifLower}, unless their loop is done`,
    ];
  }
  if (typeof was !== "number" || typeof is !== "number" || is >= was) return [];
  return [
    `maxIterations is ${is}, was ${was}: runs that have made ${is} iterations or more stop, unless their loop is done`,
  ];
}

/** How many may fail is kept, but not that outputs tell which have failed. */
function toleratesNone(old: Placed, now: Placed): string[] {
  if (!("tolerate" in old.node.options) || "tolerate" in now.node.options) return [];
  // One that is computed is not seen either.
  return [
    "it has no tolerate that can be seen: if it has none, runs stop in which one has failed, as outputs do not tell that any more",
  ];
}

/** A parent's new handler does not run for runs whose children were started without it. */
function newHandler(old: Placed, now: Placed): string | undefined {
  const hasHandler = ({ node }: Placed) => node.stages.some((stage) => partOf(stage) === "output");
  if (!startsRuns(old.node) || hasHandler(old) || !hasHandler(now)) return undefined;
  return "it has a handler now: runs whose children are going do not run it, and its `output` is undefined in them";
}

/** All of a node but its name, its place and the nodes inside it. */
function own({ node }: Placed): string {
  // Earlier plans tell less.
  const { name: _, storage: __, takes: ___, bodies = [], stages, ...rest } = node;
  const named = stages.map((stage) => ({ ...stage, name: partOf(stage), retry: undefined }));
  // What becomes of another branch has a change of its own.
  const keys = isApart(node) ? [] : bodies.map((body) => body.key);
  return JSON.stringify([rest, named, keys]);
}

type Stage = NodeThen["stages"][number];

/** Says whether a run waits at such a stage, beyond one transaction, until something comes back. */
const isWaitedAt = ({ kind }: Stage): boolean =>
  ["queued", "waiting", "woken"].includes(stageKind(kind).goes);

const sameStage = (old: Stage, now: Placed): Stage | undefined =>
  now.node.stages.find((each) => partOf(each) === partOf(old));

function movedNodes(line: LinePair): ReturnType<Rule> {
  const { before, now } = line;
  const names = (nodes: readonly Placed[], other: readonly Placed[]) =>
    nodes.map(({ stored }) => stored).filter((each) => find(other, each) !== undefined);
  const [then, order] = [names(before, now), names(now, before)];
  const unmoved = new Set(longestCommon(then, order));
  return now.flatMap((moved): ReturnType<Rule> => {
    const { stored, path } = moved;
    if (!order.includes(stored)) return [];
    const first = now.find(
      (each) =>
        order.indexOf(each.stored) > order.indexOf(stored) &&
        then.indexOf(each.stored) < then.indexOf(stored),
    );
    if (first !== undefined) {
      const readers = readersAfter(now.indexOf(first), moved, line);
      const message = `moved before ${quote(first.path)}: runs that are there or past it, and have not run it, do not run it${norUnbegun(moved, line)}`;
      if (readers.length === 0) return [safe(path, message)];
      const hint = workWithout(readers);
      return [{ ...safe(path, `${message}, and ${inThem(readers)}`), hint }];
    }
    if (unmoved.has(stored)) return [];
    const message =
      "moved: runs in flight go on in the new order from where they are, and what they have done is not done again";
    return [safe(path, message)];
  });
}

/** What has been started begins at the node that was the first one then. */
function norUnbegun(node: Placed, { begins, before: [first], now }: LinePair): string {
  const at = first === undefined ? -1 : now.findIndex(({ stored }) => stored === first.stored);
  return begins !== undefined && now.indexOf(node) < at ? `, nor do ${begins}` : "";
}

/** The number of steps that the run time does in one transaction. */
const mostFused = 20;

/**
 * Says whether runs are likely to be at or in a node during a deploy. A run can be at any node for
 * a moment: where a transaction ends depends on all that it has done.
 */
const isOftenAt = (placed: Placed, line: LinePair): boolean =>
  beginsTransaction(placed, line) || waitsIn(placed.node);

/** A case and an iteration begin in the transaction that comes to them. */
const beginsTransaction = ({ node }: Placed, { begins, before }: LinePair): boolean =>
  node.options["isolate"] === true ||
  (begins !== undefined && before[0]?.node === node) ||
  before.length >= mostFused;

function waitsIn(node: NodeThen): boolean {
  return (
    node.stages.some(isWaitedAt) ||
    node.options["isolate"] === true ||
    // Iterations that nothing waits in are done by twenty steps a transaction.
    isLoop(node) ||
    (node.bodies ?? []).some(({ nodes }) => nodes.length >= mostFused || nodes.some(waitsIn))
  );
}

/** A new node: runs that are past its place never run it, and later nodes miss its result. */
function addedNodes(line: LinePair): ReturnType<Rule> {
  const { inside, before, now } = line;
  const told = new Set(sameCode(renamesOf(line)).values());
  const others = missingIn(before, now).filter((added) => !told.has(added));
  return others.map((added) => {
    const readers = readersPast(added, line);
    if (readers === undefined) {
      const where = inside === "" ? "at the end" : `at the end of ${inside}`;
      const come = inside === "" && !endsRun(added.node) ? "" : "that come to it ";
      const what = `${come}${endsRun(added.node) ? "end there" : "run it too"}`;
      return safe(added.path, `added ${where}: runs in flight ${what}`);
    }
    const message = `added: runs that are past its place do not run it${norUnbegun(added, line)}`;
    if (readers.length === 0) return safe(added.path, message);
    const hint = workWithout(readers);
    return { ...safe(added.path, `${message}, and ${inThem(readers)}`), hint };
  });
}

/** Returns who reads a node that runs past it have not run; undefined if no run is past it. */
function readersPast(added: Placed, line: LinePair): string[] | undefined {
  const after = line.now.indexOf(added) + 1;
  const isAtEnd = missingIn(line.before, line.now.slice(after)).length === line.now.length - after;
  return isAtEnd ? undefined : readersAfter(after, added, line);
}

/**
 * All branches of a node begin together: one that is new is not run after that. What a node has
 * given tells the names that they had.
 */
function otherBranches(line: LinePair): ReturnType<Rule> {
  const { before, now } = line;
  return now.flatMap((node) => {
    const old = find(before, node.stored);
    const isLike = (is: typeof hasBranches) => old && is(old.node) && is(node.node);
    if (old === undefined || !(isLike(hasBranches) || isLike(hasRivals))) return [];
    const known = new Map(old.node.bodies?.map(({ key, storage = key }) => [storage, key]));
    const isRace = hasRivals(node.node);
    return (node.node.bodies ?? []).flatMap(({ key, storage = key }): ReturnType<Rule> => {
      const was = known.get(storage);
      if (was === key) return [];
      const readers = readersAfter(now.indexOf(node) + 1, node, line);
      const find = `${readers.join(" and ")} ${readers.length === 1 ? "finds" : "find"}`;
      const path = `${node.path}.${inPath(key)}`;
      if (was === undefined) {
        const message = `added: runs that have come to ${quote(node.path)} do not run it`;
        if (readers.length === 0 || isRace) return [safe(path, message)];
        const without = `${message}, and ${find} no output of it in them`;
        return [{ ...safe(path, without), hint: workWithout(readers) }];
      }
      const message = `renamed from ${quote(was)}: runs that are in it go on`;
      if (readers.length === 0) return [safe(path, message)];
      const what = isRace ? `that ${quote(was)} has won` : `its output under ${quote(was)}`;
      const kept = `${message}; in those that are past ${quote(node.path)}, ${find} ${what}`;
      const hint = `let ${readers.join(" and ")} take both names until no such run is left`;
      return [{ ...safe(path, kept), hint }];
    });
  });
}
