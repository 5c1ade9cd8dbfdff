package io.hearth.transport;

import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/** Says a thing once, however often strangers make it happen. */
final class OnceLog {
    private static final int MAX_KEYS = 1000;

    private final Consumer<String> say;
    private final Set<String> said = new HashSet<>();

    OnceLog(Consumer<String> say) {
        this.say = say;
    }

    synchronized void once(String key, String message) {
        if (said.size() < MAX_KEYS && said.add(key)) say.accept(message);
    }
}
