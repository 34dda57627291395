/** @module-tag large */
import { localSource, serveStudio } from "@stepwise/studio";
import { describe, expect } from "vitest";
import { openLocalApp } from "../../packages/codegen/src/dev-server/index.js";
import { eventually, openDeployedStudio } from "./app.js";
import { hasBrowser, test as inBrowser } from "./browser.js";

const test = inBrowser
  .extend("deployed", { scope: "file" }, async ({ app }, { onCleanup }) => {
    const opened = await openDeployedStudio(app);
    onCleanup(() => opened.close());
    return opened;
  })
  .override("studio", { scope: "file" }, ({ deployed }) => deployed);

describe.skipIf(!hasBrowser)("the page of a deployment", () => {
  test("a run is started, gets its event, and is restarted, by the functions of the app", async ({
    page,
    start,
    open,
    ask,
    button,
    dialog,
  }) => {
    await start("order", { items: ["a"], card: "visa" });
    await button("Send an event").click();
    const send = dialog().getByRole("button", { name: "Send an event" });
    await dialog().getByLabel("Write JSON").check();
    const payload = dialog().getByLabel("Payload, as JSON");
    await payload.fill('{ "by": 5 }');
    await send.click();
    await dialog().getByRole("alert").getByText("approval.by").waitFor();
    await payload.fill('{ "by": "Ada" }');
    await send.click();
    await page.getByText('"by": "Ada"').first().waitFor();
    await button("Restart").click();
    await dialog().getByRole("button", { name: "Restart" }).click();
    await page.getByText("generation 2").waitFor();
    const vault = { workflow: "vault", input: { isOpen: true } };
    const runId = await ask("/write/start", vault);
    await ask("/write/sendEvent", { runId, name: "code", payload: { pin: "s3cret" } });
    await open(`runs/${runId}`);
    await page.getByText("Output: sensitive, and not shown").waitFor();
    expect(await page.content()).not.toContain("s3cret");
  });

  test("if the deployment goes away the page says so, and goes on when it is back", async ({
    page,
    deployed,
    ask,
  }) => {
    const parcel = { workflow: "parcel", input: { item: "a" } };
    await ask("/write/start", { ...parcel, key: "before" });
    await page.getByRole("cell", { name: "before" }).waitFor();
    deployed.client.connect(false);
    await page.getByRole("alert").getByText("The deployment does not answer.").first().waitFor();
    expect(await page.getByRole("cell", { name: "before" }).count()).toBe(1);
    deployed.client.connect(true);
    await page.getByRole("alert").first().waitFor({ state: "detached" });
    await ask("/write/start", { ...parcel, key: "after" });
    await page.getByRole("cell", { name: "after" }).waitFor();
  });

  test("the runs of an embedded back end are there again when its server is back", async ({
    tab,
    app,
  }) => {
    const back = await openLocalApp({ functionsDir: app.functionsDir, seed: [] }, () => {});
    const source = localSource(back);
    const options = { source, title: "", plans: () => undefined };
    const first = await serveStudio(options);
    const [port, token] = [Number(new URL(first.url).port), first.url.split("token=")[1]!];
    await tab.goto(first.url);
    await tab.getByText("No runs.").waitFor();
    await first.close();
    await tab.getByText("The studio does not answer").first().waitFor();
    const input = { item: "a" };
    await source.write("start", { workflow: "parcel", input, key: "kept" });
    const second = await serveStudio({ ...options, port, token });
    await tab.getByRole("cell", { name: "kept" }).waitFor();
    await eventually(async () => expect(await tab.getByRole("alert").count()).toBe(0));
    await second.close();
    await back.close();
  });
});
