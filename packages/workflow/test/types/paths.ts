/** The names of all nodes of a definition, and the paths of those inside others. */
export type PathsOf<D extends { readonly "~names"?: () => unknown }> = ReturnType<
  NonNullable<D["~names"]>
>;
