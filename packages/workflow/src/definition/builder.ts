import type { Children, ChildrenOutput } from "./children.js";
import type { Definition, WorkflowOptions } from "./definition.js";
import type {
  AnyReference,
  Inline,
  InlineStep,
  NoHandler,
  Policy,
  ReferenceStep,
  Returned,
} from "./node.js";
import type { AnySchema, InferInput, InferOutput } from "./schema.js";
import type { Stored, Valid } from "./values.js";

/*
 * A scope is carried as a tuple of [name, output] and made an object only where a handler asks: of the forms tried, the only one whose
 * checking stays linear in the number of nodes.
 */
export type Entries = readonly (readonly [string, unknown])[];
type Simplify<T> = { [K in keyof T]: T[K] } & {};
export type ScopeOf<Scope extends Entries> = { [Entry in Scope[number] as Entry[0]]: Entry[1] };
type Taken<Scope extends Entries, Name> = Name extends keyof ScopeOf<Scope>
  ? `the name "${Name & string}" is already taken`
  : Name;

/** The options of a parent, but for its own handler. The order matters to inference: handler, children, finalize. */
interface ParentOptions<Scope, C, Result> extends Omit<Policy, "timeout"> {
  /** The children, from what came before and, if there is a handler, its `output`. Called once. */
  children: (scope: Simplify<Scope>) => C;
  /** How many children run at once at most. Default: the pool's `maxParallelism`. */
  concurrency?: number;
  /** Makes the node's output when the last child has ended. Default: the output is `{ output, children }`. */
  finalize?: Inline<Simplify<Scope & { children: ChildrenOutput<C> }>, Result> &
    Policy &
    Valid<Result>;
}

/** A definition that can still grow. */
export interface Builder<Input, Scope extends Entries, Output> extends Definition<
  Input,
  ScopeOf<Scope>,
  Output
> {
  /**
   * One Convex function: an inline handler `(ctx, scope, info)`, or a reference with `args`. Its result is stored under the name.
   */
  step<const Name extends string, Result>(
    name: Taken<Scope, Name>,
    node: InlineStep<ScopeOf<Scope>, Result> & Valid<Result>,
  ): Builder<Input, [...Scope, [Name, Stored<Result>]], Stored<Result>>;
  step<const Name extends string, Reference extends AnyReference>(
    name: Taken<Scope, Name>,
    node: ReferenceStep<Reference, ScopeOf<Scope>>,
  ): Builder<Input, [...Scope, [Name, Returned<Reference>]], Returned<Reference>>;

  /**
   * Runs `children` in parallel, after a handler of its own if it has one, and gathers their outputs in the order, or under the keys,
   * in which they were given.
   */
  parent<const Name extends string, C extends Children, Result = { children: ChildrenOutput<C> }>(
    name: Taken<Scope, Name>,
    node: NoHandler & ParentOptions<ScopeOf<Scope>, C, Result>,
  ): Builder<Input, [...Scope, [Name, Stored<Result>]], Stored<Result>>;
  parent<
    const Name extends string,
    Handled,
    C extends Children,
    Result = { output: Stored<Handled>; children: ChildrenOutput<C> },
  >(
    name: Taken<Scope, Name>,
    node: Inline<ScopeOf<Scope>, Handled> &
      Valid<Handled> &
      ParentOptions<ScopeOf<Scope> & { output: Stored<Handled> }, C, Result>,
  ): Builder<Input, [...Scope, [Name, Stored<Result>]], Stored<Result>>;

  /** The last node: its result is the workflow's output. */
  finalize<Result>(
    node: Inline<ScopeOf<Scope>, Result> & Policy & Valid<Result>,
  ): Definition<Input, ScopeOf<Scope>, Stored<Result>>;
}

class Definer {
  readonly nodes: Record<string, unknown> = {};

  constructor(readonly options: WorkflowOptions<AnySchema>) {}

  step(name: string, node: unknown): this {
    return this.add(name, node);
  }

  parent(name: string, node: unknown): this {
    return this.add(name, node);
  }

  finalize(node: unknown): this {
    return this.add("finalize", node);
  }

  private add(name: string, node: unknown): this {
    if (Object.hasOwn(this.nodes, name))
      throw new Error(`The node name "${name}" is already taken`);
    this.nodes[name] = node;
    return this;
  }
}

/**
 * Begins a workflow; chain its nodes to it, and export the result. `npx workflow-codegen` makes it run.
 *
 * @example
 * export const greet = defineWorkflow({ input: z.object({ name: z.string() }) })
 *   .step("greeting", { action: async (ctx, { input }) => `Hello ${input.name}` });
 */
export function defineWorkflow<Schema extends AnySchema>(
  options: WorkflowOptions<Schema>,
): Builder<InferInput<Schema>, [["input", InferOutput<Schema>]], null> {
  // The builder's type grows with every call; its value is one and the same object.
  return new Definer(options) as unknown as Builder<
    InferInput<Schema>,
    [["input", InferOutput<Schema>]],
    null
  >;
}
