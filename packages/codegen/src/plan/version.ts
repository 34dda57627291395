/** Raised when a plan changes so that an older compiler cannot read it. */
export const planVersion = 2;
