import type { JSONValue } from "convex/values";
import type { SeedTable } from "../dev-server/index.js";
import { readJson, valueOf } from "./run-json.js";

/**
 * The documents of a seed file, table by table in its order.
 *
 * @throws when the file cannot be read, or is not `{ table: [document, …] }`
 */
export async function readSeed(path: string): Promise<SeedTable[]> {
  const json = await readJson(`@${path}`, "--seed");
  if (!isObject(json)) throw new Error(`${path} is not an object of tables: ${FORM}`);
  return Object.entries(json).map(([table, documents]) => {
    if (!Array.isArray(documents) || !documents.every(isObject))
      throw new Error(`The table "${table}" in ${path} is not a list of documents: ${FORM}`);
    return { table, documents: documents.map((each) => valueOf(each) as Record<string, unknown>) };
  });
}

const FORM = '{ "orders": [{ "_id": "order-1", "total": 5 }] }';

function isObject(json: JSONValue | undefined): json is Record<string, JSONValue> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
