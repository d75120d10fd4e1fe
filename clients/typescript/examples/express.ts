// An Express server that loads a table in one request at a time, however many servers there are:
//
//   ROWLOCK_ADDR=127.0.0.1:50051 PORT=3000 node express.ts
//   curl -X POST localhost:3000/load/orders

import { connect } from "@rowlock/client";
import { locked } from "@rowlock/client/express";
import express, { type Request, type Response } from "express";

const { ROWLOCK_ADDR = "127.0.0.1:50051", PORT = "3000" } = process.env;
const rowlock = connect({ addresses: ROWLOCK_ADDR, releaseOnExit: true });
const app = express();

app.post(
  "/load/:table",
  locked(
    rowlock,
    (request: Request) => `load/${request.params.table}`,
    { wait: 0 },
    async (request, response: Response, lock) => {
      // Pass lock.signal to what the handler does, and lock.token to what it writes.
      await new Promise((resolve) => setTimeout(resolve, Number(request.query.ms ?? 1_000)));
      response.send(`loaded, with fencing token ${lock.token}\n`);
    },
  ),
);

const server = app.listen(Number(PORT), () => {
  console.log(`listening on ${(server.address() as { port: number }).port}`);
});
