import workflow from "@stepwise/workflow/convex.config";
import { defineApp } from "convex/server";
import { v } from "convex/values";

const app = defineApp({ env: { SERVICES_URL: v.string(), SERVICES_KEY: v.string() } });
app.use(workflow);

export default app;
