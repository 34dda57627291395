// Runs an order to the end. With --fail no parcel can be booked, so it is rolled back.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { json } from "node:stream/consumers";

const fails = process.argv.includes("--fail");

/** Plays the card, parcel and mail services. */
function answer(path) {
  if (path === "/charges") return { body: { chargeId: "charge-1" } };
  if (path === "/parcels" && fails) return { status: 503, body: "no truck today" };
  return { body: path === "/parcels" ? { tracking: "T-100" } : null };
}

const server = createServer(async (request, response) => {
  const { status = 200, body } = answer(request.url, await json(request));
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body ?? null));
}).listen(0, "127.0.0.1");
await once(server, "listening");

const run = spawn(
  "workflow-codegen",
  [
    "run",
    "fulfilOrder",
    "--skip-time",
    "--seed",
    "demo.json",
    "--input",
    '{ "orderId": "$id:order" }',
    "--events",
    '[{ "name": "packed", "value": { "by": "robot 7" } }]',
  ],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      SERVICES_URL: `http://127.0.0.1:${server.address().port}`,
      SERVICES_KEY: "demo",
    },
  },
);
[process.exitCode] = await once(run, "close");
server.close();
