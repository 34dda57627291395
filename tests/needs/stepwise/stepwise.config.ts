import { defineConfig } from "@stepwise/workflow";

export default defineConfig({
  limits: {
    tenant: { perKey: 2 },
    requests: { rate: { limit: 100, per: "1m" } },
  },
});
