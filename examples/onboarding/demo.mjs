// Runs a drip in which the lead becomes a customer on the fourth day, or never with --silent.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { json } from "node:stream/consumers";

const silent = process.argv.includes("--silent");

/** Plays the mail service. */
function answer(_path, { template }) {
  console.error(`mail: ${template}`);
  return {};
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
    "drip",
    "--skip-time",
    "--seed",
    "demo.json",
    "--input",
    '{ "leadId": "$id:lead", "email": "ada@example.com" }',
    "--events",
    silent ? "[]" : '[{ "name": "converted", "value": { "plan": "pro" }, "at": "4 days" }]',
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
