// The request ids that callers have chosen, as long as this client asks for something under them: several calls may ask under one
// id, and share what there is. Who gives up must not take it from the others. For any thread.

package rowlock;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

final class Requests {
  private static final class Request {
    /** How many ask under it and want what there is. */
    private int askers;

    /** What the last one of them gives back, unless it is granted. */
    private final List<Runnable> left = new ArrayList<>();

    /** Leases of it that this client has released meanwhile. */
    private final Set<String> ended = new HashSet<>();
  }

  private final Map<String, Request> open = new HashMap<>();

  synchronized void join(Optional<String> id) {
    id.ifPresent(chosen -> open.computeIfAbsent(chosen, key -> new Request()).askers++);
  }

  /** One of them knows what became of it. */
  void leave(Optional<String> id, boolean isGranted) {
    left(id, isGranted).forEach(Runnable::run);
  }

  private synchronized List<Runnable> left(Optional<String> id, boolean isGranted) {
    Request request = of(id);
    if (request == null) return List.of();
    request.askers--;
    // What others have left is the same claim.
    if (isGranted) request.left.clear();
    if (request.askers > 0) return List.of();
    open.remove(id.orElseThrow());
    return request.left;
  }

  /** Has something given back by the last one that asks under the id: at once, where nobody does. */
  void unwanted(Optional<String> id, Runnable giveBack) {
    if (!isLeft(id, giveBack)) giveBack.run();
  }

  private synchronized boolean isLeft(Optional<String> id, Runnable giveBack) {
    Request request = of(id);
    if (request != null) request.left.add(giveBack);
    return request != null;
  }

  /** An answer that still says that this lease is held is older than its release. */
  synchronized void released(Optional<String> id, String leaseId) {
    Request request = of(id);
    if (request != null) request.ended.add(leaseId);
  }

  synchronized boolean wasReleased(Optional<String> id, String leaseId) {
    Request request = of(id);
    return request != null && request.ended.contains(leaseId);
  }

  private Request of(Optional<String> id) {
    return id.map(open::get).orElse(null);
  }
}
