// Makes the number in a file the limit of a batch job. The configuration system runs this after each change; or cron does, as
// to set what is set already changes nothing.

import { readFileSync } from "node:fs";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051" } = process.env;
const [job = "import", file = `/etc/batch/${job}.limit`] = process.argv.slice(2);

const knob = readFileSync(file, "utf8").trim();
if (!/^\d+$/.test(knob)) throw new Error(`${file} holds no number: ${knob}`);

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
const { limit } = await rowlock.setLimit({ name: `batch/${job}` }, Number(knob), { reason: file });
console.log(`the limit is ${limit}`);
