import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { analyzeText, mergeAnalyses, splitSections } from "../convex/text";

const licence = (name: string) =>
  readFileSync(new URL(`../input/${name}.txt`, import.meta.url), "utf8");

describe("splitSections", () => {
  test("finds the numbered sections of the GPL, and what stands before the first", () => {
    const sections = splitSections(licence("gpl-3"));
    expect(sections.map(({ heading }) => heading)).toEqual([
      "Opening",
      "0. Definitions",
      "1. Source Code",
      "2. Basic Permissions",
      "3. Protecting Users' Legal Rights From Anti-Circumvention Law",
      "4. Conveying Verbatim Copies",
      "5. Conveying Modified Source Versions",
      "6. Conveying Non-Source Forms",
      "7. Additional Terms",
      "8. Termination",
      "9. Acceptance Not Required for Having Copies",
      "10. Automatic Licensing of Downstream Recipients",
      "11. Patents",
      "12. No Surrender of Others' Freedom",
      "13. Use with the GNU Affero General Public License",
      "14. Revised Versions of this License",
      "15. Disclaimer of Warranty",
      "16. Limitation of Liability",
      "17. Interpretation of Sections 15 and 16",
    ]);
  });

  test("finds headings that the text goes on after, as in the Apache licence", () => {
    const headings = splitSections(licence("apache-2")).map(({ heading }) => heading);
    expect(headings).toHaveLength(10);
    expect(headings[2]).toBe("2. Grant of Copyright License");
  });

  test("sections follow each other without gaps, to the end of the text", () => {
    const text = licence("gpl-3");
    const sections = splitSections(text);
    sections.slice(1).forEach(({ from }, index) => expect(from).toBe(sections[index]!.to));
    expect(text.slice(0, sections[0]!.from).trim()).toBe("");
    expect(sections.at(-1)!.to).toBe(text.length);
  });

  test("a text without headings is split between paragraphs", () => {
    const paragraph = "word ".repeat(150).trim();
    const sections = splitSections(Array.from({ length: 7 }, () => paragraph).join("\n\n"));
    expect(sections.map(({ heading }) => heading)).toEqual(["Part 1", "Part 2", "Part 3"]);
  });

  test("a short text is one section, an empty one has none", () => {
    expect(splitSections("Only this.")).toEqual([{ heading: "Part 1", from: 0, to: 10 }]);
    expect(splitSections(" \n\n ")).toEqual([]);
  });
});

describe("analyzeText", () => {
  test("counts words and sentences and finds the longest", () => {
    const analysis = analyzeText(
      "Cats sleep. Do dogs\nchase sleepy cats all day? Cats don't care!",
    );
    expect(analysis).toEqual({
      words: 12,
      sentences: 3,
      longestSentence: { words: 7, text: "Do dogs chase sleepy cats all day?" },
      frequentWords: [
        { word: "cats", count: 3 },
        { word: "care", count: 1 },
        { word: "chase", count: 1 },
        { word: "day", count: 1 },
        { word: "dogs", count: 1 },
      ],
    });
  });

  test("an empty text has nothing in it", () => {
    expect(analyzeText("")).toEqual({
      words: 0,
      sentences: 0,
      longestSentence: { words: 0, text: "" },
      frequentWords: [],
    });
  });
});

test("merged sections have all the words of the whole text", () => {
  const text = licence("gpl-3");
  const parts = splitSections(text).map(({ from, to }) => analyzeText(text.slice(from, to)));
  const merged = mergeAnalyses(parts);
  const whole = analyzeText(text);
  expect(merged.words).toBe(whole.words);
  expect(merged.words).toBeGreaterThan(5000);
  expect(merged.longestSentence).toEqual(whole.longestSentence);
  expect(merged.frequentWords[0]!.word).toBe("license");
});

test("merging nothing gives an empty analysis", () => {
  expect(mergeAnalyses([])).toEqual(analyzeText(""));
});
