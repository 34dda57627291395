/** @module-tag large */
import { beforeEach, vi } from "vitest";
import * as gate from "../src/core/gate.js";
import { virtualTime } from "./app.js";
import { poolInComponent } from "./conformance-component.js";
import { conformance } from "./conformance-suite.js";

virtualTime();
beforeEach(() => {
  vi.spyOn(gate, "lacksPlaces").mockResolvedValue(true);
  // So each carrier takes works along as soon as it begins.
  vi.spyOn(gate, "LATE_BEGIN_MS", "get").mockReturnValue(-1 as typeof gate.LATE_BEGIN_MS);
});
conformance("the workpool component, with carriers", poolInComponent);
