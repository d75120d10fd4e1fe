// The request ids that callers have chosen, while this client asks under them. Several calls may ask under one id and
// share its claim. A call that gives up must not take the claim from the others. For any thread.

package io.rowlock;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

final class Requests {
  private static final class Request {
    /** Counts the calls that ask under the id and want its claim. */
    private int askers;

    /** What the last of these calls gives back, unless a call is granted the claim. */
    private final List<Runnable> left = new ArrayList<>();

    /** The leases of the id that this client has released meanwhile. */
    private final Set<String> ended = new HashSet<>();
  }

  private final Map<String, Request> open = new HashMap<>();

  synchronized void join(Optional<String> id) {
    id.ifPresent(chosen -> open.computeIfAbsent(chosen, key -> new Request()).askers++);
  }

  /** One of the calls has its outcome. */
  void leave(Optional<String> id, boolean isGranted) {
    left(id, isGranted).forEach(Runnable::run);
  }

  private synchronized List<Runnable> left(Optional<String> id, boolean isGranted) {
    Request request = of(id);
    if (request == null) return List.of();
    request.askers--;
    // What the others wanted to give back is the same claim.
    if (isGranted) request.left.clear();
    if (request.askers > 0) return List.of();
    open.remove(id.orElseThrow());
    return request.left;
  }

  /** Gives something back when the last call that asks under the id is done, or at once if there is none. */
  void unwanted(Optional<String> id, Runnable giveBack) {
    if (!isLeft(id, giveBack)) giveBack.run();
  }

  private synchronized boolean isLeft(Optional<String> id, Runnable giveBack) {
    Request request = of(id);
    if (request != null) request.left.add(giveBack);
    return request != null;
  }

  /** Notes a release, so that an older answer that says the lease is held is not believed. */
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
