/** What a command does when its work is done: to keep what makes the next one faster. */
export const afterwards: (() => void)[] = [];
