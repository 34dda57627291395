import { limitFunctions } from "@stepwise/workpool/core/limits";
import { pool } from "./core/poolHost.js";

export const { override, pause, resume, reset, get, list } = limitFunctions(pool);
