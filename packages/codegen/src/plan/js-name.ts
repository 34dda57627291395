/** A name as JavaScript takes it without quotes. What a text of source brings along is imported again under such names only. */
export const jsName = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
