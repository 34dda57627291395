import { defineConfig } from "@stepwise/workflow";

export default defineConfig({
  limits: {
    tenant: { perKey: 1 },
    exports: { total: 2 },
    both: { perKey: 1, total: 2 },
    scarce: { total: 1, maxWaiting: 1 },
  },
});
