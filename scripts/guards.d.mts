import type { Plugin } from "esbuild";
import type { Plugin as VitePlugin } from "vite";

/** A change of the sources: a guard that is left out, or a text in whose place comes another. */
export type Mutation =
  | { readonly guard: string }
  | { readonly file?: string; readonly find: string; readonly replace: string };

export function markedGuards(): Map<string, string[]>;
export function withoutGuard(text: string, guard: string): string;
export function placesOf(mutation: Mutation): number;
export function mutating(mutation: Mutation): Plugin;
export function mutationOf(mutation: Mutation): VitePlugin;
export function givenMutation(): Mutation | undefined;
