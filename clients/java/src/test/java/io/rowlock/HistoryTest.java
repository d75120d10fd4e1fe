// The verbs about the past, and about waits.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import rowlock.v1.Change;
import rowlock.v1.PolicyChange;

@Timeout(120)
class HistoryTest {
  @RegisterExtension static final SharedServer server = new SharedServer();

  private final RowlockClient rowlock =
      RowlockClient.connect(ConnectOptions.to(server.address).owner("anna").build());

  @AfterEach
  void close() {
    rowlock.close();
  }

  private List<Reason> endsOf(ClaimFilter filter) {
    return rowlock.listClaims(filter).map(claim -> claim.end().orElseThrow().reason()).toList();
  }

  private static ChangeView.OfLimit limitOf(OptionalInt from, OptionalInt to) {
    return new ChangeView.OfLimit(
        from, to, Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());
  }

  @Test
  void listClaimsHasThoseThatAreOver() throws Exception {
    rowlock.lock("past", with -> with.label("run", "1")).close();
    rowlock.lock("past", with -> with.owner("ben"));
    rowlock.forceRelease("past", "too long");
    HeldLock live = rowlock.lock("past");
    ClaimFilter all = ClaimFilter.ofLock("past");
    assertEquals(
        List.of(ClaimView.State.HELD, ClaimView.State.ENDED, ClaimView.State.ENDED),
        rowlock.listClaims(all).map(ClaimView::state).toList());
    assertEquals(
        List.of(Reason.FORCE_RELEASED, Reason.RELEASED), endsOf(all.in(ClaimView.State.ENDED)));
    assertEquals(List.of(Reason.RELEASED), endsOf(all.ended(Reason.RELEASED)));
    assertEquals(List.of(Reason.RELEASED), endsOf(all.label("run", "1")));
    ClaimView forced = rowlock.listClaims(all.owner("ben")).findFirst().orElseThrow();
    assertEquals("too long", forced.end().orElseThrow().note());
    Instant granted = forced.grantedAt().orElseThrow();
    assertEquals(
        List.of("ben"),
        rowlock.listClaims(all.heldAt(granted).pageSize(1)).map(ClaimView::owner).toList());
    Instant ended = forced.end().orElseThrow().endedAt().orElseThrow();
    assertEquals(List.of(), rowlock.listClaims(all.heldAt(granted).until(ended)).toList());
    live.close();
    List<Instant> begins = new ArrayList<>();
    rowlock.listClaims(all.completeFrom(begins::add).owner("ben")).toList();
    rowlock.listChanges(ChangeFilter.ofLock("past").completeFrom(begins::add)).toList();
    assertEquals(2, begins.size());
    for (Instant begin : begins) assertTrue(begin.isBefore(granted));
  }

  @Test
  void listChangesSaysWhoChangedWhat() {
    rowlock.setLimit(LimitChange.ofPattern("changed/*").to(3).reason("night shift"));
    rowlock.updateRecord(RecordChanges.of("changed/1").status("new").reason("imported"));
    ChangeFilter all = ChangeFilter.ofPrefix("changed/");
    List<ChangeView> changes = rowlock.listChanges(all.pageSize(1)).toList();
    assertEquals(
        List.of(ChangeView.Kind.RECORD, ChangeView.Kind.LIMIT),
        changes.stream().map(ChangeView::kind).toList());
    assertEquals(Optional.of("changed/1"), changes.get(0).lockName());
    ChangeView.OfRecord made =
        assertInstanceOf(ChangeView.OfRecord.class, changes.get(0).what());
    assertEquals(Optional.empty(), made.from());
    assertEquals(rowlock.getLock("changed/1").record(), made.to());
    assertEquals("imported", changes.get(0).reason());
    ChangeView limit = rowlock.listChanges(all.of(ChangeView.Kind.LIMIT)).findFirst().orElseThrow();
    assertEquals(Optional.of("changed/*"), limit.pattern());
    assertEquals(limitOf(OptionalInt.empty(), OptionalInt.of(3)), limit.what());
    assertEquals("night shift", limit.reason());
    assertEquals(0, rowlock.listChanges(all.from(Instant.now().plusSeconds(600))).count());
    assertTrue(rowlock.deleteRecord(RecordDeletion.of("changed/1").reason("imported twice")));
    ChangeView deletion = rowlock.listChanges(all).findFirst().orElseThrow();
    assertEquals("imported twice", deletion.reason());
    assertEquals(new ChangeView.OfRecord(made.to(), Optional.empty()), deletion.what());
  }

