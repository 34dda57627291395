export { default } from "../convex/convex.config";
