import { expect, test } from "vitest";
import { compileSources } from "../src/compile.js";
import { definition } from "./circle.js";

/* That TypeScript 5.9, 6 and 7 see no circle: types.test.ts. */

test("[S175] a reference has its events and nodes written out; consts are copied, and only what cannot be is of the definition", async () => {
  const { files } = await compileSources([{ file: "auctions.workflow.ts", text: definition }]);
  const textOf = (name: string) => files.find(({ path }) => path.endsWith(`/${name}.ts`))?.text;
  const auction = textOf("auction");
  expect(auction).toContain(`const input = () => {
  const Row: z.ZodType<Row_> = z.object({ item: z.string() });
  return Row;
};`);
  expect(auction).toContain(`const events = () => {
  const by = v.string();
  const Answer = v.object({ by });
  return {
    bid: [v.object({ cents: v.number() }), z.object({ cents: z.string() })],
    payment: [Answer],
    yes: [Answer],
  } as const;
};`);
  expect(auction).toContain(`If TypeScript says that it depends on itself, export hidden. */
export interface Auction extends WorkflowReference<
  InferInput<ReturnType<typeof input>>
> {
  readonly "~events"?: () => Payloads<typeof events> & {
    noted: Sent<typeof definition, "noted">;
  };
  readonly "~nodes"?: () =>
    | "bid"
    | "closed"
    | "settled"
    | "settled.at once.payment"
    | "settled.at once.booked"
    | "settled.asked.reply"
    | "noted"
    | "finalize";
  readonly "~definition": typeof definition;
}`);
  expect(textOf("silent")).toContain('"~events"?: () => never;');
});
