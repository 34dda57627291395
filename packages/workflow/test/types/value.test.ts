import { describe, expect, test } from "vitest";
import { z } from "zod";
import { child, childNamed, defineWorkflow } from "../../src/definition/index.js";

/*
 * What a definition holds, for generated code and the run time; and what is refused of a JavaScript
 * user.
 */

const begin = () => defineWorkflow({ input: z.object({ a: z.string() }) });
const action = async () => 1;
const options = { initial: () => 0, until: () => true, maxIterations: 3 };
/** As one who writes JavaScript sees it. */
const untyped = (): any => begin();

describe("the value of a definition", () => {
  test("holds its options, and its nodes by name in the order written, each with its kind", () => {
    const input = z.object({ a: z.string() });
    const step = { action, retry: true, recover: () => 2, compensate: { mutation: () => null } };
    const parent = { children: () => [child(begin(), { a: "" })], tolerate: "all" as const };
    const event = { schema: z.string(), timeout: "1h" as const };
    const finalize = { mutation: () => null };
    const definition = defineWorkflow({ input, timeout: "1h", renamed: { old: "step" } })
      .step("step", step)
      .parent("parent", parent)
      .event("event", event)
      .finalize(finalize);
    expect(definition.options).toEqual({ input, timeout: "1h", renamed: { old: "step" } });
    expect(Object.keys(definition.nodes)).toEqual(["step", "parent", "event", "finalize"]);
    expect(definition.nodes.step).toEqual({ kind: "step", ...step });
    expect(definition.nodes.parent).toEqual({ kind: "parent", ...parent });
    expect(definition.nodes.event).toEqual({ kind: "event", ...event });
    expect(definition.nodes.finalize).toEqual({ kind: "finalize", ...finalize });
  });

  test("holds the duration of a sleep, and the workflow and args of a child", () => {
    const computed = () => 1;
    const leaf = begin();
    const args = () => ({ a: "" });
    const { nodes } = begin()
      .sleep("fixed", "10m")
      .sleep("computed", computed)
      .child("one", leaf, args);
    expect(nodes).toEqual({
      fixed: { kind: "sleep", duration: "10m" },
      computed: { kind: "sleep", duration: computed },
      one: { kind: "child", workflow: leaf, args },
    });
    expect(Object.values(nodes.one)).toContain(leaf);
  });

  test("holds the nodes of a body and of cases, to any depth, under plain names", () => {
    const on = () => "big" as const;
    const either = ({ input }: { input: { a: string } }) => (input.a === "" ? "none" : "big");
    const x = { action };
    const y = { query: () => 1 };
    const { nodes } = begin()
      .branch("route", {
        on: either,
        cases: { big: (b) => b.step("x", x).step("y", y), none: (b) => b },
      })
      .loop("agent", {
        ...options,
        body: (b) =>
          b
            .loop("inner", { ...options, body: (b) => b.sleep("rest", 1).step("x", x) })
            .branch("which", { on, cases: { big: (b) => b.step("y", y) } })
            .step("last", x),
      });
    const steps = { x: { kind: "step", ...x }, y: { kind: "step", ...y } };
    expect(nodes).toEqual({
      route: { kind: "branch", on: either, cases: { big: steps, none: {} } },
      agent: {
        kind: "loop",
        ...options,
        body: {
          inner: {
            kind: "loop",
            ...options,
            body: { rest: { kind: "sleep", duration: 1 }, x: steps.x },
          },
          which: { kind: "branch", on, cases: { big: { y: steps.y } } },
          last: steps.x,
        },
      },
    });
    expect(Object.getPrototypeOf(nodes.agent.body)).toBe(Object.prototype);
    expect(Object.keys(nodes.route.cases.big)).toEqual(["x", "y"]);
  });

  test("a body is evaluated once, when the definition is written", () => {
    let evaluated = 0;
    const definition = begin().loop("agent", {
      ...options,
      body: (b) => {
        evaluated += 1;
        return b.step("x", { action });
      },
    });
    void [definition.nodes.agent.body, definition.nodes.agent.body];
    expect(evaluated).toBe(1);
  });

  test("a child is its workflow, or the name of one, and its input", () => {
    const leaf = begin();
    expect(child(leaf, { a: "x" })).toEqual({ workflow: leaf, input: { a: "x" } });
    expect(childNamed<number>("walk", { n: 1 })).toEqual({ workflow: "walk", input: { n: 1 } });
  });
});

