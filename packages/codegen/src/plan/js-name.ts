/** A name that JavaScript takes without quotes. */
export const jsName = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
