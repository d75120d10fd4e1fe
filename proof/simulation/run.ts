// Runs seeds from the command line: see README.md.

import { parseArgs } from "node:util";
import { DIFFERENCES, MISSED } from "./planted.ts";
import { runSeeds, Thread } from "./seeds.ts";

const { values } = parseArgs({
  options: {
    from: { type: "string", default: "1" },
    count: { type: "string", default: "2000" },
    threads: { type: "string" },
    shorten: { type: "string" },
    history: { type: "string" },
    trace: { type: "boolean", default: false },
    planted: { type: "string" },
  },
});
const TELL_EVERY = 10_000;
const difference = [...DIFFERENCES, ...MISSED].find(
  ({ fault }) => values.planted !== undefined && fault.includes(values.planted),
);
if (values.planted !== undefined && !difference)
  throw new Error(`No planted fault has "${values.planted}" in its name.`);

if (values.shorten !== undefined) {
  const thread = await Thread.start(difference);
  const short = await thread.shortened(Number(values.shorten));
  await thread.end();
  for (const { rule, what } of short.breaches) console.log(`BROKEN ${rule}: ${what}`);
  console.log(`${short.steps.length} steps are left, with luck ${short.luck}, after ${short.tries} runs:`);
  for (const step of short.steps) console.log(JSON.stringify(step));
  for (const line of short.history) console.log(line);
  for (const { rule, what } of short.shortBreaches) console.log(`BROKEN ${rule}: ${what}`);
} else if (values.history !== undefined) {
  const thread = await Thread.start(difference);
  const { lines, trace, breaches } = await thread.history(Number(values.history));
  await thread.end();
  for (const line of values.trace ? trace : lines) console.log(line);
  for (const { rule, what } of breaches) console.log(`BROKEN ${rule}: ${what}`);
} else {
  const [from, count] = [Number(values.from), Number(values.count)];
  const startedMs = performance.now();
  let seen = 0;
  const { runs, events, ms, broken } = await runSeeds({
    from,
    count,
    ...(difference && { difference }),
    ...(values.threads !== undefined && { threads: Number(values.threads) }),
    see({ seed, breaches }) {
      for (const { rule, what } of breaches) console.log(`${seed} BROKEN ${rule}: ${what}`);
      seen += 1;
      if (seen % TELL_EVERY === 0) console.log(`${seen} runs`);
    },
  });
  const tookS = ((performance.now() - startedMs) / 1e3).toFixed(1);
  console.log(
    `${runs} runs from seed ${from} on, ${events} events and ${(ms / 3.6e6).toFixed(1)} simulated hours in ${tookS} s; ` +
      `${broken.length} broke a promise`,
  );
  process.exitCode = broken.length > 0 ? 1 : 0;
}
