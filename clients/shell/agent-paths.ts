// Paths as locks: who takes one reads the folders above it, so that nobody else can have one of them alone.

/** Each costs an agent a lease. */
export const FOLDERS_MAX = 15;

/** Of `a/b/c`: `a` and `a/b`. */
export function foldersAbove(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join("/"));
}

export function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

/** All must write a path alike, or it is another lock. Null: it is written so. */
export function pathFault(path: string): string | null {
  const parts = path.split("/");
  if (parts.some((part) => ["", ".", ".."].includes(part)))
    return `Write the path as all do, without a slash at either end and without . and ..: not "${path}".`;
  if (parts.length > FOLDERS_MAX + 1)
    return `"${path}" has more than ${FOLDERS_MAX} folders above it: acquire one of these folders instead.`;
  return null;
}
