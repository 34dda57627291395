import { compileSources, type WrittenPlan } from "@stepwise/codegen";
import { compare } from "../../packages/codegen/src/compatibility/compare.js";
import type { Change, WorkflowThen } from "../../packages/codegen/src/compatibility/lines.js";
import { LIMITS } from "../differential/generator.js";
import { AT_ONCE } from "./edits-at-once.js";
import { IN_TURN } from "./edits-in-turn.js";
import { CONTROLS, LIMITS_AFTER, LIMITS_BEFORE } from "./edits-of-controls.js";
import type { Version } from "./edits.js";

/*
 * A family of edits, each to a workflow of its own. Both versions of all of them are compiled once
 * for a process, and `check` says once what they mean for runs in flight.
 */

const IMPORTS = `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { act, below, change, digest, items, lasts, pick, spent } from "./behaviour";
`;
const INPUT = "at: z.string(), n: z.number(), more: z.string().optional()";

/** What a workflow is called that has been renamed: its runs stay those of the old name. */
const ANEW = "Anew";
export const nameBefore = (name: string): string => name.replace(new RegExp(`${ANEW}$`), "");

/** Both workflows of a family's member. */
function textOf(index: number, { nodes, kid, options = "", more = "", anew }: Version) {
  const kidName = `e${index}kid`;
  const define = (which: "top" | "kid", fields: string, others: string, text: string) => {
    const name = `e${index}${which}`;
    const before = which === anew ? `, renamedFrom: "${name}"` : "";
    return `export const ${name}${which === anew ? ANEW : ""} = defineWorkflow({ input: z.object({ ${fields} })${others}${before} })${text};\n`;
  };
  const called = anew === "kid" ? kidName + ANEW : kidName;
  const top = Object.values(nodes).join("\n").replaceAll("KID", called);
  // The child has no part in what is renamed.
  return define("kid", INPUT, "", kid) + define("top", INPUT + more, options, top);
}

/** Each is edited by itself: the version that runs begin with, and the later one. */
const MEMBERS = [IN_TURN, AT_ONCE, CONTROLS].flatMap(({ before, edits }) =>
  Object.entries(edits).map(([edit, { from, ...changed }]) => ({
    edit,
    before: { ...before, ...from },
    after: { ...before, ...from, ...changed },
  })),
);

/** How many members the family has. */
export const FAMILY = MEMBERS.length;
export const topOf = (index: number): string => `e${index}top`;
export const hasControls = (index: number): boolean => MEMBERS[index]!.edit in CONTROLS.edits;
export const editOf = (index: number): string => MEMBERS[index]!.edit;

/** The definitions of the whole family, before and after. */
export const versions = {
  before: IMPORTS + MEMBERS.map(({ before }, index) => textOf(index, before)).join("\n"),
  after: IMPORTS + MEMBERS.map(({ after }, index) => textOf(index, after)).join("\n"),
};

/** The config of an app, with the limits that generated workflows name, and more. */
export const configOf = (more?: object): string => `
import { defineConfig } from "@stepwise/workflow";
export default defineConfig({ limits: ${JSON.stringify({ ...LIMITS, ...more })} });
`;

/** The plan as it is committed, of which `check` compares two. */
async function planOf(text: string, limits: object, before?: WrittenPlan): Promise<WrittenPlan> {
  const sources = [
    { file: "family.workflow.ts", text },
    { file: "stepwise.config.ts", text: configOf(limits) },
  ];
  const { files, diagnostics } = await compileSources(sources, before);
  const parsed = files
    .filter(({ path }) => path.endsWith("plan.json"))
    .map((file) => JSON.parse(file.text) as Partial<WrittenPlan & { workflow: WorkflowThen }>);
  const app = parsed.find(({ workflow }) => workflow === undefined);
  if (app === undefined) throw new Error(diagnostics.map(({ message }) => message).join("\n"));
  const workflows = parsed.flatMap(({ workflow = [] }) => workflow);
  return { ...(app as WrittenPlan), workflows };
}

/** What `check` says of the edits. */
export async function verdicts(): Promise<readonly Change[]> {
  const before = await planOf(versions.before, LIMITS_BEFORE);
  return compare(before, await planOf(versions.after, LIMITS_AFTER, before));
}
