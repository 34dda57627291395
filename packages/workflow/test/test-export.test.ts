import { expect, test } from "vitest";
import component, { modules, register, schema } from "../src/test.js";

test("the default export holds what mounts the component in a test, as Convex's own components have it", () => {
  expect(component).toEqual({ register, schema, modules });
});
