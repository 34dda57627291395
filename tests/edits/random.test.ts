import { expect, test, vi } from "vitest";
import { compare } from "../../packages/codegen/src/compatibility/compare.js";
import type { Change } from "../../packages/codegen/src/compatibility/lines.js";
import { Deployment, type Files, type Seen, released, useReleases } from "./deployed.js";
import { compiled } from "./edited.js";
import { Choice } from "./random/choice.js";
import { edit, type Edit } from "./random/edit.js";
import { isKeyed, Maker, type Node, textOf } from "./random/nodes.js";

/*
 * Random edits of random workflows, and runs that are everywhere in them: what `check` says comes
 * true.
 */

const releases = useReleases();

const NOTES = `
import { internal } from "./_generated/api";
export async function note(ctx, flow, what, node, turn, { runId: run }, seen, code = 0) {
  const missing = Object.keys(seen).filter((name) => seen[name] === undefined);
  await ctx.runMutation(internal.runs.log, { text: JSON.stringify({ flow, what, node, turn, run, missing, code }) });
  return node;
}
`;

interface Note {
  readonly flow: string;
  readonly what: "ran" | "undone";
  readonly node: string;
  readonly turn: number;
  readonly run: string;
  readonly missing: readonly string[];
}

interface Case extends Edit {
  readonly flow: string;
  readonly fails: boolean;
  readonly before: string;
  readonly now: string;
  readonly wasUndone: readonly string[];
  readonly isUndone: readonly string[];
  readonly paths: Readonly<Record<string, string>>;
}

function pathsIn(line: readonly Node[], inside = ""): [string, string][] {
  return line.flatMap((node) => {
    const path = inside === "" ? node.name : `${inside}.${node.name}`;
    const inner = Object.entries(node.bodies).flatMap(([key, body]) =>
      pathsIn(body, isKeyed(node.kind) ? `${path}.${key}` : path),
    );
    return [[node.name, path] as [string, string], ...inner];
  });
}

function undoneIn(line: readonly Node[]): string[] {
  return line.flatMap((node) => [
    ...(node.undone === true ? [node.name] : []),
    ...Object.values(node.bodies).flatMap(undoneIn),
  ]);
}

function made(seed: number): Case {
  const choice = new Choice(seed);
  const maker = new Maker(choice);
  const flow = `f${seed}`;
  const line = maker.line(1 + choice.upTo(3), 2, []);
  const fails = choice.chance(0.35);
  const last = `.step("last", { mutation: (ctx, _scope, info) => { ${fails ? 'throw new Error("fails")' : ""} } })`;
  const written = (renamed: Edit["renamed"] = {}) => {
    const text = textOf(line)
      .replaceAll("KID", "kid")
      .replaceAll("note(ctx", `note(ctx, "${flow}"`);
    const said = Object.keys(renamed).length > 0 ? `, renamed: ${JSON.stringify(renamed)}` : "";
    return `export const ${flow} = defineWorkflow({ input: z.object({ kind: z.string() })${said} })\n${text}\n${last};\n`;
  };
  const [before, wasUndone] = [written(), undoneIn(line)];
  const what = edit(line, maker);
  return {
    flow,
    fails,
    before,
    now: written(what.renamed),
    wasUndone,
    isUndone: undoneIn(line),
    paths: Object.fromEntries(pathsIn(line)),
    ...what,
  };
}

const HEAD = `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { note } from "./notes";
export const kid = defineWorkflow({ input: z.object({}) }).sleep("rest", "1h").step("grown", { query: () => 1 });
`;
const filesOf = (texts: readonly string[]): Files => ({
  "notes.ts": NOTES,
  "flow.workflow.ts": HEAD + texts.join("\n"),
});

/** So long before a deploy runs are paused, and so long after it they are resumed. */
const HOLD_MS = 1_800_000;
/** When a deploy comes. */
const HOURS = (process.env["FUZZ_HOURS"] ?? "0.5,1.5,2.5,4.5,7.5").split(",").map(Number);

/** What is done to a run as the deploy comes: it is paused for an hour around it, or canceled then. */
type Deed = "pause" | "cancel";

interface Outcome {
  readonly hours: number;
  readonly deed: Deed | undefined;
  readonly seen: Seen;
  readonly notes: readonly Note[];
  readonly before: readonly Note[];
}

/** Says whether a message names a node, or one that it stands in. */
const namesReader = (message: string, path: string): boolean =>
  path.split(".").some((_, at, parts) => message.includes(`"${parts.slice(0, at + 1).join(".")}"`));

