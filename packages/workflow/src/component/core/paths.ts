import { namesInPath } from "../../rules.js";
import { keyShown } from "./childRuns.js";
import type { QueryCtx, Run, RunId, Step } from "./documents.js";
import { nameOf } from "./steps.js";

/**
 * Returns what a step's place is called in its run: `ask`, or `turns.ask#3` in a loop.
 * @param run given if it is a branch whose own place the path has already
 */
export function placeIn(step: Step, { within = "" }: Pick<Run, "within"> = {}): string {
  const name = nameOf(step);
  const inside = name.startsWith(`${within}.`) ? name.slice(within.length + 1) : name;
  const names = namesInPath(inside).map(quoted);
  return [names.join("."), ...(step.iterations ?? [])].join("#");
}

/**
 * Returns where a child is, with a slash at its end.
 * @param at where its parent is, whose record is given
 */
export function pathBelow(at: string, parent: Step, child: Run): string {
  return parent.single === true
    ? `${at}/`
    : `${at}/${quoted(keyShown(child) ?? `${child.index}`)}/`;
}

/** A name of a path: in quotes, as `inPath` writes it, if it has what parts the names here. */
const quoted = (name: string): string => (/^[^"]*[./]/.test(name) ? `"${name}"` : name);

/** Where runs are below another one, each with a slash at its end. */
export class Paths {
  readonly #known = new Map<RunId, string | undefined>();

  constructor(
    readonly ctx: QueryCtx,
    { _id }: Run,
    /** Says whether to leave out of a branch's place what is the branch's own. */
    readonly isShort = false,
  ) {
    this.#known.set(_id, "");
  }

  /** @returns undefined if it is not below */
  async of(run: Run): Promise<string | undefined> {
    if (this.#known.has(run._id)) return this.#known.get(run._id);
    const path = await this.#below(run);
    this.#known.set(run._id, path);
    return path;
  }

  async #below(run: Run): Promise<string | undefined> {
    const { parentStep, parentRun } = run;
    const step = parentStep === undefined ? null : await this.ctx.db.get("steps", parentStep);
    const above = parentRun === undefined ? null : await this.ctx.db.get("runs", parentRun);
    if (step === null || above === null) return undefined;
    const before = await this.of(above);
    if (before === undefined) return undefined;
    return pathBelow(before + placeIn(step, this.isShort ? above : {}), step, run);
  }
}
