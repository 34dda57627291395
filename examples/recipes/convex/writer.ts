// What the language model is asked when an article is written.
import { askModel } from "./services";

interface Finding {
  text: string;
  sources: string[];
}

export async function planQuestions(topic: string, signal: AbortSignal): Promise<string[]> {
  return await askModel("What must be found out for an article on this?", { topic }, signal);
}

export async function answerFrom(
  pages: string[],
  question: string,
  signal: AbortSignal,
): Promise<string> {
  return await askModel("Answer from these pages.", { question, pages }, signal);
}

/** A draft; from the second on a revision of `text` by the reviewer's `notes`. */
export async function write(
  given: { topic: string; findings: Finding[]; text: string; notes: string },
  signal: AbortSignal,
): Promise<string> {
  const task = given.text === "" ? "Write the article." : "Revise the article.";
  return await askModel(task, given, signal);
}

export async function review(
  given: { topic: string; text: string },
  signal: AbortSignal,
): Promise<{ isGood: boolean; notes: string }> {
  return await askModel("Is the article good? If not, what is missing?", given, signal);
}
