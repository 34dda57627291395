import { parseArgs } from "node:util";
import { CLASSES, S256, type DeploymentClass } from "@stepwise/testing";
import type { Engine } from "./engines.js";
import { LIMITED } from "./limited.js";
import { LOADS } from "./loads.js";
import { measure } from "./measure.js";
import { measureLimits } from "./measure-limits.js";

/*
 * One load: `node benchmarks/dist/load/main.js chains-50 --engine ours --seed 1 [--class s16]
 * [--mutation 3-8] [--places 8] [--json]`. Without a name it lists them.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: "string", default: "ours" },
    seed: { type: "string", default: "1" },
    class: { type: "string" },
    mutation: { type: "string" },
    places: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const print = (text: string) => process.stdout.write(`${text}\n`);

if (positionals.length === 0) print([...Object.keys(LOADS), ...Object.keys(LIMITED)].join("\n"));
for (const name of positionals) {
  const limited = LIMITED[name];
  const load = LOADS[name] ?? limited;
  if (load === undefined)
    throw new Error(`There is no load "${name}": without a name, all are listed.`);
  const named = CLASSES[values.class as keyof typeof CLASSES] ?? load.class ?? S256;
  const span = values.mutation?.split("-").map(Number) as [number, number] | undefined;
  const of: DeploymentClass = {
    ...named,
    ...(span === undefined ? {} : { mutationMs: span }),
    ...(values.places === undefined ? {} : { scheduledAtOnce: Number(values.places) }),
  };
  const began = process.hrtime.bigint();
  const seed = Number(values.seed);
  const told =
    limited === undefined
      ? await measure({ ...load, class: of }, values.engine as Engine, seed)
      : await measureLimits({ ...limited, class: of }, seed);
  const wall = Number(process.hrtime.bigint() - began) / 1e9;
  if (values.json) {
    const { exhausted: all, conflictsOf: _of, failures: _failed, deployment: _all, ...rest } = told;
    const exhausted = Object.values(all).reduce((sum, count) => sum + count, 0);
    print(JSON.stringify({ ...rest, exhausted }));
    continue;
  }
  print(`${values.engine}: ${load.title}, seed ${values.seed}, in ${wall.toFixed(1)} s`);
  print(
    `  refused ${told.refused}, done ${told.done}/${load.actions} in ${told.seconds.toFixed(1)} s, ${told.perSecond.toFixed(1)} a second, ` +
      `${told.conflicts.toFixed(3)} conflicts each, ${told.calls.toFixed(2)} calls, ` +
      `${told.documentsRead.toFixed(1)} documents and ${told.kbRead.toFixed(1)} KB read`,
  );
  for (const [title, counts] of [
    ["exhausted", told.exhausted],
    ["conflict", told.conflictsOf],
    ["failed", told.failures],
  ] as const)
    for (const [what, count] of Object.entries(counts)
      .sort(([, a], [, b]) => b - a)
      .slice(0, 10))
      print(`  ${String(count).padStart(6)} ${title} ${what}`);
}
