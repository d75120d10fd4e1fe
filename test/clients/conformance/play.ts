// Plays one scenario with the client of one language, from starting its servers to the last step.

import type { Language } from "./language.ts";
import type { Outcome } from "./outcome.ts";
import type { Scenario } from "./scenario.ts";
import { Stage } from "./stage.ts";
import { takeSteps } from "./steps.ts";

export async function play(language: Language, scenario: Scenario): Promise<Outcome> {
  const except = scenario.except[language.name];
  if (except !== undefined) return { kind: "does not apply", why: except };
  if (scenario.needs === "mysql" && language.databases.kind !== "mysql")
    return { kind: "not run", why: "it needs MySQL or MariaDB" };
  const stage = new Stage(language, scenario);
  let failure: unknown;
  try {
    await stage.setUp();
    await takeSteps(stage, scenario.steps);
  } catch (error) {
    failure = error;
  }
  try {
    await stage.tearDown(failure === undefined);
  } catch (error) {
    failure ??= error;
  }
  return failure === undefined ? { kind: "passed" } : { kind: "failed", why: (failure as Error).message };
}
