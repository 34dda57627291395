/**
 * Makes something from an object once, and keeps it as long as the object. `by` must not change
 * what is made.
 */
export function once<Of extends object, By extends readonly unknown[], Made>(
  make: (of: Of, ...by: By) => Made,
) {
  const before = new WeakMap<Of, { readonly made: Made }>();
  const keep = (of: Of, made: Made) => before.set(of, { made });
  const get = (of: Of, ...by: By) => {
    let known = before.get(of);
    if (known === undefined) before.set(of, (known = { made: make(of, ...by) }));
    return known.made;
  };
  return Object.assign(get, { keep });
}
