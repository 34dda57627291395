// Runs an agent with a scripted model. A person approves the refund, or refuses it with --refuse.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { json } from "node:stream/consumers";

const approved = !process.argv.includes("--refuse");

/** Plays the model. Its answer depends only on the number of messages. */
const script = [
  { text: "I will look at the order first.", tool: { name: "findOrder", orderId: "A-17" } },
  { text: "It was never delivered. I will refund it.", tool: { name: "refund", orderId: "A-17" } },
  { text: approved ? "Your money is on its way." : "I asked a colleague to call you.", tool: null },
];

function answer(path, { messages }) {
  if (path === "/refunds") return { body: "refunded" };
  return { body: script[(messages.length - 1) / 2] };
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
    "support",
    "--skip-time",
    "--seed",
    "demo.json",
    "--input",
    '{ "ticketId": "$id:ticket", "question": "Where is order A-17?" }',
    "--events",
    JSON.stringify([{ name: "approval", value: { approved } }]),
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
