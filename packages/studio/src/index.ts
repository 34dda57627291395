export { type Client, deploymentSource } from "./deployment-source.js";
export type { DataSource, ReadName, Reads, WriteName, Writes } from "./data-source.js";
export type { Workflows } from "./functions.js";
export { type LocalApp, localSource } from "./local-source.js";
export { serveStudio, type Studio, type StudioOptions } from "./server.js";
