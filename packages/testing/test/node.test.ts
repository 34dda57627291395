import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

test(
  "it counts and drives in plain Node, and gives the clock back",
  { tags: ["large"] },
  async () => {
    const entry = fileURLToPath(new URL("app/plain-node.ts", import.meta.url));
    const { outputFiles } = await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      format: "esm",
      platform: "node",
      packages: "external",
    });
    const program = outputFiles[0]!.text;
    const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      encoding: "utf8",
    });
    expect(JSON.parse(output)).toEqual({
      texts: ["a", "a later", "b"],
      drive: { done: true, virtualMs: 86_400_000, timers: 3 },
      totals: { rootExecutions: 6, executions: 6, documentsWritten: 3 },
      startedAt: [0, 0, 0, 0, 10, 86_400_000],
      clockIsBack: true,
    });
  },
);
