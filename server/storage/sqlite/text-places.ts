// Places for values in statements. The text of a claim is bound as a string and converted by SQLite, which costs less
// than a Buffer for each. Columns of text contain its UTF-8 bytes, so a string alone is refused.

const TEXT_COLUMNS: ReadonlySet<string> = new Set([
  "secret",
  "request_id",
  "owner",
  "principal",
  "labels",
  "terms",
  "end_note",
  "ended_by",
]);

/** The place of a text that is bound as a string. */
const TEXT = "CAST(? AS BLOB)";

const placeOf = (column: string) => (TEXT_COLUMNS.has(column.replace(/^holder_/, "")) ? TEXT : "?");

/** For columns of a claim in `SET`. */
export const textSetsOf = (columns: readonly string[]): string[] =>
  columns.map((column) => `${column} = ${placeOf(column)}`);

/** For columns of a claim in `VALUES`. */
export const textPlacesOf = (columns: readonly string[]): string => columns.map(placeOf).join(", ");
