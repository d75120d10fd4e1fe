// The conformance driver of this client. It reads commands as lines of JSON from standard input and writes results and
// events to standard output: see test/clients/conformance/README.md. It only translates, and adds nothing to what the
// client does.

package io.rowlock.conformance;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import io.rowlock.ConnectOptions;
import io.rowlock.RowlockClient;
import io.rowlock.TlsOptions;

/** Drives the client with lines of JSON. */
public final class Driver {
  /** Returns the answer to a command; null if the verb answers by itself. */
  @FunctionalInterface
  interface Verb {
    Map<String, ?> run(JsonObject asked) throws Exception;
  }

  private static final Gson GSON = new Gson();
  private static final Set<String> IN_ORDER = Set.of("connect", "acquire", "spend", "capture", "watch", "work");

  private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
  private final Map<String, RowlockClient> clients = new ConcurrentHashMap<>();

  /** What the token functions of the clients return. */
  private final Map<String, String> tokens = new ConcurrentHashMap<>();

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Map<String, Verb> verbs = new HashMap<>();

  private Driver() {
    verbs.put("connect", this::connect);
    verbs.put("setToken", this::setToken);
    verbs.put("close", this::close);
    verbs.put("block", Driver::block);
    new OperatorVerbs(this::clientOf).addTo(verbs);
    new HeldLocks(this).addTo(verbs);
    new WatchVerbs(this).addTo(verbs);
    new WorkVerbs(this).addTo(verbs);
    new TestServerVerbs().addTo(verbs);
    FencedStoreVerbs.addTo(verbs);
  }

  /**
   * Runs until the end of standard input.
   *
   * @param arguments none
   * @throws Exception for errors of the driver itself
   */
  public static void main(String[] arguments) throws Exception {
    new Driver().run();
  }

  private void run() throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      JsonObject command = GSON.fromJson(line, JsonObject.class);
      String verb = command.get("do").getAsString();
      // These run in order of arrival, and none of them blocks.
      if (IN_ORDER.contains(verb)) run(command);
      else threads.execute(() -> run(command));
    }
    clients.values().forEach(RowlockClient::close);
    System.exit(0);
  }

  private void run(JsonObject command) {
    try {
      Verb verb = verbs.get(command.get("do").getAsString());
      if (verb == null) throw new IllegalArgumentException("There is no such command: " + command);
      Map<String, ?> result = verb.run(command);
      if (result != null) answer(command, result);
    } catch (Exception failure) {
      fail(command, failure);
    }
  }

  void answer(JsonObject command, Map<String, ?> result) {
    say(Map.of("id", command.get("id"), "result", result));
  }

  void fail(JsonObject command, Throwable failure) {
    say(Map.of("id", command.get("id"), "error", Failures.shown(failure)));
  }

  void say(Map<String, ?> line) {
    String json = GSON.toJson(line);
    synchronized (out) {
      out.print(json + "\n");
      out.flush();
    }
  }

  ExecutorService threads() {
    return threads;
  }

  RowlockClient clientOf(JsonObject command) {
    RowlockClient found = clients.get(text(command, "client"));
    if (found == null) throw new IllegalArgumentException("There is no such client: " + command);
    return found;
  }

  private Map<String, ?> connect(JsonObject asked) {
    ConnectOptions.Builder options = ConnectOptions.to(list(asked, "addresses"));
    if (has(asked, "owner")) options.owner(text(asked, "owner"));
    texts(asked, "labels").forEach(options::label);
    if (has(asked, "giveUpAfterMs")) options.giveUpAfter(millis(asked, "giveUpAfterMs"));
    if (has(asked, "connectTimeoutMs")) options.connectTimeout(millis(asked, "connectTimeoutMs"));
    if (has(asked, "explainAfterMs")) options.explainAfter(millis(asked, "explainAfterMs"));
    if (has(asked, "headers")) options.headers(texts(asked, "headers"));
    if (has(asked, "tls")) options.tls(tls(asked.getAsJsonObject("tls")));
    chooseToken(asked, options);
    clients.put(text(asked, "client"), RowlockClient.connect(options.build()));
    return Map.of();
  }

  private void chooseToken(JsonObject asked, ConnectOptions.Builder options) {
    String client = text(asked, "client");
    if (has(asked, "token")) options.token(text(asked, "token"));
    if (has(asked, "tokenFile")) options.tokenFile(Path.of(text(asked, "tokenFile")));
    if (has(asked, "tokenFunction")) {
      tokens.put(client, text(asked, "tokenFunction"));
      options.token(() -> tokens.get(client));
    }
    if (has(asked, "allowTokenInPlaintext"))
      options.allowTokenInPlaintext(asked.get("allowTokenInPlaintext").getAsBoolean());
  }

  private Map<String, ?> setToken(JsonObject asked) {
    tokens.put(text(asked, "client"), text(asked, "token"));
    return Map.of();
  }

  private static TlsOptions tls(JsonObject files) {
    TlsOptions.Builder options = TlsOptions.builder();
    if (has(files, "caFile")) options.ca(Path.of(text(files, "caFile")));
    if (has(files, "certFile"))
      options.certificate(Path.of(text(files, "certFile")), Path.of(text(files, "keyFile")));
    if (has(files, "serverName")) options.serverName(text(files, "serverName"));
    return options.build();
  }

  private Map<String, ?> close(JsonObject asked) {
    clientOf(asked).close();
    return Map.of();
  }

  /** Blocks its own thread only; the client's threads go on. */
  private static Map<String, ?> block(JsonObject asked) {
    long until = System.nanoTime() + millis(asked, "ms").toNanos();
    while (System.nanoTime() < until) Thread.onSpinWait();
    return Map.of();
  }

  static boolean has(JsonObject object, String key) {
    return object.has(key) && !object.get(key).isJsonNull();
  }

  static String text(JsonObject object, String key) {
    return object.get(key).getAsString();
  }

  static Duration millis(JsonObject object, String key) {
    return Duration.ofNanos((long) (object.get(key).getAsDouble() * 1e6));
  }

  static String[] list(JsonObject object, String key) {
    if (!has(object, key)) return new String[0];
    return object.getAsJsonArray(key).asList().stream()
        .map(JsonElement::getAsString)
        .toArray(String[]::new);
  }

  static Map<String, String> texts(JsonObject object, String key) {
    Map<String, String> texts = new HashMap<>();
    if (has(object, key))
      object.getAsJsonObject(key).asMap().forEach((name, value) -> texts.put(name, value.getAsString()));
    return texts;
  }
}
