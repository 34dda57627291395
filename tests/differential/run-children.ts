import { inPath } from "@stepwise/workflow/rules";
import {
  Failed,
  type Fault,
  KINDS,
  type Limit,
  type Node,
  type Nodes,
  problemOf,
  type Scope,
  stored,
} from "./definition.js";
import { RunHandlers } from "./run-handlers.js";
import type { RunLife } from "./run-life.js";

/** How a run has children. */
export abstract class RunChildren extends RunHandlers {
  protected abstract newChild(workflow: unknown, input: unknown, key: string | undefined): RunLife;
  /** @param nodes what it goes through, in a scope. @param path what their paths begin with. */
  protected abstract newPart(
    nodes: Nodes,
    scope: Scope,
    path: string,
    key: string,
    isRival?: boolean,
  ): RunLife;
  /** The cases of the race that it is in, until that is won. */
  protected rivals: readonly RunLife[] = [];

  /** [S82] [S129] */
  protected async child(path: string, node: Node, scope: Scope): Promise<unknown> {
    return await this.recovering(path, node, scope, async () => {
      const child = this.newChild(node.workflow, node.args(scope), undefined);
      await this.all(path, [child], { isSingle: true });
      return child.output;
    });
  }

  /** [S43] to [S60], [S129] */
  protected async parent(path: string, node: Node, scope: Scope): Promise<unknown> {
    return await this.recovering(path, node, scope, async (limit) => {
      const hasHandler = KINDS.some((kind) => node[kind] !== undefined);
      const output = hasHandler
        ? await this.run({ stage: `${path}.output`, handler: node, scope, limit })
        : undefined;
      const inside = hasHandler ? { ...scope, output } : scope;
      const given: object = node.children(inside);
      const made = Object.entries(given as Record<string, Node>);
      const children = made.map(([key, { workflow, input }]) =>
        this.newChild(workflow, input, key),
      );
      const gathered = await this.gathered(path, node, inside, children, {
        isList: Array.isArray(given),
        limit,
      });
      const { finalize: handler } = node;
      if (handler === undefined) return { ...(hasHandler ? { output } : {}), children: gathered };
      return await this.run({
        stage: `${path}.finalize`,
        handler,
        scope: { ...inside, children: gathered },
        timeout: handler.timeout,
        limit,
      });
    });
  }

  /** [S160] to [S162] */
  protected async parallel(path: string, node: Node, scope: Scope): Promise<unknown> {
    return await this.recovering(path, node, scope, async (limit) => {
      const branches = Object.entries(node.branches as Record<string, Nodes>);
      const children = branches.map(([key, nodes]) =>
        this.newPart(nodes, scope, `${path}.${inPath(key)}.`, key),
      );
      return await this.gathered(path, node, scope, children, { isList: false, limit });
    });
  }

  /** [S168] [S169] */
  protected async race(path: string, node: Node, scope: Scope): Promise<unknown> {
    return await this.recovering(path, node, scope, async (limit) => {
      const cases = Object.entries(node.cases as Record<string, Nodes>).map(([key, nodes]) =>
        this.newPart(nodes, scope, `${path}.${inPath(key)}.`, key, true),
      );
      await this.still(this.turn(path), limit);
      this.rivals = cases;
      const keeps = node.compensateLosers === false;
      const won = new Promise<RunLife>((resolve, reject) => {
        const ended = (one: RunLife) => {
          if (this.state !== "running" || limit.isOver || limit.isWon === true) return;
          if (one.hasEndedBadly && node.first !== "any") {
            if (cases.every((each) => each.hasEndedBadly)) reject(this.#allFailed(path, cases));
            return;
          }
          limit.isWon = true;
          this.rivals = [];
          for (const other of cases) other.cancel(keeps);
          this.children = this.children.filter((child) => child !== one);
          if (one.undos.length > 0) this.undos.push({ node: path, child: one });
          resolve(one);
        };
        for (const one of cases) {
          one.begin();
          void one.ended.then(() => ended(one));
        }
      });
      try {
        const winner = await this.still(won, limit);
        const others = cases.filter((one) => one !== winner);
        for (const one of others)
          void one.ended.then(() => {
            this.children = this.children.filter((child) => child !== one);
            // [S169]
            if (keeps && one.undos.length > 0) this.undos.push({ node: path, child: one });
          });
        await this.still(Promise.all(others.map((one) => one.ended)));
        const { key, output, fault, hasEndedBadly } = winner;
        if (node.first !== "any") return { case: key, output };
        return {
          case: key,
          ...(hasEndedBadly ? { ok: false, error: fault } : { ok: true, output }),
        };
      } finally {
        this.rivals = [];
        await this.still(this.turn(path));
        this.children = this.children.filter((child) => !cases.includes(child));
      }
    });
  }

  #allFailed(path: string, cases: readonly RunLife[]): Failed {
    const causes = cases.map(({ key, fault }) => {
      const { compensationErrors: _, ...cause } = fault!;
      return [key, cause] as const;
    });
    const errors = cases.flatMap(({ fault }) => fault?.compensationErrors ?? []).slice(0, 20);
    return new Failed({
      ...this.faultAt(path, "childFailed"),
      causes: Object.fromEntries(causes),
      ...(errors.length === 0 ? {} : { compensationErrors: errors }),
    });
  }

