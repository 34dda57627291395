import { mutationsOf } from "../core/index.js";
import type { MutationCtx } from "./_generated/server.js";

export const { continuation, publicMutation, voidMutation } = mutationsOf<MutationCtx>();