  @Test
  void listChangesHasLimitsThatWereRemovedOrZero() {
    rowlock.setLimit(LimitChange.ofName("paused").to(0));
    rowlock.setLimit(LimitChange.ofName("paused").unset());
    assertEquals(
        List.of(
            limitOf(OptionalInt.of(0), OptionalInt.empty()),
            limitOf(OptionalInt.empty(), OptionalInt.of(0))),
        rowlock.listChanges(ChangeFilter.ofLock("paused")).map(ChangeView::what).toList());
  }

  @Test
  void listChangesSaysWhichClaimWasForceReleased() throws Exception {
    rowlock.lock("forced", with -> with.owner("ben"));
    long number = rowlock.getLock("forced").holders().get(0).ticketNumber();
    rowlock.forceRelease("forced", "too long");
    ChangeView change = rowlock.listChanges(ChangeFilter.ofLock("forced")).findFirst().orElseThrow();
    assertEquals(ChangeView.Kind.FORCED_RELEASE, change.kind());
    assertEquals(
        new ChangeView.OfForcedRelease(number, ClaimView.State.HELD, "ben", ""), change.what());
    assertEquals("too long", change.reason());
  }

  @Test
  void aChangeMayBeOfAPolicyOrOfAKindThatThisClientDoesNotKnow() throws Exception {
    Change.Builder change = Change.newBuilder().setChangedBy("server-1");
    ChangeView policy =
        ChangeView.of(change.setPolicy(PolicyChange.newBuilder().setTo("abc")).build());
    assertEquals(ChangeView.Kind.POLICY, policy.kind());
    assertEquals(new ChangeView.OfPolicy("", "abc"), policy.what());
    UnknownFieldSet newer =
        UnknownFieldSet.newBuilder()
            .addField(100, UnknownFieldSet.Field.newBuilder().addLengthDelimited(ByteString.EMPTY).build())
            .build();
    Change sent = change.clearPolicy().setUnknownFields(newer).build();
    ChangeView unknown = ChangeView.of(Change.parseFrom(sent.toByteArray()));
    assertEquals(ChangeView.Kind.UNKNOWN, unknown.kind());
    assertEquals(new ChangeView.OfUnknown(), unknown.what());
    assertEquals("server-1", unknown.by());
    ChangeFilter all = ChangeFilter.ofPrefix("");
    assertThrows(IllegalArgumentException.class, () -> all.of(ChangeView.Kind.UNKNOWN));
  }

  @Test
  void explainWaitSaysWhyAndWhoIsInTheWay() throws Exception {
    assertEquals(List.of(), rowlock.explainWait("why").causes());
    HeldLock lock = rowlock.lock("why");
    CompletableFuture<HeldLock> waits =
        rowlock.lockAsync("why", LockOptions.builder().owner("ben").build());
    Until.until("ben waits", () -> rowlock.getLock("why").waiterCount() == 1);
    long number = rowlock.getLock("why").waiters().get(0).ticketNumber();
    WaitExplanation explained = rowlock.explainWait("why", number);
    assertEquals("ben", explained.claim().orElseThrow().owner());
    WaitCause.Held held = assertInstanceOf(WaitCause.Held.class, explained.causes().get(0));
    assertEquals("anna", held.holders().get(0).owner());
    assertTrue(explained.summary().contains("anna"), explained.summary());
    List<WaitCause> ofAThird = rowlock.explainWait("why").causes();
    assertTrue(ofAThird.stream().anyMatch(WaitCause.Queued.class::isInstance), ofAThird.toString());
    lock.close();
    waits.get().close();
    RowlockException over =
        assertThrows(RowlockException.class, () -> rowlock.explainWait("why", number));
    assertEquals(Reason.UNKNOWN_CLAIM, over.reason());
  }
}
