// Takes out one guard of the components at a time, and looks for the seed that catches it: `npm run
// mutations [-- name]`. Each should be caught within 1,000 seeds on the smallest class. No file is
// changed: the mutation is made while bundling. With --check it only says whether all guards are
// found.
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { bundleSimulator, playSeeds } from "./simulator.mjs";

/**
 * A guard, and the edit that takes it out. Its text must occur once in the sources of the
 * components.
 */
const GUARDS = [
  {
    guard: "token: a report counts only while its step is active",
    find: "if (found === null || !isActive(found, token)) {",
    replace: "if (found === null) {",
  },
  {
    guard: "attempt: a report counts only for the present attempt",
    find: "return step.attempt === token.attempt && hasNotEnded(step);",
    replace: "return hasNotEnded(step);",
  },
  {
    guard: "generation: an earlier drain ends when another has begun",
    find: "drain === null || !drain.on || drain.generation !== generation",
    replace: "drain === null || !drain.on",
  },
  {
    guard: "gate: it closes when works begin to wait, so that completions serve them",
    find: "await closeGate(ctx, gate);\n    const noneIsLeft",
    replace: "const noneIsLeft",
  },
  {
    guard: "drain: it hands out the slots that are free when works begin to wait",
    find: "if (!noneIsLeft) await ringDrain(ctx, host, await readDrain(ctx));",
    replace: "",
  },
  {
    guard: "sibling proof: a sibling seen in a stale snapshot is read again",
    find: 'if ((await ctx.db.get("runs", id))?.state === "running") return true;',
    replace: "return true;",
  },
  {
    guard: "cancel flag: a child that ends after its parent gives its place to no sibling",
    find: "if (!isWaitingForChildren(parent))\n    return { undone",
    replace: "if (parent.joined === true)\n    return { undone",
  },
  {
    guard: "watchdog: lost works are found",
    find: "if (watch?.generation !== generation) return;",
    replace: "return;",
  },
];

const sources = ["workpool", "workflow"]
  .map((name) => new URL(`../packages/${name}/src/`, import.meta.url))
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(new URL(file, folder), "utf8")),
  )
  .join("");
const unknown = GUARDS.filter(({ find }) => sources.split(find).length !== 2);
for (const { guard, find } of unknown)
  console.log(`the code of ${JSON.stringify(guard)} does not occur once: ${find}`);

const [only] = process.argv.slice(2);
const isCheck = only === "--check" || unknown.length > 0;
const MOST = 1_000;
let missed = unknown.length;
for (const { guard, find, replace } of isCheck ? [] : GUARDS) {
  if (only !== undefined && !guard.startsWith(only)) continue;
  const { outfile, remove } = await bundleSimulator({ find, replace });
  let problem = "";
  try {
    const { firstFailed, failed } = await playSeeds(outfile, {
      seeds: MOST,
      from: 1,
      class: "s16",
      shrink: false,
      processes: availableParallelism(),
      first: true,
      print: (line) => void (problem ||= /^seed \d+: (.*)/.exec(line)?.[1] ?? ""),
    });
    const isCaught = firstFailed !== undefined || failed > 0;
    if (!isCaught) missed += 1;
    console.log(
      isCaught
        ? `caught  ${guard}\n        seed ${firstFailed}: ${problem.slice(0, 160)}`
        : `MISSED  ${guard}`,
    );
  } finally {
    remove();
  }
}
process.exitCode = missed === 0 ? 0 : 1;
