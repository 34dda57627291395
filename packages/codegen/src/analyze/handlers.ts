import { Node } from "../ts-morph.js";
import { nearest } from "../diagnostics/nearest.js";
import type { FunctionKind, Policy } from "../plan/schema.js";
import type { DefinitionFile } from "./definition-file.js";
import { functionOf, referencePath, unwrap } from "./functions.js";
import type { Option } from "./option.js";
import { policyOf, type Options } from "./options.js";
import type { Role } from "./parameters.js";
import { readsOf, type Reads } from "./reads.js";

export const handlerKinds: readonly FunctionKind[] = ["action", "mutation", "query"];

/** What a stage runs. */
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

export interface HandlerRules {
  /** What the options belong to, for messages: `step "save"`. */
  readonly of: string;
  /** Whether a function reference with `args` may stand in the place of a handler. */
  readonly references: boolean;
  /** Whether there may be no handler at all. */
  readonly optional: boolean;
}

/** Finds the one action, mutation or query among the options of a node, and what it reads. */
export function readHandler(
  options: Options,
  at: Node,
  rules: HandlerRules,
  file: DefinitionFile,
): Handler | undefined {
  const given = handlerKinds.flatMap((kind) => {
    const option = options.get(kind);
    return option === undefined ? [] : [{ kind, option }];
  });
  const [only, second] = given;
  if (only === undefined) {
    if (!rules.optional) {
      const slip = [...options.keys()].find((name) => nearest(name, handlerKinds) !== undefined);
      const place = (slip === undefined ? undefined : options.get(slip)?.nameNode) ?? at;
      const message = `${rules.of} has no action, mutation or query`;
      const hint =
        slip === undefined
          ? "give it exactly one of the three, such as `action: async (ctx, { input }) => …`"
          : `did you mean \`${nearest(slip, handlerKinds)}\` where it has \`${slip}\`?`;
      file.report("oneFunction", place, message, hint);
    }
    return undefined;
  }
  if (second !== undefined) {
    const names = given.map(({ kind }) => kind).join(" and ");
    const message = `${rules.of} has ${names}; a node runs one function`;
    const hint = "keep one, and make a node of its own for the other";
    file.report("oneFunction", second.option.nameNode, message, hint);
    return undefined;
  }
  return classify(only.kind, only.option, options, rules, file);
}

function classify(
  kind: FunctionKind,
  option: Option,
  options: Options,
  rules: HandlerRules,
  file: DefinitionFile,
): Handler | undefined {
  const fn = functionOf(option.value, file);
  const policy = policyOf(options, file);
  if (fn !== undefined) {
    const unused = options.get("args")?.nameNode;
    if (unused !== undefined && rules.references) {
      const message = `\`args\` has no effect on ${rules.of}`;
      const hint = "it is for function references only; a handler gets the scope itself: remove it";
      file.report("noEffect", unused, message, hint);
    }
    return { kind, at: option.nameNode, reads: readsOf(fn, "handler", file), policy };
  }
  const reference = referencePath(option.value, file);
  if (reference === undefined) {
    const message = `the ${kind} of ${rules.of} is neither a handler nor a function reference that can be seen here`;
    const hint = isFromElsewhere(option.value, file)
      ? `what an imported function reads cannot be seen, so wrap it: \`${kind}: (ctx, { input }) => ${option.value.getText()}(ctx, { input })\``
      : "write a function here or at the top of this file, or a path such as `internal.documents.outline`";
    file.report("unknownHandler", option.value, message, hint);
    return undefined;
  }
  if (!rules.references) {
    const message = `${rules.of} takes a handler here, not the reference ${reference}`;
    const hint = "write a function that calls it, or make it a step of its own";
    file.report("inlineOnly", option.value, message, hint);
    return undefined;
  }
  const args = options.get("args");
  if (args === undefined) {
    const message = `${rules.of} runs ${reference}, but nothing says with which arguments`;
    const hint =
      "add `args: ({ input }) => ({ … })`; for a function without arguments `args: () => ({})`";
    file.report("referenceArgs", option.nameNode, message, hint);
    return undefined;
  }
  const reads = scopeReads(args.value, `the args of ${rules.of}`, file, "args");
  if (reads === undefined) return undefined;
  const info = takesInfo(args.value, file) || undefined;
  return { kind, at: option.nameNode, reads, reference, info, policy };
}

/** Whether `args` take `info`, or may look for it. */
function takesInfo(args: Node, file: DefinitionFile): boolean {
  const fn = functionOf(args, file);
  const reads = fn === undefined ? [] : readsOf(fn, "args", file, "info");
  return reads === "*" || reads.length > 0;
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
  const message = `${of} cannot be seen here`;
  const hint = isFromElsewhere(value, file)
    ? `what an imported function reads cannot be seen, so wrap it: \`({ input }) => ${value.getText()}({ input })\``
    : "write a function of the scope here or at the top of this file: `({ input }) => …`";
  file.report("unknownHandler", value, message, hint);
  return undefined;
}

/** What the `recover(error, scope)` of a node reads, if it has one. */
export function readRecover(
  options: Options,
  { label }: { readonly label: string },
  file: DefinitionFile,
): Reads | undefined {
  const option = options.get("recover");
  if (option === undefined) return undefined;
  const fn = functionOf(option.value, file);
  if (fn !== undefined) return readsOf(fn, "recover", file);
  const message = `the recover of ${label} cannot be seen here`;
  const hint = isFromElsewhere(option.value, file)
    ? `what an imported function reads cannot be seen, so wrap it: \`(error, { input }) => ${option.value.getText()}(error, { input })\``
    : "write a function here or at the top of this file: `(error, { input }) => …`";
  file.report("unknownHandler", option.value, message, hint);
  return undefined;
}

/** Whether an expression is a name that is imported, or a member of one; a function reference is none. */
function isFromElsewhere(expression: Node, file: DefinitionFile): boolean {
  const node = unwrap(expression);
  if (Node.isPropertyAccessExpression(node)) return isFromElsewhere(node.getExpression(), file);
  const imported = Node.isIdentifier(node) ? file.imports.get(node.getText())?.imported : undefined;
  return imported !== undefined && imported !== "internal" && imported !== "api";
}
