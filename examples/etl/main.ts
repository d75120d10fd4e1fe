// Ten workers load ten parts into a warehouse: as many at a time as the limit of the lock "etl/load" says at the moment.

import { connect } from "@rowlock/client";
import { Progress } from "./progress.ts";
import { Warehouse } from "./warehouse.ts";
import { loadPart } from "./worker.ts";

const PARTS = 10;

const addresses = (process.env.ROWLOCK_ADDR ?? "127.0.0.1:50051").split(",");
await using rowlock = connect({ addresses, owner: "etl" });
using warehouse = new Warehouse(process.env.WAREHOUSE ?? "warehouse.db");
const progress = new Progress(process.stdout);

const parts = Array.from({ length: PARTS }, (_, index) => `part-${index + 1}`);
const loading = parts.map((part) => loadPart(part, { rowlock, warehouse, progress }));
const failed = (await Promise.allSettled(loading)).filter(({ status }) => status === "rejected").length;

console.log(`${warehouse.rows()} rows in the warehouse, ${failed} parts failed`);
process.exitCode = failed === 0 ? 0 : 1;
