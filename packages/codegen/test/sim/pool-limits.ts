import type { Commit, Deployment } from "@stepwise/testing";
import { limitOf, type Limits } from "@stepwise/workpool/core";
import type { Doc } from "../../../workpool/src/component/_generated/dataModel.js";

/** What a work says of the limits that a scenario has. */
export interface WorkLimits {
  readonly tenant?: string;
  readonly exports?: true;
}

/** Limits that a scenario begins with, or changes to. */
export function limitsOf(random: () => number): Limits {
  const upTo = (count: number) => 1 + Math.floor(random() * count);
  return { tenant: { perKey: upTo(3), total: upTo(6) }, exports: { total: upTo(3) } };
}

export function limitsOfWork(random: () => number): { readonly limits?: WorkLimits } {
  const share = random();
  const tenant = random() < 0.6 ? { tenant: "abc"[Math.floor(random() * 3)]! } : {};
  const exports = random() < 0.4 ? { exports: true as const } : {};
  return share < 0.3 ? {} : { limits: { ...tenant, ...exports } };
}

/** No commit starts a work beyond a limit, and permits are those of works in slots. */
export class PoolLimits {
  readonly #needs = new Map<string, readonly string[]>();
  readonly #running = new Map<string, number>();
  #held = 0;
  #permits = 0;

  constructor(
    readonly deployment: Deployment,
    readonly problems: string[],
  ) {}

  see({ by, writes }: Commit): void {
    const started: string[] = [];
    for (const { table, old, next } of writes) {
      if (table.path === "workpool/works" && next !== undefined) {
        const { _id, permits = [] } = next as unknown as Doc<"works">;
        this.#needs.set(_id, permits);
      }
      if (table.path === "workpool/permits")
        this.#permits += Number(next !== undefined) - Number(old !== undefined);
    }
    for (const { table, old, next } of writes) {
      if (table.path !== "workpool/slots") continue;
      const [had, has] = [old, next] as unknown as (Doc<"slots"> | undefined)[];
      this.#held += (has?.permits?.length ?? 0) - (had?.permits?.length ?? 0);
      this.#count(had?.work, -1);
      started.push(...this.#count(has?.work, 1));
    }
    const [gate] = this.deployment.rows<Doc<"gate">>("workpool", "gate");
    for (const name of started)
      if (gate !== undefined && this.#running.get(name)! > limitOf(gate, name))
        this.problems.push(`${by} runs ${this.#running.get(name)} of ${name}`);
    if (this.#held !== this.#permits)
      this.problems.push(`${by}: works in slots hold ${this.#held} of ${this.#permits} permits`);
  }

  #count(work: string | undefined, change: number): readonly string[] {
    const names = this.#needs.get(work ?? "") ?? [];
    for (const name of names) this.#running.set(name, (this.#running.get(name) ?? 0) + change);
    return names;
  }
}
