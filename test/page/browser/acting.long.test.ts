// People who sign in and change something, and people who may not.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { LimitSource, WhenFull } from "#proto/rowlock/v1/lock_pb.js";
import { newToken } from "../../../server/access/tokens-file.ts";
import { processStage } from "../../process/stage.ts";
import { HAS_CHROMIUM } from "../../support/chromium.ts";
import { lasting } from "../../support/lasting.ts";
import { TestCalls } from "../../support/test-calls.ts";
import { visits } from "./visits.ts";

describe.skipIf(!HAS_CHROMIUM)("somebody", () => {
  const stage = processStage();
  const { visit } = visits();
  const [olga, rita, wrong] = [newToken("olga"), newToken("rita"), newToken("olga")];
  /** A server where Olga operates under etl/, and Rita only reads. */
  async function started() {
    const folder = stage.folder();
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const tokens = file("tokens", `${olga.line}\n${rita.line}\n`);
    const policy = file(
      "policy",
      'rules:\n  - { who: "*", may: [read, use], on: "*" }\n  - { who: "token:olga", may: [operate], on: "etl/*" }\n',
    );
    const access = ["--tokens-file", tokens, "--policy-file", policy];
    const server = await stage.serving("sqlite::memory:", ...access, "--grace", "10m");
    const client = new TestCalls(server.grpcAddress, { headers: { authorization: `Bearer ${olga.token}` } });
    stage.afterwards(() => client.close());
    for (const name of ["etl/load", "report/daily"]) {
      await client.lease({ name, terms: lasting("anna") });
      await client.ticket({ name, terms: lasting("ben") });
      await client.ticket({ name, terms: lasting("carl") });
    }
    return { ...server, client };
  }

  async function signIn(page: Page, { token }: { token: string }): Promise<void> {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  test("who has not signed in sees nothing, and is told what a wrong token is", async () => {
    const server = await started();
    const { page } = await visit(server, "#/lock/etl%2Fload", { isRefusalExpected: true });
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await signIn(page, wrong);
    await page.getByRole("alert").waitFor();
    expect(await page.getByText("anna").count()).toBe(0);
    await signIn(page, olga);
    await page.getByText("anna").first().waitFor();
    const kept = await page.evaluate("[location.href, JSON.stringify(localStorage), document.cookie].join()");
    expect(kept).not.toContain(olga.token);
    await page.reload();
    await page.getByText("anna").first().waitFor();
    await page.getByRole("button", { name: /^Sign out/ }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
    expect(await page.getByText("anna").count()).toBe(0);
  });

  test("with the right ends a lease for a reason, and sees before who is next", async () => {
    const server = await started();
    const { page } = await visit(server, "#/lock/etl%2Fload");
    await signIn(page, olga);
    await page.getByRole("button", { name: /^End… the claim #1$/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Granted at once: ben (#2) for 1 permit").waitFor();
    await dialog.getByRole("button", { name: "End 1 lease" }).click();
    // The browser asks for the reason.
    expect(await dialog.locator("input:invalid").count()).toBe(1);
    expect((await server.client.call("getLock", { name: "etl/load" })).lock?.holders[0]?.owner).toBe("anna");
    await dialog.getByLabel("Reason").fill("it hangs since the deploy");
    await dialog.getByRole("button", { name: "End 1 lease" }).click();
    await page.getByText("Ended 1 claim of etl/load.").waitFor();
    await page.locator("section:has(#holders) td", { hasText: "ben" }).waitFor();
    await page.locator("section:has(#changes) td", { hasText: "it hangs since the deploy" }).waitFor();
    const { changes } = await server.client.call("listChanges", {
      target: {},
      lockName: "etl/load",
    } as never);
    expect(changes[0]).toMatchObject({ changedBy: "token:olga", reason: "it hangs since the deploy" });
  });

  test("with the right sees a claim's other locks, and ends it at all of them", async () => {
    const server = await started();
    await server.client.lease({ name: "etl/a", also: [{ name: "etl/b" }], terms: lasting("dora") });
    await server.client.ticket({ name: "etl/b", also: [{ name: "etl/load" }], terms: lasting("emil") });
    const { page } = await visit(server, "#/lock/etl%2Fb");
    await signIn(page, olga);
    await page.locator("section:has(#holders) td", { hasText: "together with etl/a (1 permit)" }).waitFor();
    await page.locator("section:has(#queue) td", { hasText: "together with etl/load (1 permit)" }).waitFor();
    await page.locator(".causes li", { hasText: "etl/load: Held by anna (#1)." }).waitFor();
    await page.locator(".bars li", { hasText: "dora and 1 other lock" }).waitFor();
    await page.getByRole("button", { name: /^End… the claim #1$/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("A claim for several locks ends at all of them.").waitFor();
    await dialog.getByText("The first waiter wants other locks, too").waitFor();
    await dialog.getByLabel("Reason").fill("it hangs");
    await dialog.getByRole("button", { name: "End 1 lease" }).click();
    await page.getByText("Ended 1 claim of etl/b.").waitFor();
    await page.getByText("Nobody holds it.").waitFor();
    expect((await server.client.shown("etl/a")).holders).toEqual([]);
  });

  test("with the right turns the limit, and is told of a change by somebody else in between", async () => {
    const server = await started();
    await server.client.limit("etl/load", 1, { reason: "as before" });
    const { page } = await visit(server, "#/lock/etl%2Fload", { isRefusalExpected: true });
    await signIn(page, olga);
    await page.getByRole("button", { name: "Set limit or rate…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("spinbutton", { name: "Limit" }).fill("2");
    await dialog.getByText("Granted at once: ben (#2) for 1 permit").waitFor();
    await dialog.getByRole("spinbutton", { name: "Limit" }).fill("3");
    await dialog.getByText("Granted at once: ben (#2) for 1 permit, carl (#3) for 1 permit").waitFor();
    await dialog.getByLabel("Reason").fill("night shift");
    await server.client.limit("etl/load", 0, { reason: "somebody else" });
    await dialog.getByRole("button", { name: "Set the limit to 3" }).click();
    await dialog.getByRole("alert").waitFor();
    expect((await server.client.call("getLock", { name: "etl/load" })).lock?.limit?.permits).toBe(0);

    await dialog.getByRole("button", { name: "Cancel" }).click();
    // A dialog takes the version that the page shows, and the page has to hear of the change.
    await page.getByRole("region", { name: "State" }).getByText("somebody else").waitFor();
    await page.getByRole("button", { name: "Set limit or rate…" }).click();
    await dialog.getByRole("spinbutton", { name: "Limit" }).fill("3");
    await dialog.getByLabel("Reason").fill("night shift");
    await dialog.getByRole("button", { name: "Set the limit to 3" }).click();
    await page.getByText("The limit of etl/load is 3 now.").waitFor();
    await page.getByRole("heading", { name: "Holders 3" }).waitFor();
    const { lock } = await server.client.call("getLock", { name: "etl/load" });
    expect(lock).toMatchObject({
      limit: { permits: 3, reason: "night shift" },
      holderCount: 3,
      waiterCount: 0,
    });
  });

  test("with the right sets a rate and leaves the limit alone, and removes it", async () => {
    const server = await started();
    const { page } = await visit(server, "#/lock/etl%2Fload");
    await signIn(page, olga);
    const dialog = page.getByRole("dialog");
    const state = page.getByRole("region", { name: "State" });
    await page.getByRole("button", { name: "Set limit or rate…" }).click();
    await dialog.getByLabel("The limit").selectOption("keep");
    await dialog.getByLabel("The rate").selectOption("set");
    await dialog.getByLabel("Permits").fill("6");
    await dialog.getByLabel("Unit").selectOption("hour");
    await dialog.getByLabel("Burst").fill("2");
    await dialog.getByLabel("Reason").fill("the provider's quota");
    await dialog.getByRole("button", { name: "Set the rate" }).click();
    await page.getByText("The rate of etl/load is 6 per hour, burst 2 now.").waitFor();
    await state.getByText("2 permits may be taken now").waitFor();
    const { lock } = await server.client.call("getLock", { name: "etl/load" });
    expect(lock).toMatchObject({
      limit: { permits: 1, source: LimitSource.DEFAULT },
      rate: { rate: { permits: 6, burst: 2 }, reason: "the provider's quota" },
    });
    await page
      .locator("section:has(#changes) tr", { hasText: "not set → 6 per hour, burst 2" })
      .getByText("rate", { exact: true })
      .waitFor();

    await page.getByRole("button", { name: "Set limit or rate…" }).click();
    await dialog.getByLabel("The rate").selectOption("unset");
    await dialog.getByLabel("Reason").fill("paid");
    await dialog.getByRole("button", { name: "Remove the rate" }).click();
    await page.getByText("Removed the rate of etl/load: it is none now.").waitFor();
    await state.getByText("per hour").waitFor({ state: "detached" });
  });

  test("with the right says how many may wait, and lets the newest win, for a name and for a pattern", async () => {
    const server = await started();
    const { page } = await visit(server, "#/lock/etl%2Fload");
    await signIn(page, olga);
    const dialog = page.getByRole("dialog");
    const state = page.getByRole("region", { name: "State" });
    await page.getByRole("button", { name: "Set limit or rate…" }).click();
    await dialog.getByLabel("The limit").selectOption("keep");
    await dialog.getByLabel("The queue rules").selectOption("set");
    await dialog.getByLabel("At most waiting").fill("0");
    expect(await dialog.getByRole("button", { name: "Set the queue rules" }).isDisabled()).toBe(true);
    await dialog.getByLabel("At most waiting").fill("1");
    await dialog.getByLabel("Reason").fill("only the newest push");
    await dialog.getByRole("button", { name: "Set the queue rules" }).click();
    await page.getByText("The queue of etl/load: at most 1 waits, and the newest wins now.").waitFor();
    await state.getByText("at most 1 waits, and the newest wins").waitFor();
    const { lock } = await server.client.call("getLock", { name: "etl/load" });
    expect(lock).toMatchObject({
      queueRules: {
        rules: { waitingMax: 1, whenFull: WhenFull.END_LONGEST_WAITING },
        reason: "only the newest push",
      },
    });
    await page
      .locator("section:has(#changes) tr", { hasText: "not set → at most 1 waits, and the newest wins" })
      .getByText("queue rules", { exact: true })
      .waitFor();
    await page.getByRole("button", { name: "Set limit or rate…" }).click();
    await dialog.getByLabel("The queue rules").selectOption("unset");
    await dialog.getByLabel("Reason").fill("all pushes count");
    await dialog.getByRole("button", { name: "Remove the queue rules" }).click();
    await page.getByText("The queue of etl/load: no rules now.").waitFor();

    await page.goto(`${server.metricsUrl}/#/limits`);
    await page.getByRole("button", { name: "Set a limit or a rate…" }).click();
    await dialog.getByLabel("Pattern or name").fill("etl/*");
    await dialog.getByLabel("The limit").selectOption("keep");
    await dialog.getByLabel("The queue rules").selectOption("set");
    await dialog.getByLabel("At most waiting").fill("3");
    await dialog.getByLabel("Order").selectOption("arrival");
    await dialog.getByLabel("Reason").fill("enough");
    await dialog.getByRole("button", { name: "Set the queue rules" }).click();
    await page.getByRole("row", { name: /etl\/\*.*at most 3 wait/ }).waitFor();

    await page
      .getByRole("row", { name: /etl\/\*/ })
      .getByRole("button", { name: /^Change…/ })
      .click();
    await dialog.getByLabel("At most waiting").fill("");
    await dialog.getByLabel("Order").selectOption("label");
    expect(await dialog.getByRole("button", { name: "Set the queue rules" }).isDisabled()).toBe(true);
    await dialog.getByRole("textbox", { name: "Label" }).fill("tenant");
    await dialog.getByLabel("Reason").fill("fair");
    await dialog.getByRole("button", { name: "Set the queue rules" }).click();
    await page.getByRole("row", { name: /etl\/\*.*shares are fair, by label tenant/ }).waitFor();

    await page
      .getByRole("row", { name: /etl\/\*/ })
      .getByRole("button", { name: /^Change…/ })
      .click();
    await dialog.getByLabel("Order").selectOption("head starts");
    expect(await dialog.getByRole("button", { name: "Set the queue rules" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Seconds at most").fill("600");
    await dialog.getByLabel("Reason").fill("outages first");
    await dialog.getByRole("button", { name: "Set the queue rules" }).click();
    await page.getByRole("row", { name: /etl\/\*.*head starts of at most 10 min/ }).waitFor();
  });

  test("with the right makes a pool, sees who waits at it and where, changes it and removes it", async () => {
    const server = await started();
    const { page } = await visit(server, "#/limits");
    await signIn(page, olga);
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Set a limit or a rate…" }).click();
    await dialog.getByLabel("Pattern or name").fill("etl/*");
    await dialog.getByLabel("It is for").selectOption("pool");
    await dialog.getByRole("spinbutton", { name: "Limit" }).fill("1");
    await dialog.getByText("Those who hold locks under it are counted").waitFor();
    await dialog.getByLabel("Reason").fill("one disk");
    await dialog.getByRole("button", { name: "Set the limit to 1" }).click();
    await page.getByText("The limit of the pool etl/* is 1 now.").waitFor();
    // The lease of anna is counted.
    const row = page.locator("section:has(#pools) tr", { hasText: "etl/*" });
    await row.getByText("1 / 1").waitFor();
    await server.client.ticket({ name: "etl/next", terms: lasting("dora") });
    const { limits } = await server.client.call("listLimits", {});
    expect(limits).toMatchObject([{ target: { case: "pool" }, limit: 1, use: { waiterCount: 1 } }]);

    await page.goto(`${server.metricsUrl}/#/lock/etl%2Fnext`);
    await page.getByRole("region", { name: "State" }).getByText("1 / 1").waitFor();
    await page
      .getByText("It has its lock, and the pool etl/* has 1 of 1 permits taken: “one disk”.")
      .waitFor();
    await page.locator("section:has(#queue) td", { hasText: "waits at the pool etl/*" }).waitFor();
    await page.locator("section:has(#changes) td", { hasText: "limit of a pool" }).waitFor();

    await page.goto(`${server.metricsUrl}/#/limits`);
    await row.getByRole("button", { name: /^Change…/ }).click();
    await dialog.getByRole("spinbutton", { name: "Limit" }).fill("2");
    await dialog.getByText("1 permit would be free for the 1 claim waiting there.").waitFor();
    await dialog.getByLabel("Reason").fill("two disks");
    await dialog.getByRole("button", { name: "Set the limit to 2" }).click();
    await row.getByText("2 / 2").waitFor();
    await row.getByRole("button", { name: /^Change…/ }).click();
    await dialog.getByLabel("The limit").selectOption("unset");
    await dialog.getByLabel("Reason").fill("enough disks");
    await dialog.getByRole("button", { name: "Remove the limit" }).click();
    await page.getByText("It is no pool any more.").waitFor();
    await row.waitFor({ state: "detached" });
  });

  test("with the right sets a status and when the lock is due", async () => {
    const server = await started();
    const { page } = await visit(server, "#/lock/etl%2Fload");
    await signIn(page, olga);
    await page.getByRole("button", { name: "Change record…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Status").fill("failed");
    await dialog.getByLabel("Not before").selectOption("in");
    await dialog.getByRole("spinbutton", { name: "Minutes" }).fill("90");
    await dialog.getByLabel("Attempts left").fill("4");
    await dialog.getByLabel("Reason").fill("the load failed");
    await dialog.getByRole("button", { name: "Change the record" }).click();
    await page.getByText("Changed the record of etl/load.").waitFor();
    await page
      .getByText(/in (88|89) min/)
      .first()
      .waitFor();
    const { lock } = await server.client.call("getLock", { name: "etl/load" });
    expect(lock?.record).toMatchObject({ status: "failed", attemptsLeft: 4 });
  });

  test("without the right sees no button that would fail, on any name", async () => {
    const server = await started();
    // What the page asks in the moment when she signs out is refused.
    const { page } = await visit(server, "#/lock/report%2Fdaily", { isRefusalExpected: true });
    await signIn(page, olga);
    await page.getByText("anna").first().waitFor();
    const act = page.getByRole("main").getByRole("button");
    // Olga may not operate here, but she may next door.
    await page.goto(`${server.metricsUrl}/#/lock/etl%2Fload`);
    await page.getByRole("button", { name: "Set limit or rate…" }).waitFor();
    await page.goto(`${server.metricsUrl}/#/lock/report%2Fdaily`);
    await page.getByText("anna").first().waitFor();
    await page.locator(".bars li").first().waitFor();
    expect(await act.count()).toBe(0);

    await page.getByRole("button", { name: /^Sign out/ }).click();
    await signIn(page, rita);
    for (const hash of ["#/lock/etl%2Fload", "#/limits"]) {
      await page.goto(`${server.metricsUrl}/${hash}`);
      await page.locator(".bars li, .empty").first().waitFor();
      expect(await act.count(), hash).toBe(0);
    }
  });
});
