import { vi } from "vitest";
import { virtualTime } from "./app.js";
import { poolInComponent } from "./conformance-component.js";
import { conformance } from "./conformance-suite.js";

vi.mock("../src/core/gate.js", async (original) => ({
  ...(await original<typeof import("../src/core/gate.js")>()),
  lacksPlaces: async () => true,
  // So each carrier takes works along as soon as it begins.
  LATE_BEGIN_MS: -1,
}));

virtualTime();
conformance("the workpool component, with carriers", poolInComponent);
