import { isPromise } from "@stepwise/workpool/core";
import type { Value } from "convex/values";
import type { Beginning, NewChild } from "../../component/validators.js";
import { Failure } from "../../errors/failure.js";
import { literalText } from "../../rules.js";
import { checkStorable } from "../../values.js";
import { checkRace, optionOf } from "../options.js";
import { canWait, hasUndoables, type Place } from "../place.js";
import { presentKey } from "../storage-names.js";
import { readsSecret } from "../secrets.js";
import { firstOf, runsOf } from "../reference.js";
import type { Arrival, OfScope, Run } from "../run.js";
import { checkKeys, entriesIn, pagesOf, startAll } from "./children.js";
import { insideOf, type Nodes } from "./kinds.js";

/* Branches and items are children that go through a part of their parent's own definition. */

/** Starts the branches of a `.parallel`. */
export async function parallel(run: Run, stage: string): Arrival {
  await startAll(run, stage, async (place) => {
    const concurrency = insideOf(place.node).some(canWait) ? Infinity : undefined;
    return { ...(await branchesOf(run, stage, place)), concurrency };
  });
}

/** Starts the cases of a `.race`. */
export async function race(run: Run, stage: string): Arrival {
  await startAll(run, stage, async (place) => {
    const { first, compensateLosers } = place.node;
    checkRace(optionOf(run.own, stage, "first"), first);
    const race = {
      takesAny: first === "any" || undefined,
      keepsLosers: compensateLosers === false || undefined,
    };
    return { ...(await branchesOf(run, stage, place)), concurrency: Infinity, race };
  });
}

/** A run for each branch. One that is renamed later keeps its result under its storage name. */
async function branchesOf(run: Run, stage: string, { node, called }: Place) {
  const begins: Beginning[] = [];
  const branches = insideOf(node);
  for (const { key, nodes } of branches)
    begins.push(await beginningIn(run, stage, nodes, `${stage}.${key}`));
  const made = branches.map(({ key = "", among = {} }, begin) => {
    const name = presentKey(among, key);
    return { begin, key, called: name === key ? undefined : name, input: null };
  });
  return { begins, pages: pagesOf(called, made), keyed: true };
}

/** Starts the body of an `.each` for each item that `of` gives. */
export async function each(run: Run, stage: string, of: OfScope): Arrival {
  await startAll(run, stage, async ({ node, called }) => {
    const given: unknown = of(await run.scopeFor(stage, "of"));
    const isLater = isPromise(given);
    const found = isLater ? undefined : entriesIn(given);
    if (found === undefined) {
      const what = isLater
        ? "not be async"
        : `give a list or a record, and gave ${literalText(given)}`;
      throw new Failure("invalidOutput", `The of of "${called}" must ${what}`);
    }
    const keyed = !Array.isArray(given);
    // A field that is undefined is none.
    const entries = found.filter(([, value]) => !keyed || value !== undefined);
    if (keyed) checkKeys(called, entries, "items");
    const gap = entries.find(([, value]) => value === undefined);
    if (gap !== undefined)
      throw new Failure("invalidOutput", `Item ${gap[0]} of "${called}" is undefined: write null`);
    const [body] = insideOf(node);
    if (body === undefined) throw new Error(`"${called}" has no body`);
    const made = entries.map(([key, value], index): NewChild => {
      const item = itemOf(called, key, value);
      return { begin: 0, ...(keyed ? { key, input: { item, key } } : { input: { item, index } }) };
    });
    const begins = [await beginningIn(run, stage, body.nodes, stage)];
    const concurrency = canWait(body) ? Infinity : undefined;
    return { begins, pages: pagesOf(called, made), keyed, concurrency };
  });
}

/** A document has 16 levels; an item stands in the input of a child in a page of children. */
const MAX_ITEM_DEPTH = 12;

function itemOf(called: string, key: string, value: unknown): Value {
  const item = value as Value;
  checkStorable(item, {
    subject: `Item ${key} of "${called}"`,
    root: "item",
    maxDepth: MAX_ITEM_DEPTH,
    kind: "invalidOutput",
    cannot: "cannot be stored",
    advice: "Put it into file storage or one of your tables, and give its id",
  });
  return item;
}

/** Returns how a run begins that goes through a part of the definition. @param within that part. */
async function beginningIn(
  run: Run,
  stage: string,
  nodes: Nodes,
  within: string,
): Promise<Beginning> {
  const { own } = run;
  const { iterations } = run.at(stage);
  return {
    ...(await runsOf(own)),
    first: await firstOf(own, nodes, { prefix: `${within}.`, iterations }),
    within,
    undoable: hasUndoables({ nodes }) || undefined,
    sensitive: within === stage && readsSecret(own, stage) ? ["input"] : undefined,
  };
}
