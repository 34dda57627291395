export { act, actAtSecond, actFor, read, write } from "../../steps.js";
