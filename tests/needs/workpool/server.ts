export * from "../server.js";
