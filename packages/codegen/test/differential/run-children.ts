import { Failed, type Fault, KINDS, type Node, type Scope } from "./definition.js";
import { RunHandlers } from "./run-handlers.js";
import type { RunLife } from "./run-life.js";

/** How a run has children. */
export abstract class RunChildren extends RunHandlers {
  protected abstract newChild(workflow: unknown, input: unknown, key: string | undefined): RunLife;

  /** [S82] */
  protected async child(path: string, node: Node, scope: Scope): Promise<unknown> {
    const child = this.newChild(node.workflow, node.args(scope), undefined);
    await this.all(path, [child], { isSingle: true });
    return child.output;
  }

  /** [S43] to [S60] */
  protected async parent(path: string, node: Node, scope: Scope): Promise<unknown> {
    const late = () => void this.endBadly("failed", this.faultAt(path, "timedOut"));
    const callOff = node.timeout === undefined ? undefined : this.after(path, node.timeout, late);
    const hasHandler = KINDS.some((kind) => node[kind] !== undefined);
    const output = hasHandler
      ? await this.run({ stage: `${path}.output`, handler: node, scope })
      : undefined;
    const inside = hasHandler ? { ...scope, output } : scope;
    const given: unknown = node.children(inside);
    const children = Object.entries(given as Record<string, Node>).map(
      ([key, { workflow, input }]) => this.newChild(workflow, input, key),
    );
    // [S53]
    const concurrency: unknown =
      typeof node.concurrency === "function" ? node.concurrency(inside) : node.concurrency;
    await this.all(path, children, { ...node, concurrency });
    const told = children.map((child) =>
      node.tolerate === undefined
        ? child.output
        : child.hasEndedBadly
          ? { ok: false, error: child.fault }
          : { ok: true, output: child.output },
    );
    const isList = Array.isArray(given);
    const key = (index: number) => (isList ? index : (children[index]?.key ?? ""));
    const gathered: unknown =
      node.reduce !== undefined
        ? told.reduce(
            (before, each, index) => node.reduce.step(before, each, key(index)),
            node.reduce.initial,
          )
        : isList
          ? told
          : Object.fromEntries(told.map((each, index) => [key(index), each]));
    const { finalize: handler } = node;
    const result =
      handler === undefined
        ? { ...(hasHandler ? { output } : {}), children: gathered }
        : await this.run({
            stage: `${path}.finalize`,
            handler,
            scope: { ...inside, children: gathered },
            timeout: handler.timeout,
          });
    callOff?.();
    return result;
  }

  /** Has all children run. @throws {Failed} when more of them have failed than may. */
  protected async all(
    path: string,
    children: readonly RunLife[],
    { concurrency = Infinity, tolerate, isSingle = false }: Node,
  ): Promise<void> {
    const isTooMany = (bad: number) =>
      tolerate === undefined
        ? bad > 0
        : tolerate === "all"
          ? false
          : "failures" in tolerate
            ? bad > tolerate.failures
            : bad * 100 > tolerate.percentage * children.length;
    const failed = (child: RunLife) => {
      const { compensationErrors, ...cause } = child.fault ?? {};
      return new Failed({
        ...this.faultAt(path, "childFailed"),
        ...(isSingle ? {} : { key: child.key }),
        // [S94] What could not be undone is listed once, at the top.
        ...(compensationErrors === undefined ? {} : { compensationErrors }),
        ...(child.fault === undefined ? {} : { cause: cause as Fault }),
      });
    };
    await this.still(this.turn(path));
    const all = new Promise<void>((resolve, reject) => {
      // Those whose input was refused have failed before any other begins.
      const waiting = children.filter((child) => !child.hasEndedBadly);
      const refused = children.filter((child) => child.hasEndedBadly);
      let bad = refused.length;
      let running = 0;
      const [first] = refused;
      if (first !== undefined && isTooMany(bad)) return reject(failed(first));
      const fill = async () => {
        if (this.isHeld) await this.turn(path);
        if (this.state !== "running") return;
        while (running < concurrency && waiting.length > 0) {
          running++;
          const child = waiting.shift()!;
          child.begin();
          void child.ended.then(() => ended(child));
        }
        if (running === 0) resolve();
      };
      const ended = (child: RunLife) => {
        running--;
        if (child.hasEndedBadly) bad++;
        // [S93]
        else if (child.undos.length > 0) this.undos.push({ node: path, child });
        if (child.hasEndedBadly && isTooMany(bad)) reject(failed(child));
        else if (this.state === "running") void fill();
      };
      void fill();
    });
    await this.still(
      all.catch((error: unknown) => {
        // The others are canceled at once, also where the run itself is told later.
        if (this.state === "running") for (const child of children) child.cancel();
        throw error;
      }),
    ).finally(async () => await this.still(this.turn(path)));
    this.children = this.children.filter((child) => !children.includes(child));
  }
}
