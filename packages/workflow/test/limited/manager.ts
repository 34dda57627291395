export { pause, resume } from "../convex/manager";
