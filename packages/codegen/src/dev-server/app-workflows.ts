import { componentsGeneric, type FunctionReference } from "convex/server";
import { suggestion } from "../diagnostics/nearest.js";
import { configFile } from "../plan/paths.js";
import type { BackEnd } from "./back-end.js";

const RUN_TIME = "@stepwise/workflow";

/** What the generated `index` exports, as far as it is used here. */
interface WorkflowsIndex {
  readonly workflows: Record<string, unknown>;
  readonly workflow: {
    start(ctx: unknown, reference: unknown, input: unknown): Promise<string>;
    sendEvent(ctx: unknown, reference: unknown, ...of: [string, string, unknown]): Promise<unknown>;
  };
}

/** Starts a run in a mutation; gives its id. @throws if `start` refuses the input */
export async function startRun(back: BackEnd, name: string, input: unknown): Promise<string> {
  const { workflow, reference } = await loadWorkflow(back, name);
  return await back.t.mutation(async (ctx) => await workflow.start(ctx, reference, input));
}

/** Sends a run an event as the app itself would, in a mutation. @throws if it is not taken */
export async function sendEvent(
  back: BackEnd,
  name: string,
  runId: string,
  event: string,
  value: unknown,
): Promise<void> {
  const { workflow, reference } = await loadWorkflow(back, name);
  await back.t.mutation(async (ctx) => {
    await workflow.sendEvent(ctx, reference, runId, event, value);
  });
}

/** The manager, and the reference of one workflow. @throws when the app has no such workflow */
async function loadWorkflow(back: BackEnd, name: string) {
  const index = `${back.output}/index`;
  const loaded = (await back.load(index)) as WorkflowsIndex | undefined;
  if (loaded === undefined) throw new Error(`There is no ${index} in the functions folder.`);
  const { workflow, workflows } = loaded;
  const reference = Object.hasOwn(workflows, name) ? workflows[name] : undefined;
  if (reference !== undefined) return { workflow, reference };
  const hint = suggestion(name, Object.keys(workflows).sort(), "workflows");
  throw new Error(`There is no workflow "${name}". ${hint}`);
}

/** Where the component with the runs is mounted. @throws when the app does not mount it */
export function workflowComponentPath(back: BackEnd): string {
  const component = back.componentOf(RUN_TIME);
  if (component === undefined) {
    throw new Error(
      `The app does not mount "${RUN_TIME}". Add to convex.config.ts:\n` +
        `  import workflow from "${RUN_TIME}/convex.config";\n  app.use(workflow);\n` +
        "or have workflow-codegen init do it.",
    );
  }
  return component.path;
}

type SetLevel = FunctionReference<"mutation", "internal", { logLevel: "ERROR" }, null>;

/** Has the component log nothing but errors, unless the app's config says how much. */
export async function logErrorsOnly(back: BackEnd): Promise<void> {
  const { config } = componentsGeneric()[workflowComponentPath(back)]!;
  const update = config!["update"] as unknown as SetLevel;
  await back.counter.uncounted(
    async () =>
      await back.t.mutation(async (ctx) => await ctx.runMutation(update, { logLevel: "ERROR" })),
  );
}

/** Checks that the component is mounted where generated code looks for it. @throws if it is not */
export function checkComponent(back: BackEnd, name: string): void {
  const path = workflowComponentPath(back);
  if (path === name) return;
  throw new Error(
    `The app mounts "${RUN_TIME}" under the name "${path}", but generated code looks for "${name}". Say so in ${configFile}:\n` +
      `  export default defineConfig({ component: "${path}" });\n` +
      "or have workflow-codegen init do it.",
  );
}
