import workflow from "@stepwise/workflow/convex.config";
import { defineApp } from "convex/server";

const app = defineApp();
app.use(workflow);

export default app;
