import type { Commit, Deployment } from "@stepwise/testing";
import { limitOf } from "@stepwise/workpool/core";
import type { Doc } from "../../packages/workpool/src/component/_generated/dataModel.js";
import { gateOf } from "./pool-limits.js";
import { Shown } from "./shown.js";

/** So many more may go on before a line: looks that were stale, and ends of one moment. */
const MORE = 8;
/**
 * How often a line of weight n keeps its turn is drawn: n times on average, and by chance so many
 * times more for each unit of weight. With a weight of 3, one turn in 10 ** 10 is longer.
 */
const LUCK = 20;

/** A line of works that wait for one permit. */
interface Line {
  readonly for: string;
  readonly weight: number;
  readonly since: number;
  /** How many of other lines have gone on since it had its turn, and how many these may be. */
  others: number;
  most: number;
}

/**
 * [S235] Lines that wait for the same permit take turns. Whoever gives it back has the next line
 * go on, after its own. So each of its numbers goes round all of these lines, and passes over none.
 * One of a larger weight keeps its turn for as many works.
 */
export class PoolTurns {
  readonly #lines = new Map<string, Line>();
  readonly #shown: Shown;

  constructor(
    readonly deployment: Deployment,
    readonly tell: (problem: string) => void,
    readonly component: string,
  ) {
    this.#shown = new Shown(deployment);
  }

  /** What there is now is not what it has seen. */
  forget(): void {
    this.#lines.clear();
    for (const row of this.deployment.rows<Doc<"lines">>(this.component, "lines")) this.#wait(row);
  }

  see({ by, writes }: Commit): void {
    this.#shown.next();
    const [left, goOn] = [new Map<string, string>(), new Set<string>()];
    for (const { table, old, next } of writes) {
      const { path } = table;
      // What a table holds is for its schema to say.
      if (path === `${this.component}/limited` && next === undefined) {
        const { work, line } = old as unknown as Doc<"limited">;
        left.set(work, line);
      }
      const starts = path === `${this.component}/slots` && next?.["work"] !== old?.["work"];
      const joins = path === `${this.component}/waiting` && old === undefined;
      if (starts || joins) goOn.add(String(next?.["work"]));
    }
    for (const [work, line] of left) if (goOn.has(work)) this.#goesOn(by, line);
    for (const { table, old, next } of writes) {
      if (table.path !== `${this.component}/lines`) continue;
      const row = (next ?? old) as unknown as Doc<"lines">;
      if (next === undefined) this.#lines.delete(row.line);
      else if (this.#lines.get(row.line)?.for !== row.blockedBy) this.#wait(row);
    }
  }

  #wait({ line, blockedBy, weight = 1 }: Doc<"lines">): void {
    const since = this.#shown.commit;
    this.#lines.set(line, { for: blockedBy, weight, since, others: 0, most: 0 });
  }

  #goesOn(by: string, name: string): void {
    const own = this.#lines.get(name);
    if (own === undefined) return;
    const all = [...this.#lines].filter((each) => each[1].for === own.for);
    const gate = gateOf(this.deployment, this.component);
    const limit = gate === undefined ? Infinity : Math.max(1, limitOf(gate, own.for));
    // A rate has one that lets works go on.
    const weights = all.map(([, { weight }]) => weight);
    const round = weights.reduce((sum, weight) => sum + weight, 0);
    const luck = LUCK * (Math.max(...weights) - 1);
    const most = 2 * round * (limit === Infinity ? 1 : limit) + MORE + luck;
    for (const [other, line] of all) {
      line.most = Math.max(line.most, most);
      if (other === name) line.others = 0;
      else if (line.since <= this.#shown.upTo && (line.others += 1) > line.most)
        this.tell(`${by}: ${line.others} of other lines go on for ${line.for}, as ${other} waits`);
    }
  }
}
