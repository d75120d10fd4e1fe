// The long test plants these faults one by one; this one finds early that the core has moved away from under a patch.
import { expect, test } from "vitest";
import { CORE, MUTANTS, patched } from "./planted.ts";

test.each(MUTANTS)("the patch of a core that $fault applies", async (mutant) => {
  await expect(patched(CORE, mutant)).resolves.toContain(mutant.to);
});
