import { createRequire } from "node:module";
import type * as TsMorph from "ts-morph";

/* By `require`, as Node would look through all of the package before it imports it. */
const library = createRequire(import.meta.url)("ts-morph") as typeof TsMorph;

export const { Project, ScriptTarget, SyntaxKind, VariableDeclarationKind, ts } = library;

export const Node = library.Node;
export type Node = TsMorph.Node;

export type { ts as TypeScript } from "ts-morph";
