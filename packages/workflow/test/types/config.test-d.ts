import { test } from "vitest";
import { defineConfig, type Config } from "../../src/definition/index.js";

test("the config has the options that there are, each with the values it may have", () => {
  defineConfig({});
  defineConfig({ component: "flows", maxParallelism: 5, retention: "30 days", retry: true });
  defineConfig({ retry: { maxAttempts: 3, initialBackoffMs: 250, base: 2 } }) satisfies Config;
  defineConfig({ logLevel: "INFO" });
  // @ts-expect-error Type '"LOUD"' is not assignable to type
  defineConfig({ logLevel: "LOUD" });
  // @ts-expect-error 'maxParalel' does not exist in type 'Config'
  defineConfig({ maxParalel: 5 });
  // @ts-expect-error Type '"30 dayz"' is not assignable to type
  defineConfig({ retention: "30 dayz" });
  // @ts-expect-error 'attempts' does not exist in type
  defineConfig({ retry: { attempts: 3 } });
});
