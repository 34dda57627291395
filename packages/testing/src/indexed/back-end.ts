import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { type Database, indexDatabase } from "./database.js";

/** The part of convex-test's `t` that is used. */
interface Accessor {
  finishInProgressScheduledFunctions(): Promise<void>;
  registerComponent(path: string, ...rest: never[]): void;
}

/** What convex-test keeps of one `convexTest()`. */
interface BackEnd {
  readonly components: Readonly<Record<string, { readonly db: Database }>>;
}

/** The sha256 of the source of `DatabaseFake` in convex-test 0.0.60, made plain. */
const KNOWN_DATABASE = "dd642aa74561b0e0f38146cd4ba798feec0998b6aa5f034b4d074a56fddaffd3";

/**
 * convex-test looks through and sorts all documents of a component for every query; a run with some
 * thousand children takes it hours. The `t` that this returns finds the same by sorted indexes, in
 * the app and in the components that are registered with it.
 *
 * It is done to the objects of this one `t`, at run time, and not to convex-test's text by a plugin
 * of a bundler: so it works in plain Node, and a `convexTest()` beside it is what it was.
 *
 * @param lag how many of the newest commits of a component a stale snapshot of it lacks.
 * @throws when the source of convex-test's database is not the one whose methods are replaced
 */
export function withIndexes<T extends Accessor>(t: T, lag?: () => number): T {
  const { components } = backEndOf(t);
  const index = (path: string) => {
    const database = components[path]?.db;
    if (database === undefined || !isKnown(database.constructor.toString())) throw unknown();
    indexDatabase(database, lag);
  };
  index("");
  const registerComponent: T["registerComponent"] = (path, ...rest) => {
    t.registerComponent(path, ...rest);
    index(path);
  };
  return { ...t, registerComponent };
}

/**
 * convex-test gives it to nobody; but it enters an asynchronous context with it whenever a method
 * of `t` is called.
 */
function backEndOf(t: Accessor): BackEnd {
  const contexts: unknown[] = [];
  const { run } = AsyncLocalStorage.prototype;
  AsyncLocalStorage.prototype.run = function seen(...args: Parameters<typeof run>) {
    contexts.push(args[0]);
    return run.apply(this, args);
  };
  try {
    void t.finishInProgressScheduledFunctions();
  } finally {
    AsyncLocalStorage.prototype.run = run;
  }
  const found = contexts.find(
    (context) => typeof context === "object" && context !== null && "components" in context,
  );
  if (found === undefined) throw unknown();
  return found as BackEnd;
}

/**
 * Says whether a text is that of the database of the known version, as it is or as Vite gives it
 * where convex-test is inlined.
 */
export function isKnown(source: string): boolean {
  const plain = source.replaceAll(/\(0,__vi\w*__\.(\w+)\)/g, "$1").replaceAll(/\};$/gm, "}");
  return createHash("sha256").update(plain).digest("hex") === KNOWN_DATABASE;
}

function unknown(): Error {
  return new Error(
    "This is not convex-test 0.0.60, the only version whose queries can be indexed. `new Counter({ indexes: false })` leaves its queries as they are: all documents are looked through for each.",
  );
}
