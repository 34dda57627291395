import { getFunctionName, type FunctionReference } from "convex/server";
import type { Value } from "convex/values";
import { type Call, referenced } from "./behaviour.js";
import {
  contextOf,
  type Definition,
  Failed,
  type Fault,
  type Handled,
  type Kind,
  KINDS,
  type Problem,
  problemOf,
  RETRIED,
  type Retry,
  stored,
  TimedOut,
} from "./definition.js";
import { type EndedRun, RunLife } from "./run-life.js";

/** How the handlers of a run are executed. */
export abstract class RunHandlers extends RunLife {
  protected abstract readonly definition: Definition;

  /** Its `onEnd` is an action that has not ended. */
  isEnding = false;

  /** [S170] [S171] [S172] Whatever becomes of it, the run has its result. */
  protected override ends(run: EndedRun): void {
    const { onEnd: handler } = this.definition.options;
    if (handler === undefined || this.mark !== "") return;
    const scope = { input: this.input, run };
    const ending = this.run({ stage: "onEnd", handler, scope, isUndoing: true }).catch(
      (thrown: unknown) => {
        if (!(thrown instanceof Failed)) throw thrown;
      },
    );
    if (handler.action === undefined) return;
    this.isEnding = true;
    this.world.ending++;
    void ending.finally(() => {
      this.isEnding = false;
      this.world.ending--;
    });
  }

  /** A handler, as often as its settings say. @throws {Failed} when it has failed for good. */
  protected async run(handled: Handled): Promise<unknown> {
    const { stage, handler, isUndoing = false, limit } = handled;
    const still = async <T>(what: Promise<T>) => await (isUndoing ? what : this.still(what, limit));
    const retry: Retry = handler.retry ?? this.definition.options.retry ?? false;
    const { maxAttempts, maxBackoffMs, when } =
      typeof retry === "object" ? retry : { maxAttempts: retry ? 5 : 1 };
    for (let attempt = 1; ; attempt++) {
      if (!isUndoing) await still(this.turn(stage));
      const result = await still(this.attempt(handled, attempt));
      if ("output" in result) return result.output;
      const { kind, retryAt, ...problem } = result.problem;
      const fault: Fault = { ...this.faultAt(stage, kind, attempt), ...problem };
      const mayTry = handler.action !== undefined && RETRIED.includes(kind);
      if (!mayTry || attempt >= maxAttempts) throw new Failed(fault);
      if (when !== undefined && !this.#isTriedAgain(when, fault)) throw new Failed(fault);
      // [S32] [S35] Else the generator writes settings that make the wait as long as it may be.
      const usualMs = 250 * 2 ** (attempt - 1);
      const ms = retryAt === undefined ? (maxBackoffMs ?? usualMs) : retryAt - Date.now();
      const isUsual = retryAt === undefined && maxBackoffMs === undefined;
      await still(this.world.wait(this.owner(`${stage} again`), ms, isUsual ? usualMs / 2 : 0));
    }
  }

  /** [S153] @throws {Failed} if it cannot say. */
  #isTriedAgain(when: (error: Fault) => unknown, error: Fault): boolean {
    const { node, attempt } = error;
    let is: unknown;
    try {
      is = when(error);
    } catch (thrown) {
      // Its message says more.
      const { message: _, ...problem } = problemOf(thrown);
      throw new Failed({ ...this.faultAt(node, problem.kind, attempt), ...problem });
    }
    if (typeof is === "boolean") return is;
    throw new Failed(this.faultAt(node, "thrown", attempt));
  }

  protected async attempt(
    { stage, handler, scope, timeout, isUndoing = false, limit }: Handled,
    attempt: number,
  ): Promise<{ output: Value } | { problem: Problem }> {
    const kind = KINDS.find((each) => handler[each] !== undefined) ?? "query";
    const abort = new AbortController();
    const written: string[] = [];
    const began = Date.now();
    // [S84]
    const isOff = () => this.state !== "running" || limit?.isOver === true;
    const isCanceled = async () => !isUndoing && isOff();
    const call = async () => {
      const ctx = contextOf(kind, this.world, written);
      const info = { attempt, signal: abort.signal, isCanceled, idempotencyKey: "" };
      if (handler.args === undefined) return await handler[kind](ctx, scope, info);
      const name = getFunctionName(handler[kind] as FunctionReference<Kind>);
      const args = stored(handler.args(scope, info)) as unknown as Call;
      return await referenced[name as keyof typeof referenced](ctx as never, args);
    };
    let callOff: (() => void) | undefined;
    try {
      // [S38] An attempt that goes on after its run was canceled has its timeout all the same.
      const expired = new Promise<never>((_resolve, reject) => {
        if (timeout === undefined || kind !== "action") return;
        callOff = this.world.after(this.owner(`${stage} late`), timeout, () => {
          abort.abort();
          reject(new TimedOut());
        });
      });
      const given = call().finally(() => {
        if (Date.now() > began) this.world.moved(this.owner(stage));
      });
      const result = await Promise.race([given, expired]);
      // What a compensation or an `onEnd` gives is dropped, whatever it is.
      const output = isUndoing ? null : stored(result);
      this.world.log.push(...written);
      return { output };
    } catch (error) {
      // [S25] What a mutation wrote that fails is gone.
      return { problem: problemOf(error) };
    } finally {
      callOff?.();
    }
  }
}
