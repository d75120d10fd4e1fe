// The runs with planted faults take minutes; this one finds early that the server has moved away from under a patch.

import { expect, test } from "vitest";
import { patched } from "../core/planted.ts";
import { SERVER } from "../faults/planted.ts";
import { DIFFERENCES, MISSED } from "./planted.ts";

const patches = [...DIFFERENCES, ...MISSED].flatMap(({ fault, patches = [] }) =>
  patches.map((patch) => ({ fault, ...patch })),
);

test.each(patches)("the patch of a server that $fault applies to $file", async (patch) => {
  await expect(patched(SERVER, patch)).resolves.toContain(patch.to);
});
