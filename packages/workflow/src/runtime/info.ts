import type { Token } from "../component/validators.js";
import type { Info } from "../definition/context.js";

type Identity = Pick<Token, "run" | "attempt" | "pass" | "generation">;

/** What a handler is told of its own execution. */
export function identityOf(
  { run, attempt, pass = [], generation = 1 }: Identity,
  stage: string,
): Pick<Info, "runId" | "attempt" | "idempotencyKey"> {
  const inPass = pass.length === 0 ? "" : `#${pass.join(".")}`;
  const again = generation === 1 ? "" : `~${generation}`;
  return { runId: run, attempt, idempotencyKey: `${run}/${stage}${inPass}${again}` };
}

/** The same for a mutation or query, which the run's own transaction executes: it has one attempt, and cannot be overtaken. */
export function nestedInfo(of: Omit<Identity, "attempt">, stage: string): Info {
  return {
    ...identityOf({ ...of, attempt: 1 }, stage),
    previousError: null,
    isCanceled: async () => false,
    /** Never aborted; made for whoever asks for it. */
    get signal() {
      return new AbortController().signal;
    },
  };
}
