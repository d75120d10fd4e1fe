// Queue rules: what is set and shown, who is granted first, and what a superseded waiter hears.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import rowlock.v1.ClaimEnd;
import rowlock.v1.EndReason;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;
import rowlock.v1.WaitInQueueResponse;

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
  void headStartsAreSetAndShown() {
    QueueRules anHour = QueueRules.headStartsUpTo(Duration.ofHours(1));
    try (RowlockClient rowlock = RowlockClient.connect(server.address)) {
      for (QueueRules rules :
          List.of(anHour, QueueRules.headStartsUpTo(Duration.ofMillis(1_500)).withWaitingMax(5))) {
        LimitChange change = LimitChange.ofName("starts").toQueueRules(rules);
        assertEquals(Optional.of(rules), rowlock.setLimit(change).queueRules());
        assertEquals(
            Optional.of(rules), rowlock.getLock("starts").queueRules().map(QueueRulesView::rules));
        assertEquals(
            List.of(Optional.of(rules)),
            rowlock.listLimits("starts").map(LimitSetting::queueRules).toList());
      }
      ChangeView last = rowlock.listChanges(ChangeFilter.ofLock("starts")).toList().get(0);
      assertEquals(Optional.of(anHour), ((ChangeView.OfLimit) last.what()).queueRulesFrom());
      assertEquals(OptionalInt.empty(), anHour.waitingMax());
      assertEquals(Optional.of(Duration.ofHours(1)), anHour.headStartMax());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aHeadStartIsGrantedFirst(boolean isWithoutStreams) throws Exception {
    String name = "ahead/" + isWithoutStreams;
    try (StreamlessProxy proxy = new StreamlessProxy(server.address, Status.UNIMPLEMENTED);
        RowlockClient rowlock =
            RowlockClient.connect(isWithoutStreams ? proxy.address() : server.address)) {
      QueueRules rules = QueueRules.headStartsUpTo(Duration.ofHours(1));
      rowlock.setLimit(LimitChange.ofName(name).toQueueRules(rules));
      CompletableFuture<HeldLock> first;
      CompletableFuture<HeldLock> ahead;
      try (HeldLock held = rowlock.lock(name)) {
        first = rowlock.lockAsync(name, LockOptions.defaults());
        Until.until("it waits", () -> rowlock.getLock(name).waiterCount() == 1);
        ahead =
            rowlock.lockAsync(
                name, LockOptions.builder().headStart(Duration.ofMinutes(1)).build());
        Until.until("both wait", () -> rowlock.getLock(name).waiterCount() == 2);
      }
      assertEquals(2, ahead.get().token());
      ahead.get().close();
      assertEquals(3, first.get().token());
      first.get().close();
      RowlockException wrong =
          assertThrows(
              RowlockException.class,
              () -> rowlock.lock(name, with -> with.headStart(Duration.ofSeconds(-1))));
      assertEquals(Reason.BAD_REQUEST, wrong.reason());
    }
  }

  @Test
  void eachRequestOfAClaimHasItsHeadStart() throws Exception {
    com.google.protobuf.Duration minute = Times.protoOf(Duration.ofMinutes(1));
    LockOptions.Builder options = LockOptions.builder().headStart(Duration.ofMinutes(1));
    try (Script script = new Script()) {
      script.acquire(options.build());
      SessionCommand wait = script.next();
      assertEquals(minute, wait.getWaitInQueue().getRequest().getHeadStart());
      ClaimEnd lapsed = ClaimEnd.newBuilder().setReason(EndReason.END_REASON_LAPSED).build();
      script.answer(
          wait,
          SessionResult.newBuilder()
              .setWaitInQueue(WaitInQueueResponse.newBuilder().setEnded(lapsed)));
      assertEquals(minute, script.next().getWaitInQueue().getRequest().getHeadStart());
      script.acquire(options.noWait().build());
      assertEquals(minute, script.next().getAcquire().getHeadStart());
      script.acquire(options.headStart(Duration.ZERO).build());
      assertFalse(script.next().getAcquire().hasHeadStart());
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
