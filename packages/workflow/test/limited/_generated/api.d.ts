export * from "../../convex/_generated/api.js";
