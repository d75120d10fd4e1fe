// All migrations, in order. Listed by hand, so that they load the same way from source and from a build.

import * as locksAndClaims from "./0001-locks-and-claims.ts";

export const migrations = [{ name: "0001-locks-and-claims", ...locksAndClaims }] as const;
