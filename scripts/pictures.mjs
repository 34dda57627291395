// Makes the pictures of the README and the docs, in the browser that tests use too: the studio on
// runs of the examples, with other services played here, and the page of examples/approval.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { root } from "./committed.mjs";

const { chromium } = createRequire(join(root, "tests/package.json"))("playwright-core");
const bin = join(root, "packages/codegen/bin/workflow-codegen.js");
const images = join(root, "docs/images");

/** Opens the studio on the first run of an example. */
async function openStudio(app, workflow, options, env = {}) {
  const args = [bin, "run", workflow, "--studio", ...options];
  const studio = spawn("node", args, {
    cwd: join(root, "examples", app),
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  const url = await new Promise((resolve, reject) => {
    studio.stdout.on("data", (part) => {
      printed += part;
      const [found] = /http:\S+/.exec(printed) ?? [];
      if (found !== undefined) resolve(found);
    });
    studio.on("close", () => reject(new Error(`The studio has not opened: ${printed}`)));
  });
  const { searchParams, hash } = new URL(url);
  const given = new URLSearchParams(hash.slice(1));
  const of = (name) => searchParams.get(name) ?? given.get(name);
  const ask = async (path, body) => {
    const headers = { authorization: `Bearer ${of("token")}` };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    return await (await fetch(new URL(path, url), request)).json();
  };
  const runId = of("run");
  /** Waits until the run is as it is wanted. */
  const until = async (isWanted) => {
    while (!isWanted(await ask("/read/run", { runId }))) await wait(50);
  };
  const close = async () => {
    studio.kill("SIGINT");
    await once(studio, "close");
  };
  return { url, runId, ask, until, close };
}

const hasEnded = ({ endedAt }) => endedAt !== undefined;

/** Takes a picture of a page, from its top to the end of what it shows. */
async function picture(browser, name, url, look) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  await page.goto(url);
  await look(page);
  const { height } = await page.locator("main").boundingBox();
  await page.setViewportSize({ width: 1200, height: Math.min(Math.ceil(height) + 80, 900) });
  await page.screenshot({ path: join(images, `${name}.png`) });
  await page.close();
}

/** Plays the services of examples/order: a card that answers at the second call, and no truck. */
async function playServices() {
  let charges = 0;
  const server = createServer(async (request, response) => {
    await wait(400);
    const isAway = request.url === "/charges" && ++charges === 1;
    const status = isAway || request.url === "/parcels" ? 503 : 200;
    const text = request.url === "/parcels" ? "no truck today" : "try again";
    response.writeHead(status, { "content-type": "application/json" });
    response.end(status === 503 ? text : JSON.stringify({ chargeId: "charge-1" }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu"],
});

const file = ["--input", "@input/gpl-3.json", "--file", "storageId=@input/gpl-3.txt"];
const documents = await openStudio("documents", "analyzeDocument", file);
await documents.until(hasEnded);
await picture(browser, "studio-run", documents.url, async (page) => {
  await page.getByRole("region", { name: "Timeline of analyzeDocument" }).waitFor();
  await page.getByRole("img", { name: "Graph of analyzeDocument" }).waitFor();
});
await picture(browser, "studio-workflows", documents.url, async (page) => {
  await page.getByRole("link", { name: "Workflows" }).click();
  await page.getByRole("link", { name: "analyzeDocument" }).click();
  await page.getByRole("img", { name: "Graph of analyzeDocument" }).waitFor();
});
await documents.close();

const services = await playServices();
const order = await openStudio(
  "order",
  "fulfilOrder",
  ["--seed", "demo.json", "--input", '{ "orderId": "$id:order" }'],
  { SERVICES_URL: `http://127.0.0.1:${services.address().port}`, SERVICES_KEY: "demo" },
);
const { runId } = order;
await order.until(({ active }) => active.some(({ name, node = name }) => node === "packed"));
await wait(2_000);
await order.ask("/write/sendEvent", { runId, name: "packed", payload: { by: "robot 7" } });
await order.until(hasEnded);
await picture(browser, "studio-undone", order.url, async (page) => {
  await page.getByRole("region", { name: "Error" }).waitFor();
  await page.getByText("charged › compensate").waitFor();
  await page.getByRole("img", { name: "Graph of fulfilOrder" }).waitFor();
});
await order.close();
services.close();
await browser.close();

const [vitest, page] = ["node_modules/.bin/vitest", "examples/approval/test/page.test.ts"];
const approval = spawn(join(root, vitest), ["run", page], {
  cwd: root,
  env: { ...process.env, APPROVAL_PICTURES: images },
  stdio: "inherit",
});
[process.exitCode] = await once(approval, "close");
