import { createRequire } from "node:module";
import type * as TsMorph from "ts-morph";

/*
 * What is used of ts-morph. By `require`, because before an import Node looks through all of a CommonJS
 * package, here with TypeScript in it. That takes a quarter longer to load.
 */
const library = createRequire(import.meta.url)("ts-morph") as typeof TsMorph;

export const { Project, ScriptTarget, SyntaxKind, VariableDeclarationKind, ts } = library;

export const Node = library.Node;
export type Node = TsMorph.Node;

export type { ts as TypeScript } from "ts-morph";
