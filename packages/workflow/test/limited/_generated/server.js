export * from "../../convex/_generated/server.js";
