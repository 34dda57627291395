import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { mkdtemp, rm } from "../../scripts/folders.mjs";
import { listen, type Push } from "./deploy-listener.js";

export interface Deployed {
  readonly push: Push;
  /** Hosts other than the listener that the command tried to reach. */
  readonly strangers: string[];
}

/**
 * Keeps a process from reaching anything but this machine, and notes what it tried. The test is
 * about what the official command makes of an app, not about the network.
 */
const GUARD = `
  const { appendFileSync } = require("node:fs");
  const { Socket } = require("node:net");
  const connect = Socket.prototype.connect;
  Socket.prototype.connect = function (...args) {
    const options = Array.isArray(args[0]) ? args[0][0] : args[0];
    const host = typeof options === "object" ? (options.host ?? options.path) : args[1];
    if (host === "127.0.0.1") return connect.apply(this, args);
    appendFileSync(process.env.STRANGERS, String(host) + "\\n");
    throw new Error("no network in this test: " + host);
  };
`;

/** Runs the official \`convex deploy\` on a project, against a listener on this machine. */
export async function deploy(projectDir: string): Promise<Deployed> {
  const listener = await listen();
  const home = await mkdtemp(join(tmpdir(), "stepwise-deploy-"));
  try {
    const guard = join(home, "guard.cjs");
    const strangers = join(home, "strangers");
    await Promise.all([writeFile(guard, GUARD), writeFile(strangers, "")]);
    const output = await runDeploy(projectDir, {
      PATH: process.env["PATH"],
      HOME: home,
      CI: "1",
      NODE_OPTIONS: `--require ${guard}`,
      STRANGERS: strangers,
      CONVEX_SELF_HOSTED_URL: listener.url,
      CONVEX_SELF_HOSTED_ADMIN_KEY: "self-hosted|key",
    });
    const [push] = listener.pushes;
    if (push === undefined) throw new Error(`convex deploy sent no bundle:\n${output}`);
    const tried = (await readFile(strangers, "utf8")).split("\n").filter((host) => host !== "");
    return { push, strangers: tried };
  } finally {
    await Promise.all([listener.close(), rm(home, { recursive: true })]);
  }
}

async function runDeploy(cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const convex = dirname(createRequire(import.meta.url).resolve("convex/package.json"));
  const command = spawn(
    process.execPath,
    [join(convex, "bin", "main.js"), "deploy", "--typecheck", "disable", "--codegen", "disable"],
    { cwd, env, stdio: ["ignore", "pipe", "pipe"] },
  );
  let output = "";
  command.stdout.on("data", (text: Buffer) => (output += text.toString()));
  command.stderr.on("data", (text: Buffer) => (output += text.toString()));
  await once(command, "close");
  return output;
}
