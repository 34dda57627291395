export { act, actAtSecond, actFor, actLarge, fail, read, write } from "../../steps.js";
