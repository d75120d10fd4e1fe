// The image's health check: asks the server whether it is ready, and ends with 0 when it is and with 1 when not.
const PATIENCE_MS = 2_500;

const listen = process.env.ROWLOCK_METRICS_LISTEN ?? "127.0.0.1:9464";
const port = listen.slice(listen.lastIndexOf(":") + 1);

try {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  console.log(await answer.text());
  process.exitCode = answer.ok ? 0 : 1;
} catch (error) {
  console.error(`no answer from port ${port}: ${error.message}`);
  process.exitCode = 1;
}
