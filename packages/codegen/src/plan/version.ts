/** Raised when `plan.json` changes so that an older compiler cannot read it. */
export const planVersion = 1;
