import type { LogLevel } from "@stepwise/workpool/core";
import type { Duration } from "../rules.js";
import type { Retry } from "./node.js";

/** The settings of all workflows of an app. */
export interface Config {
  /** The name under which `convex.config.ts` mounts the component. Default: `"workflow"`. */
  component?: string;
  /** How many steps run at once, from 0 (paused) to 200. Default: what is stored; 10 at first. */
  maxParallelism?: number;
  /** `"DEBUG"` to `"ERROR"`. Default: what is stored; `"REPORT"` at first. */
  logLevel?: LogLevel;
  /** How long a run of a workflow without a `retention` is kept after its end. Default: forever. */
  retention?: Duration;
  /** For every action without a `retry`, in a workflow without one. Default: one attempt. */
  retry?: Retry;
  /**
   * The folder of the generated code, under the functions folder, such as `"generated/workflows"`:
   * names of letters, digits and `_`. It cannot change while generated code stands in another
   * folder. Default: `"_workflows"`.
   */
  output?: string;
}

/**
 * The default export of `stepwise.config.ts`, in the functions folder. The compiler reads its text,
 * so all values are literals.
 *
 * @example
 * export default defineConfig({ maxParallelism: 50, retention: "30 days", retry: true });
 */
export function defineConfig(config: Config): Config {
  return config;
}
