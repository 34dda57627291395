import { readFile } from "node:fs/promises";
import type { Part } from "@stepwise/testing";
import { modules, schema } from "@stepwise/workflow/test";
import { defineSchema } from "convex/server";
import type { Workflows } from "../differential/definition.js";
import { MANAGE } from "../differential/manage.js";
import { Releases } from "../edits/releases.js";
import type { Scenario } from "./scenario.js";

/** An app with the workflows of some scenarios, compiled by the real compiler. */
export interface App {
  readonly parts: readonly Part[];
  readonly workflows: Workflows;
}

/** A workflow of one action, of which a fresh run must be done soon. */
const PROBE = `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const probe = defineWorkflow({ input: z.object({}) }).step("act", { action: () => "done" });
`;

const releases = new Releases();

/** Compiles the definitions of several scenarios together: the bundler takes as long for one. */
export async function compiled(scenarios: readonly Pick<Scenario, "definition">[]): Promise<App> {
  const behaviour = await readFile(
    new URL("../differential/behaviour.ts", import.meta.url),
    "utf8",
  );
  const definitions = scenarios.map(({ definition }, index) => [
    `d${index}.workflow.ts`,
    definition,
  ]);
  const version = await releases.release({
    "behaviour.ts": behaviour,
    "manage.ts": MANAGE,
    "probe.workflow.ts": PROBE,
    ...Object.fromEntries(definitions),
  });
  const index = await version.modules["./convex/_workflows/index.js"]!();
  const app = { "./convex/_generated/api.js": async () => ({}), ...version.modules };
  return {
    // What the compiler has written has one.
    workflows: (index as { workflows: Workflows }).workflows,
    parts: [
      { path: "", schema: defineSchema({}, { schemaValidation: false }), modules: app },
      { path: "workflow", schema, modules },
    ],
  };
}

export async function removeAll(): Promise<void> {
  await releases.remove();
}
