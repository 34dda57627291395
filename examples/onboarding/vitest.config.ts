import { example } from "../../vitest.shared.js";

export default example("onboarding");
