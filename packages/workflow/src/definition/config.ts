import type { LogLevel } from "@stepwise/workpool/core";
import type { Duration } from "../rules.js";
import type { Retry } from "./node.js";

/** What holds for all workflows of an app. */
export interface Config {
  /** The name under which `convex.config.ts` mounts the component: `flows` for `app.use(workflow, { name: "flows" })`. Default: `"workflow"`. */
  component?: string;
  /** As of the manager: how many steps run at once in the whole app, from 0 (paused) to 200. Default: what is stored; 10 at first. */
  maxParallelism?: number;
  /** As of the manager: how much is logged, from `"DEBUG"` to `"ERROR"`. Default: what is stored; `"REPORT"` at first. */
  logLevel?: LogLevel;
  /** How long a run of a workflow that says nothing of `retention` is kept after its end. Default: for ever. */
  retention?: Duration;
  /** For every action of a workflow that says nothing of `retry`, neither itself nor for all its actions. Default: one attempt. */
  retry?: Retry;
  /**
   * The folder under the functions folder that holds what the compiler writes, such as `"generated/workflows"`: names of letters, digits and `_`.
   * It cannot change while generated code stands in another folder. Default: `"_workflows"`.
   */
  output?: string;
}

/**
 * What holds for all workflows of an app: the default export of `stepwise.config.ts`, in the functions folder. The compiler reads it as it
 * stands there, so all values are literals.
 *
 * @example
 * export default defineConfig({ maxParallelism: 50, retention: "30 days", retry: true });
 */
export function defineConfig(config: Config): Config {
  return config;
}
