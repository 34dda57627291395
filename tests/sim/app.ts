import { readFile } from "node:fs/promises";
import type { Part } from "@stepwise/testing";
import { modules, schema } from "@stepwise/workflow/test";
import { defineSchema } from "convex/server";
import type { Workflows } from "../differential/definition.js";
import { MANAGE } from "../differential/manage.js";
import { type Files, Releases, type Version } from "../edits/releases.js";
import type { Change } from "../../packages/codegen/src/compatibility/lines.js";
import { LIMITS_AFTER, LIMITS_BEFORE } from "./edits-of-controls.js";
import { configOf, nameBefore, verdicts, versions } from "./deploys.js";
import type { Scenario } from "./scenario.js";

/** An app with the workflows of some scenarios, compiled by the real compiler. */
export interface App {
  readonly parts: readonly Part[];
  readonly workflows: Workflows;
  /** What is deployed later, and what `check` says of that. */
  readonly later?: App & { readonly changes: readonly Change[] };
}

/** A workflow of one action, of which a fresh run must be done soon. */
const PROBE = `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const probe = defineWorkflow({ input: z.object({}) }).step("act", { action: () => "done" });
`;

const releases = new Releases();

/** Compiles the definitions of several scenarios together: the bundler takes as long for one. */
export async function compiled(
  scenarios: readonly Pick<Scenario, "definition" | "edit">[],
): Promise<App> {
  if (scenarios.some(({ edit }) => edit !== undefined)) return await familyApp();
  const definitions = scenarios.map(({ definition }, index) => [
    `d${index}.workflow.ts`,
    definition,
  ]);
  return await appOf(await releases.release(await filesOf(Object.fromEntries(definitions))));
}

let family: Promise<App> | undefined;

/** The app of all edits, before and after; compiled once. */
async function familyApp(): Promise<App> {
  family ??= (async () => {
    const before = await filesOf({ "family.workflow.ts": versions.before }, LIMITS_BEFORE);
    const after = await filesOf({ "family.workflow.ts": versions.after }, LIMITS_AFTER);
    const [first, second] = [await releases.release(before), await releases.release(after, before)];
    const later = { ...(await appOf(second)), changes: await verdicts() };
    return { ...(await appOf(first)), later };
  })();
  return await family;
}

/** @param more limits that the app has beside those that generated workflows name. */
async function filesOf(definitions: Files, more?: object): Promise<Files> {
  const behaviour = await readFile(
    new URL("../differential/behaviour.ts", import.meta.url),
    "utf8",
  );
  return {
    "behaviour.ts": behaviour,
    "manage.ts": MANAGE,
    "probe.workflow.ts": PROBE,
    "stepwise.config.ts": configOf(more),
    ...definitions,
  };
}

async function appOf(version: Version): Promise<App> {
  const index = await version.modules["./convex/_workflows/index.js"]!();
  const app = { "./convex/_generated/api.js": async () => ({}), ...version.modules };
  // What the compiler has written has one.
  const workflows = Object.entries((index as { workflows: Workflows }).workflows);
  return {
    workflows: Object.fromEntries(workflows.map(([name, each]) => [nameBefore(name), each])),
    parts: [
      { path: "", schema: defineSchema({}, { schemaValidation: false }), modules: app },
      { path: "workflow", schema, modules },
    ],
  };
}

export async function removeAll(): Promise<void> {
  family = undefined;
  await releases.remove();
}
