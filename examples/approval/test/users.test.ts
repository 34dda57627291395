import { expect, test } from "vitest";

interface Registered {
  readonly isPublic?: true;
  readonly _handler: (ctx: object, args: object) => Promise<unknown>;
}

const modules = import.meta.glob<Record<string, Registered>>(
  ["../convex/*.ts", "!../convex/*.config.ts", "!../convex/crons.ts"],
  { eager: true },
);
const functions = Object.entries(modules).flatMap(([file, exported]) =>
  Object.entries(exported).map(([name, each]) => ({ name: `${file} ${name}`, each })),
);

test.each(functions.filter(({ each }) => each.isPublic))(
  "$name refuses who is not signed in",
  async ({ each }) => {
    const visitor = { auth: { getUserIdentity: async () => await Promise.resolve(null) } };
    await expect(each._handler(visitor, {})).rejects.toThrow("Sign in first");
  },
);
