// Paths as locks: who takes one takes the folders above it, too, as a reader, so that no other claim can have one of them alone.

import { FURTHER_LOCKS_MAX } from "../../server/core/bounds.ts";

/** Of `a/b/c`: `a` and `a/b`, for reading. */
export function foldersAbove(path: string): { readonly name: string; readonly mode: "shared" }[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, at) => ({ name: parts.slice(0, at + 1).join("/"), mode: "shared" }));
}

/** All must write a path alike, or it is another lock. Null: it is written so. */
export function pathFault(path: string): string | null {
  const parts = path.split("/");
  if (parts.some((part) => ["", ".", ".."].includes(part)))
    return `Write the path as all do, without a slash at either end and without . and ..: not "${path}".`;
  if (parts.length > FURTHER_LOCKS_MAX + 1)
    return `"${path}" has more than ${FURTHER_LOCKS_MAX} folders above it: acquire one of these folders instead.`;
  return null;
}
