// The text analysis that the steps of the workflow use. It does not depend on Convex.

/** A part of a text, by UTF-16 positions: `from` is in it, `to` is not. */
export interface Section {
  heading: string;
  from: number;
  to: number;
}

export interface WordCount {
  word: string;
  count: number;
}

export interface Analysis {
  words: number;
  sentences: number;
  longestSentence: { words: number; text: string };
  frequentWords: WordCount[];
}

/** A paragraph that opens a section: `# Title`, `3. Title.`, `Chapter 3`. Groups hold the title. */
const HEADING =
  /^\s*(?:#{1,6}\s+(.+)|(\d+(?:\.\d+)*\.?\s+[A-Z][^.\n]{0,90})\.?|((?:Chapter|Section|Part)\s+\w+.*))/;
const PARAGRAPH = /\S[^]*?(?=\n[ \t]*\n|$(?![^]))/g;
const WORDS_PER_PART = 400;
const FREQUENT_WORDS = 5;

// prettier-ignore
const STOP_WORDS = new Set([
  "a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "each", "for", "from", "has", "have",
  "if", "in", "is", "it", "its", "may", "must", "no", "not", "of", "on", "or", "other", "shall", "so", "such", "than",
  "that", "the", "their", "them", "these", "they", "this", "those", "to", "under", "was", "were", "which", "who",
  "will", "with", "would", "you", "your",
]);

/**
 * Splits a text at its headings. A text without headings is split between paragraphs into
 * parts of about 400 words. Sections follow each other without gaps; an empty text has none.
 */
export function splitSections(text: string): Section[] {
  const paragraphs = [...text.matchAll(PARAGRAPH)];
  if (paragraphs.length === 0) return [];
  const headings = paragraphs.flatMap(({ 0: paragraph, index }) => {
    const match = HEADING.exec(paragraph);
    const heading = match?.[1] ?? match?.[2] ?? match?.[3];
    return heading === undefined ? [] : [{ heading: collapse(heading), from: index }];
  });
  return headings.length > 1
    ? between(withOpening(headings, paragraphs[0]!.index), text.length)
    : between(parts(paragraphs), text.length);
}

function withOpening(headings: Omit<Section, "to">[], firstParagraph: number) {
  const opening = { heading: "Opening", from: firstParagraph };
  return headings[0]!.from > firstParagraph ? [opening, ...headings] : headings;
}

function parts(paragraphs: RegExpExecArray[]): Omit<Section, "to">[] {
  const starts: number[] = [];
  let words = WORDS_PER_PART;
  for (const { 0: paragraph, index } of paragraphs) {
    if (words >= WORDS_PER_PART) {
      starts.push(index);
      words = 0;
    }
    words += wordsOf(paragraph).length;
  }
  return starts.map((from, part) => ({ heading: `Part ${part + 1}`, from }));
}

function between(starts: Omit<Section, "to">[], end: number): Section[] {
  return starts.map((start, index) => ({ ...start, to: starts[index + 1]?.from ?? end }));
}

/** Counts words and sentences, and finds the longest sentence and the most frequent words. */
export function analyzeText(text: string): Analysis {
  const sentences = sentencesOf(text);
  const counts = new Map<string, number>();
  for (const word of wordsOf(text)) count(counts, word.toLowerCase(), 1);
  return {
    words: sumOf(counts),
    sentences: sentences.length,
    longestSentence: longest(
      sentences.map((sentence) => ({ words: wordsOf(sentence).length, text: sentence })),
    ),
    frequentWords: mostFrequent(counts),
  };
}

/**
 * Merges the analyses of parts. Frequent words are found among the frequent words of the parts, so a
 * word that is frequent in no part is missed.
 */
export function mergeAnalyses(analyses: readonly Analysis[]): Analysis {
  const counts = new Map<string, number>();
  for (const { frequentWords } of analyses) {
    for (const { word, count: times } of frequentWords) count(counts, word, times);
  }
  return {
    words: analyses.reduce((sum, { words }) => sum + words, 0),
    sentences: analyses.reduce((sum, { sentences }) => sum + sentences, 0),
    longestSentence: longest(analyses.map(({ longestSentence }) => longestSentence)),
    frequentWords: mostFrequent(counts),
  };
}

function sentencesOf(text: string): string[] {
  const ends = /(?<=[.!?]["')\]]*)\s+(?=["'(]?\p{Lu})/u;
  return collapse(text)
    .split(ends)
    .filter((sentence) => wordsOf(sentence).length > 0);
}

function wordsOf(text: string): string[] {
  return text.match(/\p{L}+(?:['’-]\p{L}+)*/gu) ?? [];
}

function longest(sentences: Analysis["longestSentence"][]): Analysis["longestSentence"] {
  return sentences.reduce((best, next) => (next.words > best.words ? next : best), {
    words: 0,
    text: "",
  });
}

function mostFrequent(counts: Map<string, number>): WordCount[] {
  return [...counts]
    .filter(([word]) => word.length > 1 && !STOP_WORDS.has(word))
    .sort(([a, timesA], [b, timesB]) => timesB - timesA || (a < b ? -1 : 1))
    .slice(0, FREQUENT_WORDS)
    .map(([word, times]) => ({ word, count: times }));
}

function count(counts: Map<string, number>, word: string, times: number): void {
  counts.set(word, (counts.get(word) ?? 0) + times);
}

function sumOf(counts: Map<string, number>): number {
  return [...counts.values()].reduce((sum, times) => sum + times, 0);
}

function collapse(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
