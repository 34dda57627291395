import { defineConfig } from "@stepwise/workflow";

export default defineConfig({
  limits: {
    tenant: { perKey: 2 },
    requests: { rate: { limit: 100, per: "1m" } },
    tokens: { rate: { limit: 40_000, per: "1m" }, unit: "tokens" },
  },
});
