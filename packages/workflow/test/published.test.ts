import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";

interface Registered {
  exportArgs(): string;
  exportReturns(): string;
}

const modules = {
  workflow: import.meta.glob("../src/component/**/*.ts"),
  workpool: import.meta.glob("../../workpool/src/component/**/*.ts"),
};

/** What Convex's directory asks of a component. */
describe.each(["workflow", "workpool"] as const)("the component of %s", (name) => {
  const folder = new URL(`../../${name}/`, import.meta.url);
  const read = (path: string) => readFile(new URL(path, folder), "utf8");

  test("validates the arguments and the result of each function, in object syntax", async () => {
    const wrong: string[] = [];
    let checked = 0;
    for (const [path, load] of Object.entries(modules[name])) {
      if (/\/(?:_generated|schema|convex\.config)/.test(path)) continue;
      for (const [key, value] of Object.entries((await load()) as Record<string, unknown>)) {
        if (typeof (value as Partial<Registered>)?.exportArgs !== "function") continue;
        const registered = value as Registered;
        checked++;
        if (JSON.parse(registered.exportArgs()).type !== "object")
          wrong.push(`${path}:${key} args`);
        if (registered.exportReturns() === "null") wrong.push(`${path}:${key} returns`);
      }
    }
    expect(checked).toBeGreaterThan(15);
    expect(wrong).toEqual([]);
  });

  test("registers functions through its own _generated/server, and asks for no user or environment", async () => {
    const wrong: string[] = [];
    for (const path of await readdir(new URL("src/component/", folder), { recursive: true })) {
      if (!path.endsWith(".ts") || path.startsWith("_generated")) continue;
      const code = (await read(`src/component/${path}`)).replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "");
      for (const [text] of code.matchAll(/\bctx\.auth\b|\bprocess\.env\b|\b\w+Generic\(/g))
        wrong.push(`${path}: ${text}`);
      const registers = /= (?:internal)?(?:Q|q)uery\(|= (?:internal)?(?:M|m)utation\(/.test(code);
      if (registers && !/from "(?:\.\.?\/)+_generated\/server\.js"/.test(code))
        wrong.push(`${path}: functions of another server`);
    }
    expect(wrong).toEqual([]);
  });

  test("exports its config, its generated types and its kit for tests", async () => {
    const { exports } = JSON.parse(await read("package.json")) as { exports: object };
    expect(Object.keys(exports)).toEqual(
      expect.arrayContaining([
        ".",
        "./convex.config",
        "./convex.config.js",
        "./_generated/component.js",
        "./test",
        "./package.json",
      ]),
    );
    expect(await read("src/component/convex.config.ts")).toContain(`defineComponent("${name}")`);
  });
});
