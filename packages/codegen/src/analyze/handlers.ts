import { Node } from "../ts-morph.js";
import type { FunctionKind, Policy } from "../plan/schema.js";
import type { DefinitionFile } from "./parser.js";
import { functionOf, referencePath, unwrap, type Option } from "./functions.js";
import { handlerKinds, type Options, policyOf, slipHint, slipOf } from "./options.js";
import { type Reads, readsOf, type Role } from "./reads.js";

export interface Handler {
  readonly kind: FunctionKind;
  readonly at: Node;
  readonly reads: Reads;
  readonly policy: Policy;
  /** The path of the user's function; absent for an inline handler. */
  readonly reference?: string;
  /** Whether the `args` of the reference ask for `info`. */
  readonly info?: true | undefined;
}

/** Finds the one action, mutation or query of a node; `isInline` allows none, and no reference. */
export function readHandler(
  options: Options,
  at: Node,
  of: string,
  file: DefinitionFile,
  isInline = false,
): Handler | undefined {
  const given = handlerKinds.flatMap((kind) => {
    const option = options.get(kind);
    return option === undefined ? [] : [{ kind, option }];
  });
  const [only, second] = given;
  if (only === undefined) {
    if (isInline) return undefined;
    const place = options.get(slipOf(options, handlerKinds) ?? "")?.nameNode ?? at;
    const hint =
      slipHint(options, handlerKinds) ??
      "give it exactly one of the three, such as `action: async (ctx, { input }) => …`";
    file.report("oneFunction", place, `${of} has no action, mutation or query`, hint);
    return undefined;
  }
  if (second !== undefined) {
    const names = given.map(({ kind }) => kind).join(" and ");
    const message = `${of} has ${names}; a node runs one function`;
    const hint = "keep one, and make a node of its own for the other";
    file.report("oneFunction", second.option.nameNode, message, hint);
    return undefined;
  }
  return classify(only.kind, only.option, options, of, file, isInline);
}

function classify(
  kind: FunctionKind,
  { value, nameNode: at }: Option,
  options: Options,
  of: string,
  file: DefinitionFile,
  isInline: boolean,
): Handler | undefined {
  const fn = functionOf(value, file);
  const policy = policyOf(options, file);
  const args = options.get("args");
  if (fn !== undefined) {
    const hint = "it is for function references only; a handler gets the scope itself: remove it";
    if (args !== undefined && !isInline)
      file.report("noEffect", args.nameNode, `\`args\` has no effect on ${of}`, hint);
    return { kind, at, reads: readsOf(fn, "handler", file), policy };
  }
  const reference = referencePath(value, file);
  if (reference === undefined) {
    const what = `the ${kind} of ${of} is neither a handler nor a function reference that can be seen here`;
    const instead =
      "write a function here or at the top of this file, or a path such as `internal.documents.outline`";
    reportUnseen(value, what, [`${kind}: `, "ctx, { input }"], instead, file);
    return undefined;
  }
  if (isInline) {
    const message = `${of} takes a handler here, not the reference ${reference}`;
    const hint = "write a function that calls it, or make it a step of its own";
    file.report("inlineOnly", value, message, hint);
    return undefined;
  }
  if (args === undefined) {
    const message = `${of} runs ${reference}, but nothing says with which arguments`;
    const hint =
      "add `args: ({ input }) => ({ … })`; for a function without arguments `args: () => ({})`";
    file.report("referenceArgs", at, message, hint);
    return undefined;
  }
  const reads = scopeReads(args.value, `the args of ${of}`, file, "args");
  if (reads === undefined) return undefined;
  const given = functionOf(args.value, file);
  const takesInfo = given !== undefined && readsOf(given, "args", file, "info").length > 0;
  return { kind, at, reads, reference, info: takesInfo || undefined, policy };
}

/** What a function of the scope alone reads, such as `args` or `children`. */
export function scopeReads(
  value: Node,
  of: string,
  file: DefinitionFile,
  role: Role = "ofScope",
): Reads | undefined {
  const fn = functionOf(value, file);
  if (fn !== undefined) return readsOf(fn, role, file);
  const given = role === "recover" ? "error, { input }" : "{ input }";
  const what = role === "recover" ? "function" : "function of the scope";
  const instead = `write a ${what} here or at the top of this file: \`(${given}) => …\``;
  reportUnseen(value, `${of} cannot be seen here`, ["", given], instead, file);
  return undefined;
}

export function readRecover(
  options: Options,
  label: string,
  visible: readonly string[],
  file: DefinitionFile,
): { reads: Reads; visible: readonly string[] } | undefined {
  const value = options.get("recover")?.value;
  const reads = value && scopeReads(value, `the recover of ${label}`, file, "recover");
  return reads && { reads, visible };
}

/** Reports a function that cannot be read. One that is imported can be wrapped in one that can. */
function reportUnseen(
  value: Node,
  message: string,
  [before, given]: readonly [before: string, given: string],
  instead: string,
  file: DefinitionFile,
): void {
  const hint = isFromElsewhere(value, file)
    ? `what an imported function reads cannot be seen, so wrap it: \`${before}(${given}) => ${value.getText()}(${given})\``
    : instead;
  file.report("unknownHandler", value, message, hint);
}

/** Whether an expression is an imported name or a member of one, and no function reference. */
function isFromElsewhere(expression: Node, file: DefinitionFile): boolean {
  const node = unwrap(expression);
  if (Node.isPropertyAccessExpression(node)) return isFromElsewhere(node.getExpression(), file);
  const imported = Node.isIdentifier(node) ? file.imports.get(node.getText())?.imported : undefined;
  return imported !== undefined && imported !== "internal" && imported !== "api";
}
