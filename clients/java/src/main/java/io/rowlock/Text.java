// Detects text that UTF-8 cannot encode: half of a surrogate pair. Java's own encoder would write "?" for it, so that
// two different names would become one.

package io.rowlock;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MessageOrBuilder;
import java.util.List;
import java.util.Map;
import java.util.Optional;

final class Text {
  private Text() {}

  /** Whether each surrogate has its other half. */
  static boolean isValid(String text) {
    for (int at = 0; at < text.length(); at++) {
      if (!Character.isSurrogate(text.charAt(at))) continue;
      boolean isPair = at + 1 < text.length() && Character.isSurrogatePair(text.charAt(at), text.charAt(at + 1));
      if (!isPair) return false;
      at++;
    }
    return true;
  }

  /** What is wrong with the first text of a message that cannot be sent; empty if all texts can. */
  static Optional<String> unsendableIn(MessageOrBuilder message) {
    for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
      List<?> values = field.getValue() instanceof List<?> several ? several : List.of(field.getValue());
      for (Object value : values) {
        Optional<String> found = Optional.empty();
        if (value instanceof String text && !isValid(text))
          found = Optional.of(field.getKey().getName() + " has an unpaired surrogate, which UTF-8 cannot encode");
        else if (value instanceof MessageOrBuilder part) found = unsendableIn(part);
        if (found.isPresent()) return found;
      }
    }
    return Optional.empty();
  }
}
