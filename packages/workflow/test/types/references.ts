import type { FunctionReference } from "convex/server";

/** What `_generated/api` declares in an app. */
export declare const internal: {
  hashing: { sha256: FunctionReference<"action", "internal", { text: string }, string> };
  users: {
    get: FunctionReference<
      "action",
      "internal",
      { id: string },
      { email: string; topics: string[] }
    >;
    count: FunctionReference<"query", "internal", { id: string }, number>;
    save: FunctionReference<"mutation", "internal", { email: string }, null>;
    release: FunctionReference<"action", "internal", { seats: number }, null>;
  };
  payments: {
    charge: FunctionReference<
      "action",
      "internal",
      { email: string; cents: number },
      { receipt: string }
    >;
  };
  mails: {
    send: FunctionReference<"action", "internal", { to: string; text: string }, { id: string }>;
  };
};
