import type { ComponentApi } from "../component/_generated/component.js";
import type { AnyDefinition } from "../definition/definition.js";

/* Only `@stepwise/workflow/test` asks. */
const components = new WeakMap<AnyDefinition, ComponentApi>();

/** Returns the component that generated code calls, by the definition under its storage names. */
export const componentOf = (stored: AnyDefinition): ComponentApi | undefined =>
  components.get(stored);

export function knowComponent(stored: AnyDefinition, component: ComponentApi): void {
  components.set(stored, component);
}
