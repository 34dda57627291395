import type { Auth } from "convex/server";
import { ConvexError } from "convex/values";

/** The user who is signed in. Every public function calls this first, as anybody can call it. */
export async function requireUser(ctx: { readonly auth: Auth }) {
  const user = await ctx.auth.getUserIdentity();
  if (user === null) throw new ConvexError("Sign in first");
  return user;
}