/** What is wrong with what `check` says of an edit, or with what becomes of its runs. */
function faults(given: Case, changes: readonly Change[], outcomes: readonly Outcome[]): string[] {
  const found: string[] = [];
  const stops = changes.filter(
    ({ compatibility }) => compatibility === "stops" || compatibility === "rename",
  );
  const hasStopped = ({ seen }: Outcome) => seen.state === "failed" && seen.error?.node !== "last";
  for (const outcome of outcomes) {
    const { hours, deed, seen, notes } = outcome;
    const at = `at ${hours} h${deed === undefined ? "" : `, ${deed}`}:`;
    const isCanceled = deed === "cancel" && seen.state === "canceled";
    if (seen.state !== "completed" && seen.state !== "failed" && !isCanceled)
      found.push(`${at} it is ${seen.state}, at ${JSON.stringify(seen.active)}`);
    if (hasStopped(outcome) && stops.length === 0)
      found.push(`${at} it has failed: ${JSON.stringify(seen.error)}`);
    const times = new Map<string, number>();
    for (const { what, node, turn, run, missing } of notes) {
      const key = [what, given.names[node] ?? node, turn, run].join(" ");
      times.set(key, (times.get(key) ?? 0) + 1);
      if (what === "ran")
        for (const name of missing) {
          const isSaid = changes.some(
            ({ message }) =>
              /reads? undefined|finds? no output|has no result|hand the result|seems to be/.test(
                message,
              ) &&
              (namesReader(message, given.paths[node] ?? node) ||
                message.includes("has no result")),
          );
          if (!isSaid) found.push(`${at} ${node} misses ${name}`);
        }
    }
    for (const [key, count] of times) if (count > 1) found.push(`${at} ${key} ${count} times`);
    if (seen.state === "failed" || isCanceled) {
      const isUndone = (ran: Note) =>
        notes.some(
          ({ what, node, turn, run }) =>
            what === "undone" &&
            turn === ran.turn &&
            run === ran.run &&
            (node === ran.node || node === given.names[ran.node]),
        );
      const loses = changes
        .filter(({ compatibility }) => compatibility === "loses")
        .map(({ node }) => node?.split(".").at(-1));
      for (const ran of notes.filter(({ what }) => what === "ran")) {
        const nameNow = given.names[ran.node] ?? ran.node;
        if (!given.isUndone.includes(nameNow)) continue;
        // Under the version before it had no compensation, or another name.
        if (
          !isUndone(ran) &&
          !loses.includes(ran.node) &&
          (given.wasUndone.includes(ran.node) || !outcome.before.includes(ran))
        )
          found.push(`${at} ${ran.node} is not undone`);
      }
    }
  }
  // No run is in a case that none chooses.
  const isNowhere = /(?:branch|match)\d+\.(?:k[12]|default|aa|zz)/.test(given.what);
  if (process.env["FUZZ_STRICT"] && stops.length > 0 && !isNowhere && !outcomes.some(hasStopped))
    found.push(
      `(strict?) no run stops: ${stops.map(({ node, message }) => `${node}: ${message}`).join("; ")}`,
    );
  return found;
}

const first = Number(process.env["FUZZ_SEED"] ?? 1);
const rounds = Number(process.env["FUZZ_ROUNDS"] ?? 6);

test(
  "[S114] [S115] [S117] [S165] [S168] what check says of an edit comes true",
  { tags: ["large"], timeout: 3_600_000 },
  async () => {
    vi.useRealTimers();
    const cases: Case[] = [];
    const verdicts = new Map<string, readonly Change[]>();
    for (let seed = first; seed < first + rounds; seed++) {
      const one = made(seed);
      const before = await compiled(filesOf([one.before]));
      const now = await compiled(filesOf([one.now]), before.plan);
      const errors = [...before.errors, ...now.errors];
      if (errors.length > 0) {
        if (process.env["FUZZ_SKIPPED"])
          process.stdout.write(`${[one.flow, one.what, ...errors].join("; ")}\n`);
        continue;
      }
      cases.push(one);
      verdicts.set(one.flow, compare(before.plan, now.plan));
    }
    const [was, is] = [
      filesOf(cases.map(({ before }) => before)),
      filesOf(cases.map(({ now }) => now)),
    ];
    const versions = await released(releases, was, is);
    const outcomes = new Map<string, Outcome[]>();
    const moments = HOURS.flatMap((hours) =>
      [false, true].map((isSteered) => ({ hours, isSteered })),
    );
    for (const { hours, isSteered } of moments) {
      const deployment = new Deployment(versions[0], versions);
      const ids = new Map<string, string>();
      for (const { flow } of cases)
        ids.set(
          flow,
          (await deployment.call("start", { name: flow, input: { kind: "k0" } })) as string,
        );
      const deeds = new Map<string, Deed>();
      if (isSteered)
        for (const [index, { flow }] of cases.entries())
          deeds.set(flow, (index + Math.floor(hours)) % 2 === 0 ? "pause" : "cancel");
      const steer = async (deed: Deed, name: string = deed) => {
        for (const [flow, what] of deeds)
          if (what === deed) await deployment.call(name, { runId: ids.get(flow)! });
      };
      const until = (at: number) => deployment.wait(at - Date.now());
      const at = Date.now() + hours * 3_600_000;
      await until(at - HOLD_MS);
      await steer("pause");
      await until(at);
      const notesNow = async () =>
        (await deployment.logged()).map((text) => JSON.parse(text) as Note);
      const already = (await notesNow()).length;
      deployment.deploy(versions[1]);
      await steer("cancel");
      if (isSteered) await until(at + HOLD_MS);
      await steer("pause", "resume");
      await deployment.drive();
      expect(await deployment.pending()).toBe(0);
      expect(deployment.violations).toEqual([]);
      const notes = await notesNow();
      for (const { flow } of cases) {
        const all = outcomes.get(flow) ?? [];
        const own = notes.filter((each) => each.flow === flow);
        const before = own.filter((each) => notes.indexOf(each) < already);
        outcomes.set(flow, [
          ...all,
          {
            hours,
            deed: deeds.get(flow),
            seen: await deployment.see(ids.get(flow)!),
            notes: own,
            before,
          },
        ]);
      }
    }
    const report: string[] = [];
    for (const each of cases) {
      const changes = verdicts.get(each.flow) ?? [];
      const found = faults(each, changes, outcomes.get(each.flow) ?? []);
      if (found.length === 0) continue;
      report.push(
        `== ${each.flow}: ${each.what}${each.fails ? " (fails)" : ""}\n${found.join("\n")}\n-- check: ${changes.map(({ node, compatibility, message }) => `${node ?? ""} ${compatibility}: ${message}`).join("\n   ")}\n-- before\n${each.before}\n-- now\n${each.now}`,
      );
    }
    process.stdout.write(`${cases.length} cases of ${rounds}\n`);
    expect(report.join("\n\n")).toBe("");
  },
);
