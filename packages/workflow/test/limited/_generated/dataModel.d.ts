export type * from "../../convex/_generated/dataModel.js";
