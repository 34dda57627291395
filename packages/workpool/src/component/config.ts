import { setConfig, vConfig } from "../core/index.js";
import { publicMutation } from "./continuations.js";
import { host } from "./host.js";

/** Sets what is given, until the class's own options change. @throws if it is out of range. */
export const update = publicMutation(vConfig.fields, (ctx, config) => setConfig(ctx, host, config));
