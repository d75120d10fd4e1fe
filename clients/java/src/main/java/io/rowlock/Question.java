// An Ask with one answer.

package io.rowlock;

import com.google.protobuf.MessageOrBuilder;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

record Question(
    SessionCommand question,
    Kind kind,
    Repeat repeat,
    long giveUpAfter,
    boolean givesBack,
    boolean holdsUpClosing,
    String traceparent,
    ObjLongConsumer<SessionResult> answer,
    Consumer<RowlockException> failure)
    implements Ask {
  @Override
  public SessionCommand.Builder command(Connection connection) {
    return question.toBuilder();
  }

  @Override
  public Optional<MessageOrBuilder> text() {
    return Optional.of(question);
  }

  @Override
  public boolean answered(SessionResult result, long basis) {
    answer.accept(result, basis);
    return true;
  }

  @Override
  public void failed(RowlockException error) {
    failure.accept(error);
  }
}
