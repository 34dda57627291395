export { act, actAtSecond, actFor, fail, read, write } from "../../steps.js";