describe("names", () => {
  test.each(["x", "rest"])("one that is taken is refused: %s", (name) => {
    const b = untyped().step("x", { action }).sleep("rest", 1);
    const taken = `The node name "${name}" is already taken`;
    expect(() => b.step(name, { action })).toThrow(taken);
    expect(() => b.sleep(name, 1)).toThrow(taken);
    expect(() =>
      b.branch("route", { on: () => "k", cases: { k: (b: any) => b.step(name, { action }) } }),
    ).toThrow(taken);
    expect(() =>
      b.loop("agent", {
        ...options,
        body: (b: any) =>
          b.loop("inner", { ...options, body: (b: any) => b.step(name, { action }) }),
      }),
    ).toThrow(taken);
  });

  test("two cases may have one, and what comes after may have it again", () => {
    const one = (b: any) => b.step("x", { action });
    const definition = untyped()
      .branch("route", { on: () => "k", cases: { k: one, l: one } })
      .loop("agent", { ...options, body: one })
      .step("x", { action });
    expect(Object.keys(definition.nodes)).toEqual(["route", "agent", "x"]);
  });

  test("one that every object has is a name like any other", () => {
    expect(() => untyped().step("toString", { action }).step("valueOf", { action })).not.toThrow();
  });
});

describe("what JavaScript lets pass", () => {
  test("[S8] a loop without a body, and a branch without cases", () => {
    expect(() => untyped().loop("agent", { ...options, body: (b: unknown) => b })).toThrow(
      'The body of loop "agent" is empty: give it at least one node, (b) => b.step(…)',
    );
    expect(() => untyped().loop("agent", options)).toThrow(
      'The body of loop "agent" must be a function that adds nodes: (b) => b.step(…)',
    );
    expect(() => untyped().branch("route", { on: () => "k", cases: {} })).toThrow(
      'Branch "route" has no cases: give it at least one, { key: (b) => b.step(…) }',
    );
    expect(() => untyped().branch("route", { on: () => "k" })).toThrow(
      'Branch "route" has no cases',
    );
  });

  test("[S8] anything after .finalize", () => {
    const done = untyped().finalize({ action });
    expect(() => done.step("x", { action })).toThrow(
      'Node "x" comes after .finalize, which is the last node',
    );
    expect(() => done.finalize({ action })).toThrow(
      "A workflow has one .finalize; here is a second",
    );
  });

  test("a .finalize inside a body or a case", () => {
    const finalized = (b: any) => b.step("x", { action }).finalize({ action });
    expect(() => untyped().loop("agent", { ...options, body: finalized })).toThrow(
      'The body of loop "agent" has a .finalize: only a workflow has one. The output here is that of the last node; make that a .step',
    );
    expect(() => untyped().branch("route", { on: () => "k", cases: { k: finalized } })).toThrow(
      'Case "k" of branch "route" has a .finalize',
    );
  });

  test("a callback that does not return its builder", () => {
    const forgets = (b: any) => {
      b.step("x", { action });
    };
    expect(() => untyped().loop("agent", { ...options, body: forgets })).toThrow(
      'The body of loop "agent" must return the builder it was given: (b) => b.step(…)',
    );
    const other = begin().step("x", { action });
    expect(() => untyped().branch("route", { on: () => "k", cases: { k: () => other } })).toThrow(
      'Case "k" of branch "route" must return the builder it was given',
    );
  });
});
