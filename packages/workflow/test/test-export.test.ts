import { afterEach, expect, test, vi } from "vitest";
import component, { modules, register, schema } from "../src/test.js";

afterEach(() => void vi.useRealTimers());

test("the default export holds what mounts the component in a test, as Convex's own components have it", () => {
  expect(component).toEqual({ register, schema, modules });
});

test("[S131] with virtual time, what is due in months is not due at once", () => {
  vi.useFakeTimers();
  register({ registerComponent: () => {} });
  const due = vi.fn();
  setTimeout(due, 60 * 86_400_000);
  vi.advanceTimersByTime(59 * 86_400_000);
  expect(due).not.toHaveBeenCalled();
  vi.runAllTimers();
  expect(due).toHaveBeenCalledOnce();
});
