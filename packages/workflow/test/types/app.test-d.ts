import type { GenericMutationCtx, GenericQueryCtx } from "convex/server";
import { describe, expectTypeOf, test } from "vitest";
import type { MutationCtx, OutputOf, StepError } from "../../src/index.js";
import { internal } from "../convex/_generated/api.js";
import type { DataModel } from "../convex/_generated/dataModel.js";
import { workflow, workflows } from "../convex/_workflows/index.js";

declare const mutationCtx: GenericMutationCtx<DataModel>;
declare const handlerCtx: MutationCtx;
declare const queryCtx: GenericQueryCtx<DataModel>;

describe("an app and its generated code", () => {
  test("no type goes round in a circle: what internal says of the app's functions is exact", () => {
    expectTypeOf<typeof internal.app.double._args>().toEqualTypeOf<{ n: number }>();
    expectTypeOf<typeof internal.runs.start._returnType>().toEqualTypeOf<string>();
  });

  test("a workflow's output is that of its definition, by way of functions in other files", () => {
    expectTypeOf<OutputOf<typeof workflows.kinds>>().toEqualTypeOf<{
      doubled: number;
      counted: number;
      read: string;
      plain: { inserted: null };
    }>();
    expectTypeOf<OutputOf<typeof workflows.record>>().toEqualTypeOf<{
      children: { left: number; right: number; third: number | undefined };
    }>();
  });

  test("start takes the schema's input, and nothing else", async () => {
    await workflow.start(mutationCtx, workflows.parsed, { text: "x" });
    await workflow.start(mutationCtx, workflows.parsed, { text: "x", count: 2 }, { key: "k" });
    // @ts-expect-error text is missing
    await workflow.start(mutationCtx, workflows.parsed, {});
    // @ts-expect-error count is a number
    await workflow.start(mutationCtx, workflows.parsed, { text: "x", count: "2" });
    const all = workflows;
    // @ts-expect-error there is no such workflow
    all.parsd;
  });

  test("status is told apart by its state, and typed per workflow", async () => {
    const status = await workflow.status(queryCtx, workflows.kinds, "id");
    if (status?.state === "completed") expectTypeOf(status.output.doubled).toEqualTypeOf<number>();
    if (status?.state === "failed") expectTypeOf(status.error).toEqualTypeOf<StepError>();
    // @ts-expect-error a run that is not told to be complete has no output
    status?.output;
  });

  test("a handler knows the app's tables", async () => {
    await handlerCtx.db.insert("log", { text: "x" });
    // @ts-expect-error there is no such table
    await handlerCtx.db.insert("logs", { text: "x" });
    // @ts-expect-error text is a string
    await handlerCtx.db.insert("log", { text: 1 });
  });
});
