import { readFile } from "node:fs/promises";
import { jsonToConvex, type JSONValue, type Value } from "convex/values";
import { whyUnreadable } from "../dev-server/index.js";

/** JSON as it is given on the command line, or in the file that is named there after an `@`. */
export async function readJson(given: string, option: string): Promise<JSONValue> {
  const path = given.startsWith("@") ? given.slice(1) : undefined;
  const text = path === undefined ? given : await readGiven(path, option);
  try {
    return JSON.parse(text) as JSONValue;
  } catch (cause) {
    throw new Error(`${path ?? option} is not JSON.`, { cause });
  }
}

async function readGiven(path: string, option: string): Promise<string> {
  let why = "";
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    why = whyUnreadable(path, error);
    return undefined;
  });
  if (text !== undefined) return text;
  throw new Error(`${option} cannot be read: ${why}`);
}

/** With what JSON has no form for in the form that Convex gives it. */
export const valueOf = (json: JSONValue): Value => jsonToConvex(json);
