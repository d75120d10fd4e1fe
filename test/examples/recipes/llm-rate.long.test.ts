// The recipe of a model with a rate: several processes at once, with a stand-in for the model that counts questions, and
// answers some of them with 429.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { afterEach, expect, test } from "vitest";
import { seconds } from "../../support/test-calls.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

const REST_S = 3;
const PROCESSES = ["a", "b", "c"];
const QUESTIONS = ["1", "2", "3"];

const cleanups: (() => unknown)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A model that answers each question after a moment, but the first ones with 429. */
async function startModel({ tooManyAtFirst = 0 } = {}) {
  let atWork = 0;
  const seen = { mostAtOnce: 0, answered: [] as string[], refused: [] as string[] };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    atWork += 1;
    seen.mostAtOnce = Math.max(seen.mostAtOnce, atWork);
    const question = await text(request);
    await sleep(50);
    atWork -= 1;
    if (seen.refused.length < tooManyAtFirst) {
      seen.refused.push(question);
      response.writeHead(429, { "Retry-After": String(REST_S) }).end("too many");
      return;
    }
    seen.answered.push(question);
    response.end(question.toUpperCase());
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, seen };
}

inEachLanguage((language) => {
  const stage = recipeStage("llm-rate", language);

  /** Asks all questions in all processes. Returns the model's lock's claims in the order of their grants. */
  async function askedOf(MODEL_URL: string, MODEL: string) {
    const runs = PROCESSES.map((each) =>
      stage.start(
        "ask",
        QUESTIONS.map((question) => each + question),
        { MODEL, MODEL_URL },
      ),
    );
    for (const run of runs) expect(await run.ended, run.complaints).toBe(0);
    const { claims } = await stage.server.client.call("listClaims", {
      locks: { case: "lockName", value: MODEL },
      pageSize: 100,
    });
    return claims
      .map(({ grantedAt, end }) => ({
        grantedMs: timestampMs(grantedAt as Timestamp),
        endedMs: timestampMs(end?.endedAt as Timestamp),
      }))
      .sort((one, other) => one.grantedMs - other.grantedMs);
  }

  async function setLimits(value: string, limit: number, permits: number, burst: number) {
    await stage.server.client.call("setLimit", {
      target: { case: "name", value },
      newLimit: { case: "limit", value: limit },
      newRate: { case: "rate", value: { permits, per: seconds(1), burst } },
    });
  }

  const all = PROCESSES.flatMap((each) => QUESTIONS.map((question) => each + question));

  test("all processes together ask no faster than the rate, and no more at once than the limit", async () => {
    const model = await startModel();
    await setLimits("model/busy", 2, 4, 2);
    const grants = await askedOf(model.url, "model/busy");
    expect(model.seen.answered.sort()).toEqual(all);
    expect(model.seen.mostAtOnce).toBeLessThanOrEqual(2);
    expect(stage.journal().sort()).toEqual(all.map((question) => `${question}: ${question.toUpperCase()}`));
    expect(grants).toHaveLength(all.length);
    // A millisecond more, as the times are cut to milliseconds.
    for (const [first, { grantedMs: fromMs }] of grants.entries())
      for (const [last, { grantedMs: toMs }] of grants.entries())
        if (last >= first)
          expect(last - first + 1).toBeLessThanOrEqual(2 + (4 * (toMs - fromMs + 1)) / 1_000);
  });

  test("a 429 stops all processes for as long as the model says, and its question is asked again", async () => {
    const model = await startModel({ tooManyAtFirst: 1 });
    await setLimits("model/strict", 1, 1_000, 1_000);
    const [refused, next, ...others] = await askedOf(model.url, "model/strict");
    expect(model.seen.answered.sort()).toEqual(all);
    expect(all).toContain(model.seen.refused[0]);
    expect(others).toHaveLength(all.length - 1);
    const restMs = (next?.grantedMs ?? 0) - (refused?.endedMs ?? Number.POSITIVE_INFINITY);
    expect(restMs).toBeGreaterThanOrEqual(REST_S * 1_000 - 1);
    // Waiters are granted when it is over, and need not ask again.
    expect(restMs).toBeLessThan(REST_S * 1_000 + 10_000);
  });
});
