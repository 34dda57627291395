import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { peakMegabytes, shortest, type Command } from "./processes.js";
import { definition, definitionFile, type Project, writeProject } from "./project.js";
import { type Row, table } from "./rows.js";
import { answersToSaves, percentile } from "./watching.js";

const codegen = dirname(createRequire(import.meta.url).resolve("@stepwise/codegen/package.json"));
const command = join(codegen, "bin/workflow-codegen.js");
const tsMorph = pathToFileURL(
  createRequire(join(codegen, "package.json")).resolve("ts-morph"),
).href;
const parseBare = fileURLToPath(new URL("./parse-bare.js", import.meta.url));

const scratch = mkdtempSync(join(tmpdir(), "stepwise-bench-"));
const project = (workflows: number) => writeProject(join(scratch, `${workflows}`), workflows);

/** The compiler, when nothing of the last time is there. */
const cold = ({ folder, functionsDir }: Project): Command => ({
  args: [command],
  cwd: folder,
  before() {
    rmSync(join(folder, "node_modules"), { recursive: true, force: true });
    rmSync(join(functionsDir, "_workflows"), { recursive: true, force: true });
  },
});
const bare = ({ folder, functionsDir }: Project): Command => ({
  args: [parseBare, tsMorph, functionsDir],
  cwd: folder,
});
/**
 * The compiler again and again: with nothing changed since, and after an edit of one definition.
 */
const repeated = ({ folder, functionsDir, workflows }: Project) => {
  const index = Math.floor(workflows / 2);
  const file = join(functionsDir, definitionFile(index));
  let edits = 100;
  const edit = () =>
    writeFileSync(file, definition(index).replace(/weight > \d+/, `weight > ${++edits}`));
  return {
    // What was edited last is written by then.
    unchanged: {
      args: [command],
      cwd: folder,
      before: () => void peakMegabytes({ args: [command], cwd: folder }),
    },
    checked: { args: [command, "check"], cwd: folder },
    edited: { args: [command], cwd: folder, before: edit },
  } satisfies Record<string, Command>;
};
const nothing: Command = { args: ["-e", "0"], cwd: scratch };

const ms = (value: number) => `${Math.round(value)} ms`;
const rows: Row[] = [];
const print = (text: string) => process.stdout.write(`${text}\n`);

try {
  const sizes = [10, 100, 500] as const;
  const limits = { 10: 1.5, 100: 2, 500: 3 } as const;
  const projects = { 10: project(10), 100: project(100), 500: project(500), 3000: project(3000) };

  for (const size of sizes) {
    const made = projects[size];
    const best = shortest(size === 500 ? 4 : 7, { cold: cold(made), bare: bare(made) });
    rows.push({
      title: `${size} workflows, cold`,
      measured: `${ms(best.cold)}; to import ts-morph and parse them ${ms(best.bare)}`,
      value: best.cold / best.bare,
      limit: limits[size],
      unit: "times",
    });
  }

  const again = shortest(8, { ...repeated(projects[500]), nothing });
  const one = project(1);
  const floor = shortest(8, { cold: cold(one), ...repeated(one) });
  const ofNothing = (title: string, time: number, limit: number): Row => ({
    title: `500 workflows, ${title}`,
    measured: `${ms(time)}; \`node -e 0\` ${ms(again.nothing)}`,
    value: time / again.nothing,
    limit,
    unit: "times",
  });
  rows.unshift(
    ofNothing("nothing changed", again.unchanged, 2),
    ofNothing("`check`, nothing changed", again.checked, 2),
    {
      title: "500 workflows, one edit",
      measured: `${ms(again.edited)}; nothing changed ${ms(again.unchanged)}; one edit of 1 workflow ${ms(floor.edited)}`,
      value: again.edited / again.unchanged,
      limit: 4,
      unit: "times",
    },
  );

  const grown = shortest(2, { some: cold(projects[500]), many: cold(projects[3000]) });
  rows.push({
    title: "3,000 workflows, cold",
    measured: `${ms(grown.many)}; 500 workflows ${ms(grown.some)}`,
    value: grown.many / grown.some,
    limit: 7,
    unit: "times",
  });

  rows.push({
    title: "500 workflows, memory",
    measured: "the most at any moment of a cold run",
    value: peakMegabytes(cold(projects[500])),
    limit: 250,
    unit: "MB",
  });

  const answers = await answersToSaves(command, projects[100], 60);
  rows.push({
    title: "100 workflows, watched",
    measured: `60 saves: half within ${ms(percentile(answers, 0.5))}, the slowest ${ms(Math.max(...answers))}`,
    value: percentile(answers, 0.95),
    limit: 100,
    unit: "ms",
  });

  const text = `# How long the compiler takes

Written by \`npm run bench\`, on ${cpus()[0]?.model.trim()} (${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB), Node ${process.versions.node}. These are times, so they
differ between machines and runs. Where possible, the limit is a ratio of two times.

${table(rows)}

Each row times a whole process: \`workflow-codegen\` as it is installed, on a generated app with one workflow of six nodes in each file. Every third
workflow also has an event, a branch and a loop. To compare two things, the benchmark runs them in turn, several times, and takes the shortest time of each.

- _Cold_: there is no output and no cache of the app. What V8 has compiled of TypeScript is there, as it is of the installation.
- _One edit_: one line of a handler changes, and so does the plan.
- _Watched_: \`generate --watch\` is running, and a step gets another name. The time starts when the definition is saved, and ends when the workflow's file and
  its plan are written. The figure is the 95th percentile. It includes 10 ms in which the compiler waits for more saves.
`;
  writeFileSync(fileURLToPath(new URL("../../compiler.md", import.meta.url)), text);
  print(`\nHow long the compiler takes\n${table(rows)}`);
} finally {
  rmSync(scratch, { recursive: true });
}
