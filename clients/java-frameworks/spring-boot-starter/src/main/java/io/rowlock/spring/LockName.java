// The name of a lock, made from the arguments of a call.

package io.rowlock.spring;

import java.lang.reflect.Method;
import java.util.List;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.common.TemplateParserContext;
import org.springframework.expression.spel.standard.SpelExpressionParser;

final class LockName {
  private static final ParameterNameDiscoverer NAMES = new DefaultParameterNameDiscoverer();

  /** With its placeholders resolved, so it is one of few: for meters and messages. */
  final String template;

  private final Method method;
  private final ConfigurableBeanFactory beans;
  private final List<Expression> parts;

  /** Throws an exception if a placeholder has no value, or an expression cannot be read. */
  LockName(String text, Method method, ConfigurableBeanFactory beans) {
    this.method = method;
    this.beans = beans;
    String resolved = beans.resolveEmbeddedValue(text);
    template = resolved == null ? "" : resolved;
    if (template.isBlank()) throw new IllegalArgumentException("the name of the lock is empty");
    Expression whole = new SpelExpressionParser().parseExpression(template, new TemplateParserContext());
    parts =
        whole instanceof CompositeStringExpression composite
            ? List.of(composite.getExpressions())
            : List.of(whole);
  }

  String of(Object target, Object[] arguments) {
    var context = new MethodBasedEvaluationContext(target, method, arguments, NAMES);
    context.setBeanResolver(new BeanFactoryResolver(beans));
    StringBuilder name = new StringBuilder();
    for (Expression part : parts) {
      String value = valueOf(part, context);
      // Without it, calls that have nothing in common would share a lock.
      if (value == null || value.isEmpty())
        throw new IllegalArgumentException(
            "@WithLock(\"%s\"): #{%s} is %s%s"
                .formatted(
                    template, part.getExpressionString(), value == null ? "null" : "empty", hint()));
      name.append(value);
    }
    return name.toString();
  }

  private String valueOf(Expression part, MethodBasedEvaluationContext context) {
    if (part instanceof LiteralExpression literal) return literal.getValue();
    try {
      return part.getValue(context, String.class);
    } catch (EvaluationException failed) {
      throw new IllegalArgumentException(
          "@WithLock(\"%s\"): #{%s} has no value: %s%s"
              .formatted(template, part.getExpressionString(), failed.getMessage(), hint()),
          failed);
    }
  }

  private String hint() {
    boolean areNamesKnown = method.getParameterCount() == 0 || NAMES.getParameterNames(method) != null;
    return areNamesKnown ? "" : "; compile with -parameters, or write #p0 for the first argument";
  }
}
