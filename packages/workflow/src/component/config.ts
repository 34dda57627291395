import { setConfig, vConfig } from "@stepwise/workpool/core";
import { publicMutation } from "./core/continuations.js";
import { pool } from "./core/pool.js";

/**
 * Sets what is given, at once, until the manager's options change. `maxParallelism: 0` pauses.
 * @throws if `maxParallelism` is not a whole number from 0 to 200.
 */
export const update = publicMutation(vConfig.fields, (ctx, config) => setConfig(ctx, pool, config));
