// The wheel and the source archive of the client for Python, made by the release commands: pip installs each into an
// empty environment.

import { cpSync, globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processStage } from "../../process/stage.ts";
import { INSTALLING_MS, needed, PYTHON_ENVIRONMENT, pasted, runsFirstProgram } from "../../support/pasted.ts";

const client = join(import.meta.dirname, "../../../clients/python");
const SOURCES = ["src", "tests", "examples", "pyproject.toml", "README.md", "LICENSE"];
const stage = processStage();

test("wheel and source archive each run the first program", { timeout: INSTALLING_MS }, async (context) => {
  await needed(stage, "python3 -c 'import venv, ensurepip'", context);
  const checkout = stage.folder();
  for (const path of SOURCES) cpSync(join(client, path), join(checkout, path), { recursive: true });
  const packing = `${PYTHON_ENVIRONMENT}pip install -q build==1.6.1 twine==7.0.0
    python -m build
    twine check --strict dist/*`;
  const { code, said } = await pasted(stage, packing, checkout);
  expect(code, said).toBe(0);
  const packed = globSync("dist/*", { cwd: checkout }).sort();
  expect(packed).toEqual([
    expect.stringMatching(/^dist\/rowlock-\d+\.\d+\.\d+-py3-none-any\.whl$/),
    expect.stringMatching(/^dist\/rowlock-\d+\.\d+\.\d+\.tar\.gz$/),
  ]);
  for (const file of packed) {
    const lines = `${PYTHON_ENVIRONMENT}pip install -q ${join(checkout, file)}\npython first.py`;
    await runsFirstProgram(stage, ["first.py"], lines);
  }
});
