export { default } from "../convex/schema";
