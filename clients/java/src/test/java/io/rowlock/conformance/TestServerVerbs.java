// Servers of the package io.rowlock.testing.

package io.rowlock.conformance;

import static io.rowlock.conformance.Driver.text;

import com.google.gson.JsonObject;
import io.rowlock.testing.RowlockServer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

final class TestServerVerbs {
  private final Map<String, RowlockServer> servers = new ConcurrentHashMap<>();

  void addTo(Map<String, Driver.Verb> verbs) {
    verbs.put("startTestServer", this::start);
    verbs.put("loseAtTestServer", this::lose);
    verbs.put("stopTestServer", this::stop);
  }

  private Map<String, ?> start(JsonObject asked) {
    RowlockServer server = RowlockServer.start();
    servers.put(text(asked, "server"), server);
    return Map.of("address", server.address());
  }

  private Map<String, ?> lose(JsonObject asked) {
    servers.get(text(asked, "server")).lose(text(asked, "name"));
    return Map.of();
  }

  private Map<String, ?> stop(JsonObject asked) {
    servers.get(text(asked, "server")).close();
    return Map.of();
  }
}
