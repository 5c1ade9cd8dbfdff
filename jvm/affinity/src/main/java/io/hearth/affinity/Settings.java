package io.hearth.affinity;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the user asks of the agent: its argument, else the environment, else the default of the
 * architecture.
 *
 * @param device the network device to be near to
 * @param peer a host: the device that carries the route to it
 * @param policy as it is used
 * @param threads which threads are communication threads
 * @param first the turn of the first thread, round robin; absent where the process's id decides, so that
 *     the JVMs of a machine do not all begin with the same core
 */
public record Settings(
        Optional<String> device, Optional<String> peer, Policy policy, ThreadNames threads, Optional<Integer> first) {

    private static final List<String> KEYS = List.of("device", "peer", "policy", "threads", "first");
    private static final String PREFIX = "HEARTH_AFFINITY_";

    /**
     * @param argument {@code key=value,...}; beginnings of thread names are separated by colons; may be empty
     * @param environment {@code HEARTH_AFFINITY_DEVICE} and so on
     * @throws Refused for an unknown key or a value that cannot be followed
     */
    public static Settings parse(String argument, Map<String, String> environment, String architecture) {
        Map<String, String> set = new HashMap<>();
        for (String key : KEYS)
            Optional.ofNullable(environment.get(PREFIX + key.toUpperCase(java.util.Locale.ROOT)))
                    .ifPresent(value -> set.put(key, value));
        for (String part : argument.split(",")) {
            if (part.isBlank()) continue;
            String[] pair = part.split("=", 2);
            if (pair.length < 2 || !KEYS.contains(pair[0].trim()))
                throw new Refused("'" + part + "' is not a setting: write " + String.join("=..., ", KEYS) + "=...");
            set.put(pair[0].trim(), pair[1].trim());
        }
        set.values().removeIf(String::isBlank);
        Defaults defaults = Defaults.of(Optional.of(architecture));
        return new Settings(
                Optional.ofNullable(set.get("device")),
                Optional.ofNullable(set.get("peer")),
                Policy.parse(set.getOrDefault("policy", defaults.policy()), defaults.threads()),
                Optional.ofNullable(set.get("threads"))
                        .map(words -> ThreadNames.of(Arrays.asList(words.split(":"))))
                        .orElseGet(ThreadNames::all),
                Optional.ofNullable(set.get("first")).map(Settings::turn));
    }

    private static int turn(String text) {
        if (!text.matches("[0-9]{1,6}"))
            throw new Refused("first: '" + text + "' is not a number from 0 to 999999");
        return Integer.parseInt(text);
    }
}
