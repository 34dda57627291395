/** @module-tag large */
import { describe, expect } from "vitest";
import { eventually } from "./app.js";
import { hasBrowser, test } from "./browser.js";

describe.skipIf(!hasBrowser)("the forms of the studio", () => {
  test("an input is asked for field by field, or as JSON", async ({
    choose,
    send,
    shownRun,
    dialog,
    ask,
  }) => {
    await choose("anything");
    await dialog().getByLabel("value, as JSON").fill('[{ "a": 1 }]');
    await dialog().getByLabel("size (optional)").selectOption("large");
    await dialog().getByLabel("count (optional)").fill("12");
    await send();
    const runId = await shownRun("anything");
    expect(await ask("/read/input", { runId })).toEqual({
      value: [{ a: 1 }],
      size: "large",
      count: { $integer: "DAAAAAAAAAA=" },
    });
    await choose("vault");
    await dialog().getByLabel("isOpen").selectOption("true");
    await send();
    await shownRun("vault");
  });

  test("a list is asked for in lines, unless they cannot say what is in it", async ({
    page,
    choose,
    send,
    shownRun,
    button,
    dialog,
    ask,
    open,
  }) => {
    await choose("order");
    await dialog().getByLabel("items, one on each line").fill("a b\n\nc\n");
    await dialog().getByLabel("card").fill("visa");
    await send();
    const runId = await shownRun("order");
    const input = { items: ["a b", "c"], card: "visa" };
    expect(await ask("/read/input", { runId })).toEqual(input);
    await button("Run again").click();
    const items = dialog().getByLabel(/^items, /);
    expect(await items.inputValue()).toBe("a b\nc");
    const odd = { ...input, items: ["two\nlines", ""] };
    const other = await ask("/write/start", { workflow: "order", input: odd });
    await open(`runs/${other}`);
    await page.getByText("two").first().waitFor();
    await button("Run again").click();
    expect(JSON.parse(await dialog().getByLabel("items, as JSON").inputValue())).toEqual(odd.items);
  });

  test("a form starts out with what its schema asks for, also after a reload", async ({
    page,
    send,
    shownRun,
    button,
    dialog,
    ask,
    open,
  }) => {
    const empty = { street: "", tags: [] };
    await open("runs?workflow=either");
    await page.reload();
    await button("Start a run").click();
    const whole = dialog().getByLabel("Input, as JSON");
    expect(JSON.parse(await whole.inputValue())).toEqual(empty);
    await dialog().getByLabel("Workflow").selectOption("letter");
    const to = dialog().getByLabel("to, as JSON");
    expect(JSON.parse(await to.inputValue())).toEqual(empty);
    const stamps = dialog().getByLabel("stamps");
    const problem = dialog().getByRole("alert");
    await stamps.fill("1e3");
    await send();
    await problem.getByText("stamps: write the integer in digits").waitFor();
    await stamps.fill("9007199254740993");
    await to.fill("{ nonsense");
    await send();
    await problem.getByText("to: This is not JSON").waitFor();
    await to.fill('{ "street": "Main", "tags": ["a"] }');
    await send();
    const runId = await shownRun("letter");
    expect(await ask("/read/input", { runId })).toEqual({
      to: { street: "Main", tags: ["a"] },
      stamps: { $integer: "AQAAAAAAIAA=" },
    });
  });

  test("an input that does not fit is said in the dialog", async ({ choose, send, dialog }) => {
    await choose("order");
    await dialog().getByLabel("Write JSON").check();
    await dialog().getByLabel("Input, as JSON").fill("{ nonsense");
    await send();
    await dialog().getByRole("alert").getByText("This is not JSON").waitFor();
    await dialog().getByLabel("Input, as JSON").fill('{ "items": "none", "card": "" }');
    await send();
    await dialog().getByRole("alert").getByText("input.items").waitFor();
  });

  test("a run is restarted from a node, with an input that was edited", async ({
    page,
    send,
    button,
    dialog,
    ask,
    open,
  }) => {
    const input = { value: [1, { a: "x" }], size: "large", count: { $integer: "DAAAAAAAAAA=" } };
    const runId = await ask("/write/start", { workflow: "anything", input });
    await open(`runs/${runId}`);
    await button("Restart").click();
    await dialog().getByLabel("From").selectOption("keep");
    await dialog().getByLabel("Edit the input").check();
    const value = dialog().getByLabel("value, as JSON");
    expect(JSON.parse(await value.inputValue())).toEqual(input.value);
    expect(await dialog().getByLabel("count (optional)").inputValue()).toBe("12");
    await value.fill("{ nonsense");
    await send("Restart");
    await dialog().getByRole("alert").getByText("This is not JSON").waitFor();
    await value.fill('"another"');
    await send("Restart");
    await page.getByText("generation 2").waitFor();
    await eventually(async () =>
      expect(await ask("/read/run", { runId })).toMatchObject({ output: "another" }),
    );
    const edited = { ...input, value: "another" };
    expect(await ask("/read/input", { runId })).toEqual(edited);
  });

  test("a run is started again with its input, unless that is sensitive", async ({
    page,
    send,
    button,
    dialog,
    ask,
    open,
  }) => {
    const input = { value: "once", size: "large", count: { $integer: "DAAAAAAAAAA=" } };
    const runId = (await ask("/write/start", { workflow: "anything", input })) as string;
    await open("runs?workflow=anything");
    await page.getByText('"value":"once"').waitFor();
    await open(`runs/${runId}`);
    await button("Run again").click();
    await dialog().getByLabel("value, as JSON").fill('"again"');
    await send("Run again");
    await page.waitForURL((url) => url.hash.startsWith("#/runs/") && !url.hash.includes(runId));
    const [other = ""] = /[^/]+$/.exec(new URL(page.url()).hash) ?? [];
    expect(await ask("/read/input", { runId: other })).toEqual({ ...input, value: "again" });
  });

  test("an input that its schema would change twice is not edited", async ({
    page,
    send,
    button,
    dialog,
    start,
  }) => {
    await start("shout", { text: "a" });
    await page.getByText('"text": "a!"').first().waitFor();
    await button("Restart").click();
    await dialog().getByLabel("Edit the input").check();
    await dialog().getByLabel("text").fill("b");
    await send("Restart");
    await dialog().getByRole("alert").getByText("Start a new run with your input").waitFor();
  });
});
