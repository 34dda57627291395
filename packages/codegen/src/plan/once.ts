/** What is made of something, kept for as long as that is. */
export function once<Of extends object, Made>(make: (of: Of) => Made): (of: Of) => Made {
  const before = new WeakMap<Of, Made>();
  return (of) => {
    const made = before.get(of) ?? make(of);
    before.set(of, made);
    return made;
  };
}
