// The calls that have one answer, as futures. For any thread.

package io.rowlock;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import rowlock.v1.DeleteRecordRequest;
import rowlock.v1.ExplainWaitRequest;
import rowlock.v1.ForceReleaseRequest;
import rowlock.v1.GetLockRequest;
import rowlock.v1.Lease;
import rowlock.v1.ListChangesRequest;
import rowlock.v1.ListChangesResponse;
import rowlock.v1.ListClaimsRequest;
import rowlock.v1.ListClaimsResponse;
import rowlock.v1.ListLimitsRequest;
import rowlock.v1.ListLimitsResponse;
import rowlock.v1.ListLocksRequest;
import rowlock.v1.ListLocksResponse;
import rowlock.v1.RenewRequest;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;
import rowlock.v1.SetLimitRequest;
import rowlock.v1.UpdateRecordRequest;

final class Verbs {
  /** Reasons to refuse a release for what it says, such as a status that is too long. */
  private static final Set<Reason> REFUSED = Set.of(Reason.BAD_REQUEST, Reason.MESSAGE_TOO_LARGE);

  private final EventLoop loop;
  private final Calls calls;
  private final long giveUpAfter;

  /** The trace context of the calling thread. */
  private final Supplier<String> traceparent;

  Verbs(EventLoop loop, Calls calls, long giveUpAfter, Supplier<String> traceparent) {
    this.loop = loop;
    this.calls = calls;
    this.giveUpAfter = giveUpAfter;
    this.traceparent = traceparent;
  }

  /**
   * Fails if no server answers within this time. If the server refuses some of the options, the lease is released without
   * them, and the future fails with an error that says so.
   */
  CompletableFuture<Released> release(String leaseId, ReleaseOptions options, long within) {
    return release(leaseId, options, within, UnaryOperator.identity());
  }

  /** The same. {@code ifRefused} makes of the options that the server accepts those that are sent then. */
  CompletableFuture<Released> release(
      String leaseId, ReleaseOptions options, long within, UnaryOperator<ReleaseOptions> ifRefused) {
    String caller = traceparent.get();
    CompletableFuture<Released> answer = new CompletableFuture<>();
    release(leaseId, options, within, caller)
        .whenComplete(
            (released, failure) -> {
              boolean isRefused =
                  failure instanceof RowlockException error
                      && REFUSED.contains(error.reason())
                      && !options.isNothing();
              if (failure == null) answer.complete(released);
              else if (!isRefused) answer.completeExceptionally(failure);
              else {
                RowlockException refusal = (RowlockException) failure;
                release(leaseId, ifRefused.apply(options.without(refusal.violations())), within)
                    .whenComplete(
                        (rest, again) ->
                            answer.completeExceptionally(
                                again == null || isGivenBack(again) ? refusal.givenBack() : refusal));
              }
            });
    return answer;
  }

  private static boolean isGivenBack(Throwable failure) {
    return failure instanceof RowlockException error && error.saysGivenBack();
  }

  private CompletableFuture<Released> release(
      String leaseId, ReleaseOptions options, long within, String caller) {
    CompletableFuture<Released> answer = new CompletableFuture<>();
    SessionCommand command = SessionCommand.newBuilder().setRelease(options.request(leaseId)).build();
    Call[] call = new Call[1];
    Question question =
        new Question(
            command,
            Ask.Kind.URGENT,
            Ask.Repeat.ONCE_OPEN,
            Math.min(giveUpAfter, within),
            false,
            true,
            caller,
            (result, basis) -> {
              boolean isReleased = result.getRelease().getReleased();
              answer.complete(new Released(isReleased, !isReleased && call[0].timesSent == 1));
            },
            answer::completeExceptionally);
    loop.soon(() -> call[0] = calls.begin(question));
    return answer;
  }

  /** Ends a claim that nobody wants any more. It tries for as long as the lease can last. */
  CompletableFuture<Boolean> giveBack(String id, ReleaseOptions options, long lasting) {
    CompletableFuture<Boolean> answer = new CompletableFuture<>();
    find(
        SessionCommand.newBuilder().setRelease(options.request(id)).build(),
        lasting,
        true,
        result -> answer.complete(result.getRelease().getReleased()),
        answer::completeExceptionally);
    return answer;
  }

  /** Ends a lease that is lost, in case the server still keeps it. */
  void giveBackLost(String id, long lasting) {
    find(
        SessionCommand.newBuilder().setRelease(ReleaseOptions.defaults().request(id)).build(),
        lasting,
        false,
        ended -> {},
        failure -> {});
  }

