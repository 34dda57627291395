import type { AnyDefinition } from "../definition/definition.js";
import { durationMs, literalText, MOST_ITEMS } from "../rules.js";

type AnyOptions = AnyDefinition["options"];

/**
 * Checks options of a workflow when its code is loaded. Types have checked them, as far as there
 * are any; a definition itself does not know the name that errors need.
 */
export function checkWorkflowOptions(workflow: string, options: AnyOptions): void {
  const of = `workflow "${workflow}"`;
  checkSensitive(of, options.sensitive);
  checkOne(of, options.one);
  checkFairness(of, options.fairness);
  checkCollect(of, options.collect);
}

/** Types check paths; of a path that names nothing, nothing would be hidden. */
function checkSensitive(of: string, sensitive: unknown): void {
  if (sensitive === undefined || typeof sensitive === "boolean") return;
  const isPath = (path: unknown) => typeof path === "string" && /^input(\.[^.]+)*$/.test(path);
  if (Array.isArray(sensitive) && sensitive.every(isPath)) return;
  throw new TypeError(
    `The sensitive of ${of} is ${literalText(sensitive)}: write true, or a list of paths such as "input.card"`,
  );
}

const OTHERWISE = ["wait", "skip", "cancelOld", "newestWaits"];

function checkOne(of: string, one: AnyOptions["one"]): void {
  if (one === undefined) return;
  const { key, otherwise }: { key?: unknown; otherwise?: unknown } = Object(one);
  if (typeof key === "function" && OTHERWISE.includes(otherwise as string)) return;
  throw new TypeError(
    `The one of ${of} is ${literalText(one)}: write { key: ({ input }) => …, otherwise: "wait" }, or another of ${OTHERWISE.join(", ")}`,
  );
}

function checkFairness(of: string, fairness: AnyOptions["fairness"]): void {
  if (fairness === undefined) return;
  const { key, weight = 1 }: { key?: unknown; weight?: unknown } = Object(fairness);
  if (typeof key === "function" && ["number", "function"].includes(typeof weight)) return;
  throw new TypeError(
    `The fairness of ${of} is ${literalText(fairness)}: write { key: ({ input }) => …, weight: 3 }`,
  );
}

const KEEPS = ["last", "first", "all"];

function checkCollect(of: string, collect: AnyOptions["collect"]): void {
  if (collect === undefined) return;
  const { key, quiet, atMost, size, keep }: Partial<typeof collect> = Object(collect);
  const isWhole = typeof key === "function" && quiet !== undefined && KEEPS.includes(keep!);
  const isSize = Number.isInteger(size) && size! >= 1 && size! <= MOST_ITEMS;
  const wrong = (hint: string) =>
    new TypeError(`The collect of ${of} is ${literalText(collect)}: ${hint}`);
  if (!isWhole)
    throw wrong(
      'write { key: ({ input }) => …, quiet: "30s", keep: "last" }, or keep "first" or "all"',
    );
  if (size !== undefined && !isSize)
    throw wrong(`its size may be a whole number from 1 to ${MOST_ITEMS}`);
  const quietMs = durationMs(quiet, `The quiet of the collect of ${of}`);
  if (atMost !== undefined && durationMs(atMost, `The atMost of the collect of ${of}`) < quietMs)
    throw wrong("its atMost may not be less than its quiet");
}
