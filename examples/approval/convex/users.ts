import type { Auth } from "convex/server";
import { ConvexError } from "convex/values";

/** The user who is signed in. Every public function asks for it first, as anybody can call those. */
export async function requireUser(ctx: { readonly auth: Auth }) {
  const user = await ctx.auth.getUserIdentity();
  if (user === null) throw new ConvexError("Sign in first");
  return user;
}
