import { defineConfig } from "@stepwise/workflow";

export default defineConfig({
  limits: {
    tenant: { perKey: 1 },
    exports: { total: 2 },
    single: { total: 1 },
    both: { perKey: 1, total: 2 },
    api: { rate: { limit: 2, per: "1m" } },
    scarce: { total: 1, maxWaiting: 1 },
    tokens: { rate: { limit: 1_000, per: "1m" }, unit: "tokens" },
    credits: { perKey: 2, rate: { limit: 100, per: "1m" }, unit: "credits" },
  },
});
