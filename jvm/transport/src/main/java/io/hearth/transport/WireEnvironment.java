package io.hearth.transport;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the environment says of the wire: it comes before the defaults, and the user's keys come before it. UCX reads its
 * own variables.
 */
public final class WireEnvironment {
    private static final String IDLE = "HEARTH_WIRE_IDLE";
    private static final String MEMORY = "HEARTH_WIRE_MEMORY";
    private static final String WINDOW = "HEARTH_WIRE_WINDOW";
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,12})([kmg]?)");

    private WireEnvironment() { }

    /** @throws IllegalArgumentException where a value is not allowed, with its variable */
    static WireSettings over(WireSettings defaults, Map<String, String> environment) {
        long memory = memory(environment).orElse(defaults.memoryBytes());
        long window = size(WINDOW, environment).orElse(defaults.windowBytes());
        int longest = (int) Math.min(defaults.maxMessageBytes(), memory / 4);
        try {
            return defaults.withMemory(memory, Math.toIntExact(window), longest)
                    .withIdling(idling(environment).orElse(defaults.idling()));
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw new IllegalArgumentException(MEMORY + ", " + WINDOW + " or " + IDLE + ": " + e.getMessage(), e);
        }
    }

    /** @throws IllegalArgumentException where it is no size */
    public static OptionalLong memory(Map<String, String> environment) {
        return size(MEMORY, environment);
    }

    private static Optional<IdleStrategy> idling(Map<String, String> environment) {
        return Optional.ofNullable(environment.get(IDLE)).map(Idling::named);
    }

    private static OptionalLong size(String name, Map<String, String> environment) {
        String text = environment.get(name);
        if (text == null) return OptionalLong.empty();
        Matcher size = SIZE.matcher(text.trim().toLowerCase(Locale.ROOT));
        if (!size.matches())
            throw new IllegalArgumentException(name + ": '" + text + "' is not a size, such as 64m");
        return OptionalLong.of(Long.parseLong(size.group(1)) << 10 * List.of("", "k", "m", "g").indexOf(size.group(2)));
    }
}
