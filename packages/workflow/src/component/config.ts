import { setConfig, vConfig } from "@stepwise/workpool/core";
import { publicMutation } from "./core/continuations.js";
import { pool } from "./core/poolHost.js";

/**
 * Sets what is given, at once, until the manager's options change. `maxParallelism: 0` pauses.
 * `limits` are all that there are.
 * @throws if a number or a name is out of its range.
 */
export const update = publicMutation(vConfig.fields, (ctx, config) => setConfig(ctx, pool, config));
