// The folder in which Node keeps compiled code between commands. It decides whether a folder can be trusted: who can
// write into it can run code as whoever reads it.

import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

const ONLY_MINE = 0o700;
const WRITABLE_BY_OTHERS = 0o022;
/** In such a folder, only its owner and the owner of a file can replace that file. */
const STICKY = 0o1000;

/** Returns a folder that only this user can write into, or undefined: then nothing is kept. */
export function codeCacheFolder(env) {
  // Without owners there is nothing to check.
  if (process.geteuid === undefined) return undefined;
  const own = process.geteuid();
  try {
    const home = env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache");
    if (!isAbsolute(home)) return undefined;
    const folder = join(home, "rowlock", "compiled");
    // Under sudo, HOME can be another user's, where this user must leave nothing.
    if (!isSafe(realpathSync(nearest(folder)), own)) return undefined;
    mkdirSync(folder, { recursive: true, mode: ONLY_MINE });
    // Links are followed once, here, so that nobody can let them lead elsewhere after the check.
    const real = realpathSync(folder);
    const { uid, mode } = lstatSync(real);
    const isMine = uid === own && (mode & 0o777) === ONLY_MINE;
    return isMine && isSafe(dirname(real), own) ? real : undefined;
  } catch {
    // A home that cannot be written into, or that is not there, has no cache.
    return undefined;
  }
}

/** The nearest folder above, or this one, that is there. A link that leads nowhere counts as there. */
function nearest(folder) {
  return lstatSync(folder, { throwIfNoEntry: false }) ? folder : nearest(dirname(folder));
}

/** Whether only this user and root can replace what is in the folder, and the folder itself. */
function isSafe(folder, own) {
  const { uid, mode } = lstatSync(folder);
  const isShared = (mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0;
  if ((uid !== own && uid !== 0) || isShared) return false;
  return dirname(folder) === folder || isSafe(dirname(folder), own);
}
