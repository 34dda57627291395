import { expect, test } from "vitest";
import { Compiler, type CompileResult } from "../src/compile.js";

const definition = {
  file: "flows.workflow.ts",
  text: `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const ping = defineWorkflow({ input: z.object({}) }).step("pong", { query: () => 1 });
`,
};

async function compiled(output: string): Promise<CompileResult> {
  const text = `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ output: ${output} });\n`;
  const read = (file: string) => (file === "stepwise.config.ts" ? text : undefined);
  return await new Compiler().compileSources([definition], read);
}

const longest = "a".repeat(64);

test.each(["generated", "generated/workflows", "a/b/c/d", "_1", "2", `x/${longest}`, "a/actions"])(
  "generated code may stand in %s",
  { tags: ["large"] },
  async (output) => {
    const { ok, diagnostics, files } = await compiled(JSON.stringify(output));
    expect({ ok, diagnostics }).toEqual({ ok: true, diagnostics: [] });
    expect(files.map(({ path }) => path).sort()).toEqual(
      [".gitattributes", "index.ts", "ping.plan.json", "ping.ts", "plan.json", "workflows.ts"].map(
        (name) => `${output}/${name}`,
      ),
    );
    // As many folders up as there are names.
    const up = "../".repeat(output.split("/").length);
    const ping = files.find(({ path }) => path.endsWith("/ping.ts"))?.text;
    expect(ping).toContain(`from "${up}_generated/api"`);
    expect(ping).toContain(`from "${up}flows.workflow"`);
    expect(ping).toContain(`folder: "${output}"`);
  },
);

test.each([
  ['""', "no name at all"],
  ['"."', "the functions folder itself"],
  ['".."', "a folder above it"],
  ['"../generated"', "a folder beside it"],
  ['"generated/../.."', "one that leads out of it"],
  ['"/generated"', "an absolute path"],
  ['"generated/"', "a name that is empty"],
  ['"generated//workflows"', "one in the middle"],
  ['"generated\\\\workflows"', "a path of Windows"],
  ['"c:"', "a drive"],
  ['"my-workflows"', "a hyphen"],
  ['"my workflows"', "a space"],
  ['"x.y"', "a dot"],
  ['".generated"', "a folder that Convex does not look into"],
  ['"_"', "a name without a letter or digit"],
  ['"größe"', "a letter of another alphabet"],
  [`"x/${longest}a"`, "a name that is too long"],
  ['"_generated"', "Convex's own folder"],
  ['"_generated/workflows"', "one in it"],
  ['"_Generated"', "which on macOS and Windows is the same"],
  ['"x/_generated"', "one that looks like it"],
  ['"_deps"', "the bundler's folder"],
  ['"_system/x"', "Convex's own functions"],
  ['"actions"', "where Convex expects Node"],
  ['"node_modules/x"', "where packages are"],
  ["true", "no text"],
  ["null", "nothing"],
  ["{}", "an object"],
])("generated code may not stand in %s: %s", async (output) => {
  const { ok, diagnostics, files } = await compiled(output);
  expect({ ok, files }).toEqual({ ok: false, files: [] });
  expect(diagnostics).toMatchObject([
    { code: "SW1603", place: { file: "stepwise.config.ts", line: 2 } },
  ]);
  expect(diagnostics[0]?.hint).toContain('such as "generated/workflows"');
});