  /** [S160] to [S162] */
  protected async each(path: string, node: Node, scope: Scope): Promise<unknown> {
    return await this.recovering(path, node, scope, async (limit) => {
      const given: object = node.of(scope);
      const isList = Array.isArray(given);
      const children = Object.entries(given).map(([key, item], index) => {
        const each = isList ? { item, index } : { item, key };
        return this.newPart(node.body, { ...scope, each }, `${path}.`, key);
      });
      return await this.gathered(path, node, scope, children, { isList, limit });
    });
  }

  /** What the children of a node give, all together. */
  protected async gathered(
    path: string,
    node: Node,
    scope: Scope,
    children: readonly RunLife[],
    { isList, limit }: { isList: boolean; limit: Limit },
  ): Promise<unknown> {
    // [S53]
    const concurrency: unknown =
      typeof node.concurrency === "function" ? node.concurrency(scope) : node.concurrency;
    await this.all(path, children, { ...node, concurrency, limit });
    const told = children.map((child) =>
      node.tolerate === undefined
        ? child.output
        : child.hasEndedBadly
          ? { ok: false, error: child.fault }
          : { ok: true, output: child.output },
    );
    const key = (index: number) => (isList ? index : (children[index]?.key ?? ""));
    if (node.reduce !== undefined)
      return told.reduce(
        (before, each, index) => node.reduce.step(before, each, key(index)),
        node.reduce.initial,
      );
    return isList ? told : Object.fromEntries(told.map((each, index) => [key(index), each]));
  }

  /** [S90] [S91] [S129] What a node gives, within its time; or its `recover`, if it has failed. */
  protected async recovering(
    path: string,
    node: Node,
    scope: Scope,
    does: (limit: Limit) => Promise<unknown>,
  ): Promise<unknown> {
    try {
      return await this.#within(path, node, does);
    } catch (thrown) {
      if (!(thrown instanceof Failed) || node.recover === undefined) throw thrown;
      try {
        return stored(node.recover(thrown.fault, scope));
      } catch (error) {
        const { kind, data } = problemOf(error);
        // [S94] What could not be undone is listed once, at the top.
        const { compensationErrors, ...cause } = thrown.fault;
        throw new Failed({
          ...this.faultAt(cause.node, kind, cause.attempt),
          ...(data === undefined ? {} : { data }),
          ...(compensationErrors === undefined ? {} : { compensationErrors }),
          cause,
        });
      }
    }
  }

  async #within(
    path: string,
    { timeout, recover, children, branches, of, kind }: Node,
    does: (limit: Limit) => Promise<unknown>,
  ): Promise<unknown> {
    const limit: Limit = { isOver: false };
    // [S38] That of a step is one of each attempt.
    const isOfAll = (children ?? branches ?? of) !== undefined || kind === "race";
    if (timeout === undefined || !isOfAll) return await does(limit);
    const fault = this.faultAt(path, "timedOut");
    const before = new Set(this.children);
    return await new Promise((resolve, reject) => {
      const callOff = this.after(path, timeout, () => {
        if (limit.isWon === true) return;
        if (recover === undefined) return void this.endBadly("failed", fault);
        limit.isOver = true;
        for (const child of this.children) if (!before.has(child)) child.cancel();
        void this.still(this.turn(path)).then(() => reject(new Failed(fault)));
      });
      does(limit).finally(callOff).then(resolve, reject);
    });
  }

  /** Has all children run. @throws {Failed} when more of them have failed than may. */
  protected async all(
    path: string,
    children: readonly RunLife[],
    { concurrency = Infinity, tolerate, isSingle = false, limit }: Node,
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
    await this.still(this.turn(path), limit);
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
        if (this.state !== "running" || limit?.isOver) return;
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
    try {
      await this.still(
        all.catch((error: unknown) => {
          // The others are canceled at once, also where the run itself is told later.
          if (this.state === "running") for (const child of children) child.cancel();
          throw error;
        }),
        limit,
      );
    } finally {
      await this.still(this.turn(path), limit);
    }
    this.children = this.children.filter((child) => !children.includes(child));
  }
}
