// Queue rules on a real server: what is set and shown, and what a superseded waiter hears.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class QueueRulesTest {
  private static final QueueRules NEWEST = QueueRules.newestWins(1);

  @RegisterExtension static final SharedServer server = new SharedServer();

  @Test
  void areSetShownAndRemovedBesideTheLimit() {
    try (RowlockClient rowlock = RowlockClient.connect(server.address)) {
      LimitChange both = LimitChange.ofName("rules").to(3).toQueueRules(NEWEST).reason("CI");
      LimitInForce set = rowlock.setLimit(both);
      assertEquals(3, set.limit());
      assertEquals(Optional.of(NEWEST), set.queueRules());
      assertEquals(
          Optional.of(
              new QueueRulesView(
                  NEWEST, LimitView.Source.NAME, Optional.empty(), set.version(), "CI")),
          rowlock.getLock("rules").queueRules());
      assertEquals(
          List.of(Optional.of(NEWEST)),
          rowlock.listLimits("rules").map(LimitSetting::queueRules).toList());
      LimitChange gone = LimitChange.ofName("rules").unsetQueueRules().ifVersion(set.version());
      assertEquals(Optional.empty(), rowlock.setLimit(gone).queueRules());
      OptionalInt three = OptionalInt.of(3);
      Optional<Rate> no = Optional.empty();
      assertEquals(
          new ChangeView.OfLimit(three, three, no, no, Optional.of(NEWEST), Optional.empty()),
          rowlock.listChanges(ChangeFilter.ofLock("rules")).map(ChangeView::what).toList().get(0));
      assertThrows(
          IllegalArgumentException.class,
          () -> LimitChange.ofName("rules").toQueueRules(NEWEST).unsetQueueRules());
    }
  }

  @Test
  void fairSharesAreSetAndShown() {
    QueueRules byPrincipal = QueueRules.sharedBy("principal");
    try (RowlockClient rowlock = RowlockClient.connect(server.address)) {
      for (QueueRules rules :
          List.of(byPrincipal, QueueRules.sharedBy("label:tenant").withWaitingMax(5))) {
        LimitChange change = LimitChange.ofName("shares").toQueueRules(rules);
        assertEquals(Optional.of(rules), rowlock.setLimit(change).queueRules());
        assertEquals(
            Optional.of(rules), rowlock.getLock("shares").queueRules().map(QueueRulesView::rules));
        assertEquals(
            List.of(Optional.of(rules)),
            rowlock.listLimits("shares").map(LimitSetting::queueRules).toList());
      }
      ChangeView last = rowlock.listChanges(ChangeFilter.ofLock("shares")).toList().get(0);
      assertEquals(Optional.of(byPrincipal), ((ChangeView.OfLimit) last.what()).queueRulesFrom());
      assertEquals(OptionalInt.empty(), byPrincipal.waitingMax());
      assertEquals(Optional.of("principal"), byPrincipal.shareBy());
    }
  }

  @Test
  void theNewestWins() throws Exception {
    try (RowlockClient rowlock = RowlockClient.connect(server.address)) {
      rowlock.setLimit(LimitChange.ofName("newest").toQueueRules(NEWEST));
      CompletableFuture<HeldLock> newer;
      try (HeldLock held = rowlock.lock("newest")) {
        CompletableFuture<HeldLock> older = rowlock.lockAsync("newest", LockOptions.defaults());
        Until.until("it waits", () -> rowlock.getLock("newest").waiterCount() == 1);
        newer = rowlock.lockAsync("newest", LockOptions.defaults());
        ExecutionException ended = assertThrows(ExecutionException.class, older::get);
        assertEquals(Reason.SUPERSEDED, ((RowlockException) ended.getCause()).reason());
      }
      newer.get().close();
    }
  }

  @Test
  void aFullQueueRefusesWithItsRules() throws Exception {
    try (RowlockClient rowlock = RowlockClient.connect(server.address)) {
      rowlock.setLimit(LimitChange.ofName("full").toQueueRules(QueueRules.atMost(1)));
      CompletableFuture<HeldLock> waiting;
      try (HeldLock held = rowlock.lock("full")) {
        waiting = rowlock.lockAsync("full", LockOptions.defaults());
        Until.until("it waits", () -> rowlock.getLock("full").waiterCount() == 1);
        RowlockException refused =
            assertThrows(RowlockException.class, () -> rowlock.lock("full"));
        assertEquals(Reason.QUEUE_FULL, refused.reason());
      }
      waiting.get().close();
    }
  }
}
