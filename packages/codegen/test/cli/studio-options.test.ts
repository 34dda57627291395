import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { init } from "../../src/cli/init.js";
import { runProgram } from "../../src/cli/program.js";
import { app, useApp } from "./command.js";

useApp();

/** What a command says that fails. One that watches in place of that is stopped, in a moment. */
async function failing(...args: string[]): Promise<string> {
  const stop = new AbortController();
  let err = "";
  const terminal = {
    cwd: app(),
    color: false,
    stdout: {
      write: (text: string) => text.includes("Watching") && setImmediate(() => stop.abort()),
    },
    stderr: { write: (text: string) => void (err += text) },
    interrupted: stop.signal,
    exitCode: 0,
  };
  await runProgram(terminal, args).catch((error: Error) => {
    terminal.exitCode = 1;
    err = error.message;
  });
  expect(terminal.exitCode).not.toBe(0);
  expect(stop.signal.aborted).toBe(false);
  return err;
}

function firstApp(): void {
  const silent = { write: () => {} };
  init({}, { cwd: app(), color: false, stdout: silent, stderr: silent, exitCode: 0 });
}

test("a port that is no port, and an address that is none, end the studio at once", async () => {
  firstApp();
  expect(await failing("studio", "--port", "99999")).toContain("A port is at most 65535");
  expect(await failing("studio", "--port=-1")).toContain("at most 65535, and not negative");
  expect(await failing("studio", "--port", "")).toContain("It must be a whole number");
  for (const url of ["nonsense", "ftp://a.example", "https://", "happy-otter-123.convex.cloud"])
    expect(await failing("studio", "--url", url)).toContain("is not the address of a deployment");
  expect(await failing("mcp", "--url", "nonsense")).toContain("is not the address of a deployment");
});

test("a port that is in use ends the studio, with the reason", async () => {
  firstApp();
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const url = "https://happy-otter-123.convex.cloud";
  const said = await failing("studio", "--port", String(port), "--url", url);
  expect(said).toMatch(/The studio cannot listen on port \d+: .*EADDRINUSE/);
});

test("a seed that cannot be read ends them at once", async () => {
  firstApp();
  for (const command of ["studio", "mcp"])
    expect(await failing(command, "--seed", "none.json")).toMatch(
      /^--seed cannot be read: there is no none.json.\n?$/,
    );
  expect(await failing("studio", "--seed", "")).toMatch(
    /^--seed cannot be read: its path is empty/,
  );
});

test("an empty --dir is an error, and not the folder of the app itself", async () => {
  firstApp();
  expect(await failing("generate", "--dir", "")).toContain("--dir is empty");
});

test("--module without --url is an error", async () => {
  for (const command of ["studio", "mcp"])
    expect(await failing(command, "--module", "ops")).toContain("--module needs --url");
});

test("a --module that can be none is an error", async () => {
  firstApp();
  const url = "https://happy-otter-123.convex.cloud";
  for (const module of ["", "../x", "studio.ts", "a//b"])
    expect(await failing("studio", "--url", url, "--module", module)).toContain(
      `--module ${JSON.stringify(module)} is no module of the functions folder`,
    );
});
