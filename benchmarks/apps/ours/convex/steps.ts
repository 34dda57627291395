export { act, actFor, read, write } from "../../steps.js";
