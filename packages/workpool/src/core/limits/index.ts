/*
 * What a component exports as `limits`. Apart from the core, which the types of each app go
 * through.
 */

export type { ListedLimit, SeenLimit } from "./client.js";
export { limitFunctions } from "./functions.js";
