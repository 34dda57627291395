// Imports 2,000 customers from a system in which every hundredth address is bad.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { json } from "node:stream/consumers";

const COUNT = 2_000;
const PAGE = 200;

/** Plays the other system, and the service that checks addresses. */
function answer(path, { cursor, email }) {
  if (path === "/addresses") return { body: email.includes("@") };
  const from = Number(cursor ?? 0);
  const records = Array.from({ length: PAGE }, (_, index) => ({
    id: `c${from + index}`,
    name: `Customer ${from + index}`,
    email: index % 100 === 42 ? "nowhere" : `c${from + index}@example.com`,
  }));
  return { body: { records, next: from + PAGE < COUNT ? String(from + PAGE) : null } };
}

const server = createServer(async (request, response) => {
  const { status = 200, body } = answer(request.url, await json(request));
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body ?? null));
}).listen(0, "127.0.0.1");
await once(server, "listening");

const run = spawn(
  "workflow-codegen",
  ["run", "importCustomers", "--skip-time", "--input", '{ "source": "crm" }'],
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