  /**
   * Sends a command that nobody waits for, and tries for this long. It fails only when the client is closed or a server
   * answers with an error.
   */
  void find(
      SessionCommand command,
      long lasting,
      Consumer<SessionResult> found,
      Consumer<RowlockException> failed) {
    find(command, lasting, true, found, failed);
  }

  private void find(
      SessionCommand command,
      long lasting,
      boolean holdsUpClosing,
      Consumer<SessionResult> found,
      Consumer<RowlockException> failed) {
    Question question =
        new Question(
            command,
            Ask.Kind.URGENT,
            Ask.Repeat.ALWAYS,
            lasting,
            true,
            holdsUpClosing,
            "",
            (result, basis) -> found.accept(result),
            failed);
    loop.soon(() -> calls.begin(question));
  }

  CompletableFuture<Lease> renew(RenewRequest request) {
    return ask(
        SessionCommand.newBuilder().setRenew(request),
        Ask.Repeat.ALWAYS,
        Ask.Kind.URGENT,
        Times.FOREVER,
        result -> result.getRenew().getLease());
  }

  CompletableFuture<LimitInForce> setLimit(SetLimitRequest request) {
    return change(
        SessionCommand.newBuilder().setSetLimit(request),
        result -> LimitInForce.of(result.getSetLimit()));
  }

  CompletableFuture<RecordView> updateRecord(UpdateRecordRequest request) {
    return change(
        SessionCommand.newBuilder().setUpdateRecord(request),
        result -> RecordView.of(result.getUpdateRecord().getRecord()));
  }

  CompletableFuture<Boolean> deleteRecord(DeleteRecordRequest request) {
    return change(
        SessionCommand.newBuilder().setDeleteRecord(request),
        result -> result.getDeleteRecord().getDeleted());
  }

  CompletableFuture<LockView> getLock(String name) {
    return read(
        SessionCommand.newBuilder().setGetLock(GetLockRequest.newBuilder().setName(name)),
        result -> LockView.of(result.getGetLock().getLock()));
  }

  CompletableFuture<ListLocksResponse> listLocks(ListLocksRequest request) {
    return read(SessionCommand.newBuilder().setListLocks(request), SessionResult::getListLocks);
  }

  CompletableFuture<ListLimitsResponse> listLimits(ListLimitsRequest request) {
    return read(SessionCommand.newBuilder().setListLimits(request), SessionResult::getListLimits);
  }

  CompletableFuture<ListClaimsResponse> listClaims(ListClaimsRequest request) {
    return read(SessionCommand.newBuilder().setListClaims(request), SessionResult::getListClaims);
  }

  CompletableFuture<ListChangesResponse> listChanges(ListChangesRequest request) {
    return read(SessionCommand.newBuilder().setListChanges(request), SessionResult::getListChanges);
  }

  CompletableFuture<WaitExplanation> explainWait(ExplainWaitRequest request) {
    return read(
        SessionCommand.newBuilder().setExplainWait(request),
        result -> WaitExplanation.of(result.getExplainWait()));
  }

  CompletableFuture<ForceReleased> forceRelease(ForceReleaseRequest request) {
    // For a name, a repeat would end the holders that were granted the lock by the first call.
    return ask(
        SessionCommand.newBuilder().setForceRelease(request),
        request.hasClaim() ? Ask.Repeat.ALWAYS : Ask.Repeat.UNSENT,
        Ask.Kind.OTHER,
        Times.FOREVER,
        result ->
            new ForceReleased(
                result.getForceRelease().getEndedList().stream().map(ClaimView::of).toList(),
                result.getForceRelease().getRemaining()));
  }

  private <T> CompletableFuture<T> read(
      SessionCommand.Builder command, Function<SessionResult, T> read) {
    return ask(
        command,
        Ask.Repeat.ALWAYS,
        Ask.Kind.OTHER,
        Times.FOREVER,
        read);
  }

  /** A change, which is not repeated once sent: a repeat could undo what others have set since. */
  private <T> CompletableFuture<T> change(
      SessionCommand.Builder command, Function<SessionResult, T> read) {
    return ask(
        command,
        Ask.Repeat.UNSENT,
        Ask.Kind.OTHER,
        Times.FOREVER,
        read);
  }

  private <T> CompletableFuture<T> ask(
      SessionCommand.Builder command,
      Ask.Repeat repeat,
      Ask.Kind kind,
      long within,
      Function<SessionResult, T> read) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    Question question =
        new Question(
            command.build(),
            kind,
            repeat,
            Math.min(giveUpAfter, within),
            false,
            true,
            traceparent.get(),
            (result, basis) -> answer.complete(read.apply(result)),
            answer::completeExceptionally);
    loop.soon(() -> calls.begin(question));
    return answer;
  }
}
