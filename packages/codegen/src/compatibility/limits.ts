import { quote } from "../diagnostics/diagnostic.js";
import type { WrittenPlan } from "../plan/schema.js";
import type { Change } from "./lines.js";

/** Tells which limits of the config are new, changed or gone: works store their names. */
export function limitChanges(before: WrittenPlan, now: WrittenPlan): Change[] {
  const then = before.config?.limits ?? {};
  const limits = now.config?.limits ?? {};
  const gone = Object.keys(then).filter((name) => !Object.hasOwn(limits, name));
  const about = (name: string, message: string): Change => ({
    workflow: "",
    compatibility: "safe",
    message: `the limit ${quote(name)} is ${message}`,
  });
  return [
    ...gone.map((name) => about(name, "removed or renamed: actions that wait for it begin")),
    ...Object.entries(limits).flatMap(([name, limit]) => {
      const old = Object.hasOwn(then, name) ? then[name] : undefined;
      if (old === undefined) return [about(name, "new: actions that run already do not count")];
      if (JSON.stringify(old) === JSON.stringify(limit)) return [];
      return [about(name, "changed: actions that it lets through now begin, and none is ended")];
    }),
  ];
}
