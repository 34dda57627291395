import type { Shape } from "../input-shape.js";
import { InputForm } from "./input-form.js";
import { Problem } from "./parts.js";
import { useWatched } from "./studio.js";

/** A form with what the run was started with. */
export function LastInput({ runId, shape }: { runId: string; shape: Shape }) {
  const { value, error } = useWatched("input", { runId });
  return (
    <>
      <Problem error={error} />
      {value !== undefined && (
        <>
          <input type="hidden" name="loaded" />
          <InputForm shape={shape} example={value} value={value} />
        </>
      )}
    </>
  );
}
