import { createHash } from "node:crypto";
import { type Accessor, type BackEnd, backEndOf } from "../back-end.js";
import { type Database, indexDatabase } from "./database.js";

/** The sha256 of the source of `DatabaseFake` in convex-test 0.0.71, made plain. */
const KNOWN_DATABASE = "53b895e3c0b1d118447bf48cbcef1f255c85a4d16c5aae63c50824e7488abc94";

/**
 * convex-test looks through and sorts all documents of a table for every query; a run with some
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
  const backEnd = backEndOf(t);
  const index = (path: string) => {
    const database = databaseOf(backEnd, path);
    if (database === undefined) throw unknown();
    indexDatabase(database, lag);
  };
  index("");
  const registerComponent: T["registerComponent"] = (path, ...rest) => {
    const references = t.registerComponent(path, ...rest);
    index(path);
    return references;
  };
  return { ...t, registerComponent };
}

/** Says whether `t` is of the version whose queries {@link withIndexes} can answer. */
export function canIndex(t: Accessor): boolean {
  return databaseOf(backEndOf(t), "") !== undefined;
}

/** Undefined if there is none whose methods are known. */
function databaseOf(backEnd: BackEnd | undefined, path: string): Database | undefined {
  const database = backEnd?.components[path]?.db;
  return database !== undefined && isOfKnown(database.constructor) ? database : undefined;
}

/** Each test has a database of its own, and all of them have one class, whose text is long. */
const known = new WeakMap<object, boolean>();

function isOfKnown(made: object): boolean {
  const before = known.get(made);
  if (before !== undefined) return before;
  const is = isKnown(made.toString());
  known.set(made, is);
  return is;
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
    "This is not convex-test 0.0.71, the only version whose queries can be indexed, which `indexes` and `lag` need. Without them `new Counter()` leaves its queries as they are.",
  );
}
