import { limitFunctions } from "../core/limits/index.js";
import { host } from "./host.js";

export const { override, pause, resume, reset, get, list } = limitFunctions(host);
