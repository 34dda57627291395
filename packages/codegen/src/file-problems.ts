import { diagnostic, type Diagnostic, placeAt, startOf } from "./diagnostics/diagnostic.js";
import { frameOf } from "./diagnostics/format.js";
import { placeOfDefine, type SourceText, type UnreadablePath } from "./discover/discover.js";

export function misnamedFile(source: SourceText): Diagnostic {
  const { file, text } = source;
  const place = placeAt(file, text, placeOfDefine(text) ?? 0, "import".length);
  const name =
    file
      .replace(/^.*\/\.*/, "")
      .replace(/^\.+/, "")
      .replace(/(?:[.-]?workflows?)?\.\w+$/i, "") || "order";
  const parts = file.split("/");
  // It is named as a definition, but the name of the file or of its folder begins with a dot.
  const hidden = parts.find((part) => part.startsWith("."));
  const why =
    hidden !== undefined && file.endsWith(".workflow.ts")
      ? `${hidden} begins with a dot`
      : "its name does not end in .workflow.ts";
  const message = `${file} uses defineWorkflow(), but ${why}, so no workflow that is made by it is compiled`;
  const hint = `move its workflows to a file such as ${name}.workflow.ts, and call defineWorkflow() there as it is imported from "@stepwise/workflow"`;
  return withFrames(diagnostic("misnamedFile", place, message, hint), [source]);
}

/** Reports a file or folder that is there but cannot be read. There is no line of it to show. */
export const unreadableFile = ({ file, error }: UnreadablePath): Diagnostic =>
  diagnostic(
    "unreadableFile",
    startOf(file),
    error.message.replace(error.path, file),
    "make it readable, or take it out of the functions folder",
  );

/** Reports a link to a folder with definitions. There is no line of it to show. */
export function linkedFolder(file: string): Diagnostic {
  const message = `${file} is a link to a folder, so the definitions in it are not compiled`;
  const hint = "make it a folder with a link to each file in it: links to files are followed";
  return diagnostic("linkedFolder", startOf(file), message, hint);
}

export function withFrames(diagnostic: Diagnostic, sources: readonly SourceText[]): Diagnostic {
  const frame = (place: Diagnostic["place"]) => {
    const source = sources.find(({ file }) => file === place.file);
    return source && frameOf(source.text, place);
  };
  const related = diagnostic.related.map((each) => ({ ...each, frame: frame(each.place) }));
  return { ...diagnostic, frame: frame(diagnostic.place), related };
}
