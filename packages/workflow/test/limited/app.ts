export { log, logged } from "../convex/app";
