export { act, actAtSecond, actFor, actLarge, fail, insert, read, write } from "../../steps.js";
